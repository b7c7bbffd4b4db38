public import Bucket
public import LTXCodec

/// What became of one spooled file, for the agent to read when it is back.
///
/// ```
/// dormouse-receipt 1
/// destination https://sink.example/db/health
/// writer 6f1c…
/// lineage 6f1c…
/// file 0 000000000000002a-000000000000002a.ltx 125013 1767225600000
/// file-checksum 8c1b…
/// at 1767225601234
/// outcome stored
/// answer 0/000000000000002a-000000000000002a.ltx 125013
/// crc 4d0f…
/// ```
/// A receipt is a hint and no acknowledgement: the agent asks the bucket before it believes one.
public struct Receipt: Hashable, Sendable {
    public enum Outcome: Hashable, Sendable {
        /// The bucket took it, or had it already; its own words.
        case stored(answer: String)
        /// It did not work, and can pass by itself; `reason` as in the record of a push.
        case retryable(reason: String, detail: String)
        /// The bucket's history is not the one that the file continues: the agent must look.
        case conflict(detail: String)
        /// A person must change something.
        case unavailable(reason: String, detail: String)
    }

    public var destination: String
    public var writer: String
    public var lineage: String?
    public var file: BucketFile
    public var fileChecksum: Checksum
    /// Milliseconds since 1970.
    public var at: Int64
    public var outcome: Outcome

    public init(_ manifest: Manifest, at: Int64, _ outcome: Outcome) {
        destination = manifest.destination
        writer = manifest.writer
        lineage = manifest.lineage
        file = manifest.file
        fileChecksum = manifest.fileChecksum
        self.at = at
        self.outcome = outcome
    }

    public var key: SpoolKey { SpoolKey(txid: file.maxTXID, fileChecksum: fileChecksum) }

    public var isStored: Bool {
        if case .stored = outcome { true } else { false }
    }

    static let heading = "dormouse-receipt"

    public var text: String {
        var text = FactsText(Self.heading)
        text.add("destination", destination)
        text.add("writer", writer)
        text.add("lineage", lineage ?? "-")
        text.add("file", BucketFileFacts(file).text)
        text.add("file-checksum", "\(fileChecksum)")
        text.add("at", "\(at)")
        text.add("outcome", outcome.name)
        switch outcome {
        case .stored(let answer): text.add("answer", answer)
        case .conflict(let detail): text.add("detail", Self.short(detail))
        case .retryable(let reason, let detail), .unavailable(let reason, let detail):
            text.add("reason", reason)
            text.add("detail", Self.short(detail))
        }
        return text.text
    }

    /// A server's words may be long.
    private static func short(_ detail: String) -> String { String(detail.prefix(2000)) }

    public init(parsing bytes: [UInt8]) throws(UnusableFacts) {
        let facts = try FactsText.parse(bytes, heading: Self.heading)
        destination = try facts.text("destination")
        writer = try facts.word("writer")
        lineage = try facts.optionalWord("lineage")
        file = try facts.file().file
        fileChecksum = try facts.checksum("file-checksum")
        at = try facts.value("at") { Int64($0) }
        let name = try facts.text("outcome")
        switch name {
        case "stored": outcome = .stored(answer: try facts.text("answer"))
        case "conflict": outcome = .conflict(detail: try facts.text("detail"))
        case "retryable":
            outcome = .retryable(
                reason: try facts.word("reason"),
                detail: try facts.text("detail")
            )
        case "unavailable":
            outcome = .unavailable(
                reason: try facts.word("reason"),
                detail: try facts.text("detail")
            )
        default: throw .value(key: "outcome", name)
        }
    }
}

extension Receipt.Outcome {
    /// `stored`, `retryable`, `conflict` or `unavailable`, as files and records say it.
    public var name: String {
        switch self {
        case .stored: "stored"
        case .retryable: "retryable"
        case .conflict: "conflict"
        case .unavailable: "unavailable"
        }
    }

    /// The stable text of the reason, as in the record of a push; `nil` for a success.
    public var reason: String? {
        switch self {
        case .stored: nil
        case .conflict: "lineage-conflict"
        case .retryable(let reason, _), .unavailable(let reason, _): reason
        }
    }

    /// What happened, for a person.
    public var detail: String {
        switch self {
        case .stored(let answer): answer
        case .conflict(let detail), .retryable(_, let detail), .unavailable(_, let detail): detail
        }
    }
}
