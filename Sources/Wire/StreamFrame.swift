public import LTXCodec

/// The text lines of a follow stream; `ltx` is followed by that many raw bytes.
public enum StreamFrame: Hashable, Sendable {
    /// What a stream begins with, its line feed included.
    public static let preamble = "liters-stream 1\n"

    case ltx(level: Int, name: LTXFileName, sizeInBytes: Int64)
    /// Sent when idle, with the highest TXID on any level.
    case ping(TXID)
    /// The position asked for was pruned; the oldest level-0 file begins here.
    case gap(TXID)
    /// The bucket is behind the position asked for.
    case reset(TXID)

    /// Reads a line without its line feed; `nil` for a frame this version does not know.
    public init?(_ line: some StringProtocol) {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        switch (words.first, words.count) {
        case ("ltx", 5):
            guard let level = Decimal.number(words[1]), (0...9).contains(level),
                let name = LTXFileName("\(words[2])-\(words[3]).ltx"),
                let size = Decimal.number(words[4])
            else { return nil }
            self = .ltx(level: Int(level), name: name, sizeInBytes: size)
        case ("ping", 2), ("gap", 2), ("reset", 2):
            guard words[1].utf8.count == 16, let txid = TXID(String(words[1])),
                txid.description == words[1]
            else { return nil }
            self = words[0] == "ping" ? .ping(txid) : words[0] == "gap" ? .gap(txid) : .reset(txid)
        default: return nil
        }
    }

    /// The line, its line feed included.
    public var line: String {
        switch self {
        case .ltx(let level, let name, let size):
            "ltx \(level) \(name.minTXID) \(name.maxTXID) \(size)\n"
        case .ping(let txid): "ping \(txid)\n"
        case .gap(let txid): "gap \(txid)\n"
        case .reset(let txid): "reset \(txid)\n"
        }
    }
}
