/// What was still to be read from a connection that curl gave up because it could not send.
///
/// A server that refuses a request early and closes, its body unread, resets the connection: the
/// answer is in the socket, and whether curl reads it or dies of the next write is a matter of
/// microseconds. The table of failures must not depend on it.
package enum EarlyAnswer {
    /// How much is looked at.
    static let limit = 64 << 10

    /// The answer in the raw bytes of an HTTP/1 connection; `nil` when they hold no whole head.
    package static func parse(_ bytes: [UInt8]) -> HTTPResponse? {
        var reader = HeadReader()
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = rest[...end]
            rest = rest[(end + 1)...]
            switch line.withUnsafeBytes({ reader.take($0) }) {
            case .more: continue
            case .malformed: return nil
            case .complete:
                var response = reader.response
                response.body = body(rest, response.headers)
                return response
            }
        }
        return nil
    }

    /// The body, as far as it is there, or its first chunk: enough for a reason.
    static func body(_ bytes: ArraySlice<UInt8>, _ headers: HTTPHeaders) -> [UInt8] {
        guard headers["transfer-encoding"] != nil else {
            let length = headers["content-length"].flatMap { Int($0) } ?? bytes.count
            return Array(bytes.prefix(max(0, length)))
        }
        // The reason is a line: the first chunk holds it.
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return [] }
        let digits = String(decoding: bytes[..<end], as: UTF8.self).prefix { $0.isHexDigit }
        return Array(bytes[(end + 1)...].prefix(Int(digits, radix: 16) ?? 0))
    }
}
