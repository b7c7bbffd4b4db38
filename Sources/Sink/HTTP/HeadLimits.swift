/// How large the first part of a request may be.
///
/// Well below what the library has room for (`HTTPServerLimits.connectionMemory`), so that it is we
/// who answer, with the protocol's header and a reason.
enum HeadLimits {
    /// Bytes of a line.
    static let line = 8 << 10
    /// Bytes of all lines.
    static let head = 24 << 10

    /// The answer to a head that is too large.
    static func refusal(_ head: RequestHead) -> HTTPResponse? {
        let target = head.path.utf8.count + head.query.utf8.count
        guard target <= line else { return .refusal(414, "a target may have \(line) bytes") }
        var sum = target
        for (name, value) in head.headers {
            // A colon, a space and a line end.
            let size = name.utf8.count + value.utf8.count + 4
            guard size <= line else {
                return .refusal(431, "\(name) is too long: a line may have \(line) bytes")
            }
            sum += size
        }
        return sum <= Self.head
            ? nil : .refusal(431, "the headers together may have \(Self.head) bytes")
    }
}
