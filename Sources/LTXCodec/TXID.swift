/// A transaction ID: one for every sync that found new pages, counted from 1.
///
/// Written as 16 lower-case hexadecimal digits everywhere; when read, leading zeros may be left
/// out and digits may be of either case.
public struct TXID: RawRepresentable, Hashable, Comparable, Sendable {
    public var rawValue: UInt64

    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    public init(_ value: UInt64) {
        rawValue = value
    }

    /// Before the first transaction; no LTX file carries it.
    public static let zero = TXID(0)

    /// The greatest one that a history is continued from.
    ///
    /// Nobody counts that far: above it a name is a mistake, and soon there would be none left.
    public static let limit = TXID(UInt64(Int64.max))

    /// The TXID after this one.
    ///
    /// The greatest number is its own successor, so that a TXID read from a file never traps.
    public var next: TXID {
        rawValue == .max ? self : TXID(rawValue + 1)
    }

    public static func < (left: TXID, right: TXID) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension TXID: LosslessStringConvertible {
    /// Reads 1 to 16 hexadecimal digits; `nil` for anything else.
    public init?(_ text: String) {
        guard let value = Hexadecimal.number(text.utf8) else { return nil }
        rawValue = value
    }

    public var description: String {
        Hexadecimal.text(rawValue)
    }
}
