/// The name of a database on a sink: 1 to 64 of `A`–`Z`, `a`–`z`, `0`–`9`, `_`, `-`.
///
/// It becomes the name of a directory, so nothing else comes through.
public struct DatabaseName: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// `nil` for what is no name.
    public init?(_ text: some StringProtocol) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else {
            return nil
        }
        description = String(text)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
