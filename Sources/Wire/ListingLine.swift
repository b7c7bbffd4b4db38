public import LTXCodec

/// One line of a listing: `{name} {size} {created_ms|-}`.
public struct ListingLine: Hashable, Sendable {
    public var name: LTXFileName
    public var sizeInBytes: Int64
    /// Milliseconds since 1970; `nil` when the server does not know.
    public var timestamp: Int64?

    public init(name: LTXFileName, sizeInBytes: Int64, timestamp: Int64?) {
        self.name = name
        self.sizeInBytes = sizeInBytes
        self.timestamp = timestamp
    }

    /// Reads a line without its line feed; `nil` for what is none.
    ///
    /// A client leaves such lines out, as a directory listing leaves stray files out.
    public init?(_ line: some StringProtocol) {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, let name = LTXFileName(String(words[0])),
            let size = Decimal.number(words[1])
        else { return nil }
        if words[2] == "-" {
            timestamp = nil
        } else if let milliseconds = Decimal.number(words[2]) {
            timestamp = milliseconds
        } else {
            return nil
        }
        self.name = name
        sizeInBytes = size
    }
}

extension ListingLine: CustomStringConvertible {
    public var description: String {
        "\(name) \(sizeInBytes) \(timestamp.map { String($0) } ?? "-")"
    }
}

/// Decimal numbers as the protocol has them: digits and nothing else.
enum Decimal {
    static func number(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return Int64(text)
    }
}
