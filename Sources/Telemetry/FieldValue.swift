/// The value of a field: text, a number, or bytes that may be anything, as paths may.
public struct FieldValue: Hashable, Sendable {
    public let bytes: [UInt8]

    public init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    public init(_ text: some StringProtocol) {
        bytes = Array(text.utf8)
    }

    public init(_ number: some BinaryInteger) {
        self.init(String(number))
    }

    /// Anything that prints itself, such as a TXID.
    public init(describing value: some CustomStringConvertible) {
        self.init(value.description)
    }

    /// Whole microseconds, for the fields that end in `_USEC`.
    public init(microseconds duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        self.init(overflow ? Int64.max : whole + attoseconds / 1_000_000_000_000)
    }
}

extension FieldValue: ExpressibleByStringLiteral, CustomStringConvertible {
    public init(stringLiteral text: String) {
        self.init(text)
    }

    public var description: String {
        String(decoding: bytes, as: UTF8.self)
    }
}
