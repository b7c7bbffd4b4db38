import CMicroHTTPD
import Glibc

/// A host and a port to listen on.
public struct SinkAddress: Hashable, Sendable, CustomStringConvertible {
    /// A name, or an address without brackets.
    public var host: String
    /// 0 for any that is free.
    public var port: UInt16

    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Reads `127.0.0.1:9736`, `[::1]:9736` or `localhost:9736`; `nil` for anything else.
    public init?(_ text: some StringProtocol) {
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...])
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
            guard host.contains(":") else { return nil }
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty, host.allSatisfy({ !$0.isWhitespace && $0 != "/" && $0 != "\0" }) else {
            return nil
        }
        self.init(host: String(host), port: port)
    }

    public var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

/// A socket that listens; closed by its owner's end unless it was given away.
struct ListenSocket: ~Copyable {
    let raw: Int32
    /// Where it listens, with the port that was found.
    let address: SinkAddress
    /// Reachable from this machine only.
    let isLoopback: Bool

    /// Binds and listens.
    ///
    /// - Parameters:
    ///   - wanted: Where.
    ///   - allows: Whether an address may be bound that others can reach.
    /// - Throws: `SinkError` that says what to do.
    init(_ wanted: SinkAddress, reachable allows: Bool) throws(SinkError) {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(wanted.host, "\(wanted.port)", &hints, &list)
        guard code == 0, let first = list else {
            throw SinkError(
                "cannot listen on \(wanted): \(String(cString: gai_strerror(code))); "
                    + "give an address of this machine, such as 127.0.0.1:9736"
            )
        }
        defer { freeaddrinfo(first) }
        let isLoopback = Self.isLoopback(first.pointee.ai_addr)
        guard allows || isLoopback else {
            throw SinkError(
                "\(wanted) can be reached from other machines and no token is configured: "
                    + "configure a token, or listen on 127.0.0.1"
            )
        }
        raw = try Self.open(first.pointee, wanted)
        self.isLoopback = isLoopback
        address = SinkAddress(host: wanted.host, port: Self.port(of: raw) ?? wanted.port)
    }

    deinit {
        close(raw)
    }

    private static func open(_ info: addrinfo, _ wanted: SinkAddress) throws(SinkError) -> Int32 {
        let type = info.ai_socktype | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(info.ai_family, type, 0)
        guard descriptor >= 0 else { throw failure(wanted, errno) }
        var on: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, size)
        // `::` takes IPv4, too, whatever the system's default is.
        var off: Int32 = 0
        if info.ai_family == AF_INET6 {
            setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &off, size)
        }
        guard bind(descriptor, info.ai_addr, info.ai_addrlen) == 0,
            listen(descriptor, 1024) == 0
        else {
            let code = errno
            close(descriptor)
            throw failure(wanted, code)
        }
        return descriptor
    }

    private static func failure(_ wanted: SinkAddress, _ code: Int32) -> SinkError {
        let hint =
            switch code {
            case EADDRINUSE: "; another process listens there: stop it, or take another port"
            case EACCES: "; ports below 1024 need CAP_NET_BIND_SERVICE: take a higher one"
            case EADDRNOTAVAIL: "; it is no address of this machine"
            default: ""
            }
        return SinkError("cannot listen on \(wanted): \(String(cString: strerror(code)))\(hint)")
    }

    private static func port(of descriptor: Int32) -> UInt16? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard getsockname(descriptor, address, &size) == 0 else { return nil }
                // The port stands at the same place in both kinds of address.
                return UnsafeRawPointer(address).loadUnaligned(fromByteOffset: 2, as: UInt16.self)
                    .bigEndian
            }
        }
    }

    static func isLoopback(_ address: UnsafePointer<sockaddr>?) -> Bool {
        guard let address else { return false }
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            return raw.load(fromByteOffset: 4, as: UInt8.self) == 127
        case AF_INET6:
            let bytes = (0..<16).map { raw.load(fromByteOffset: 8 + $0, as: UInt8.self) }
            if bytes == Array(repeating: 0, count: 15) + [1] { return true }
            let mapped = Array(repeating: UInt8(0), count: 10) + [0xFF, 0xFF]
            return Array(bytes[..<12]) == mapped && bytes[12] == 127
        default: return false
        }
    }
}
