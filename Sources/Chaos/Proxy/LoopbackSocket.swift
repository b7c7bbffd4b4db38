import DurableFiles
import Glibc

/// TCP on 127.0.0.1, and nothing else.
enum LoopbackSocket {
    /// Listens on a port; 0 for a free one.
    static func listen(
        on port: UInt16 = 0,
        buffered: Int32? = nil
    ) throws(FileError) -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, stream, 0)
        guard descriptor >= 0 else { throw FileError(.open, "socket", code: errno) }
        var yes: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        if port != 0 { setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, size) }
        if var buffered { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &buffered, size) }
        var address = address(port)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw -> Int32 in
                guard bind(descriptor, raw, length) == 0, Glibc.listen(descriptor, 128) == 0,
                    getsockname(descriptor, raw, &length) == 0
                else { return errno }
                return 0
            }
        }
        guard code == 0 else {
            close(descriptor)
            throw FileError(.open, "127.0.0.1:\(port)", code: code)
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    /// `nil` when nobody listens there.
    static func connect(to port: UInt16) -> Int32? {
        let descriptor = socket(AF_INET, stream, 0)
        guard descriptor >= 0 else { return nil }
        var address = address(port)
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// Sends everything; `false` when the other side is gone.
    static func sendAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Makes the close of a connection a reset.
    static func resetOnClose(_ descriptor: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(
            descriptor,
            SOL_SOCKET,
            SO_LINGER,
            &option,
            socklen_t(MemoryLayout<linger>.size)
        )
    }

    private static var stream: Int32 {
        Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        return address
    }
}
