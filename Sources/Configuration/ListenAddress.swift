internal import Glibc

/// Where a server listens: a numeric address and a port, `127.0.0.1:9736` or `[::1]:9736`.
public struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// Why a text is none.
    public struct Invalid: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// An IPv4 address, or an IPv6 address without its brackets.
    public let host: String
    /// 0 takes any free port.
    public let port: UInt16

    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    public init(parsing text: String) throws(Invalid) {
        guard let colon = text.lastIndex(of: ":") else {
            throw Invalid(description: "has no port: write 127.0.0.1:9736")
        }
        let portText = text[text.index(after: colon)...]
        guard !portText.isEmpty, portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = UInt16(portText)
        else { throw Invalid(description: "has no port from 0 to 65535 behind its last colon") }
        var host = text[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]") && host.count > 2
        if isBracketed { host = host.dropFirst().dropLast() }
        let family = isBracketed ? AF_INET6 : AF_INET
        guard Self.bytes(of: String(host), family: family) != nil else {
            throw Invalid(
                description: host.contains(":") && !isBracketed
                    ? "needs [brackets] around an IPv6 address"
                    : "must begin with a numeric address, such as 127.0.0.1 or [::1]"
            )
        }
        self.init(host: String(host), port: port)
    }

    public var isIPv6: Bool { host.contains(":") }

    /// Only this machine can reach it.
    public var isLoopback: Bool {
        if isIPv6 {
            Self.bytes(of: host, family: AF_INET6) == [UInt8](repeating: 0, count: 15) + [1]
        } else {
            Self.bytes(of: host, family: AF_INET)?.first == 127
        }
    }

    public var description: String { isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)" }

    private static func bytes(of host: String, family: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: family == AF_INET6 ? 16 : 4)
        return inet_pton(family, host, &bytes) == 1 ? bytes : nil
    }
}
