import DurableFiles
import Glibc

/// Addresses of Unix sockets, whose paths the system limits to 107 bytes.
///
/// A longer path goes through a descriptor of its directory, which `/proc/self/fd` names shortly.
/// Source: unix(7).
enum UnixSocket {
    static func open() throws(FileError) -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let raw = socket(AF_UNIX, type, 0)
        guard raw >= 0 else { throw FileError(.open, "control socket", code: errno) }
        return raw
    }

    /// Calls `bind` or `connect` with the address of a path.
    static func withAddress(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws(FileError) -> Int32 {
        let limit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
        if path.utf8.count <= limit { return call(path, body) }
        let directory = try FileDescriptor(Path.parent(of: path), O_RDONLY | O_DIRECTORY)
        let short = "/proc/self/fd/\(directory.raw)/\(Path.name(of: path))"
        guard short.utf8.count <= limit else { throw FileError(.open, path, code: ENAMETOOLONG) }
        let result = call(short, body)
        let code = errno
        _ = consume directory
        errno = code
        return result
    }

    private static func call(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// Sends without a signal for a peer that has gone; how many bytes were taken, or -1.
    static func send(_ raw: Int32, _ bytes: ArraySlice<UInt8>) -> Int {
        bytes.withUnsafeBytes {
            Glibc.send(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
    }
}
