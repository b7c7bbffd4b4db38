import DurableFiles
import Glibc

/// Asks an agent over its control socket: one line there, one line back.
enum ControlSocket {
    /// Sends a request and waits for the answer; blocks.
    ///
    /// - Throws: `FileError` when nobody listens there or the answer does not come.
    static func ask(_ request: String, at path: String, within seconds: Int) throws(FileError)
        -> String
    {
        let descriptor = socket(
            AF_UNIX,
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue),
            0
        )
        guard descriptor >= 0 else { throw FileError(.open, "socket", code: errno) }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array(path.utf8)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard name.count < room else { throw FileError(.open, path, code: ENAMETOOLONG) }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        var patience = timeval(tv_sec: seconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, size)
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard code == 0 else { throw FileError(.open, path, code: errno) }
        guard LoopbackSocket.sendAll(Array((request + "\n").utf8), to: descriptor) else {
            throw FileError(.write, path, code: errno)
        }
        var answer: [UInt8] = []
        while !answer.contains(UInt8(ascii: "\n")), answer.count < 1 << 20 {
            var chunk = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &chunk, chunk.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw FileError(.read, path, code: count < 0 ? errno : EPIPE) }
            answer += chunk[..<count]
        }
        return String(decoding: answer.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
