public import Bucket
public import LTXCodec

/// What the transfer service must know to put one file where it belongs, the agent being gone.
///
/// ```
/// dormouse-manifest 1
/// destination https://sink.example/db/health
/// writer 6f1c…
/// lineage 6f1c…
/// file 0 000000000000002a-000000000000002a.ltx 125013 1767225600000
/// file-checksum 8c1b…
/// database-checksum 9c3e…
/// after 0000000000000029 a1b2…
/// takes-over no
/// crc 4d0f…
/// ```
public struct Manifest: Hashable, Sendable {
    /// The bucket's address as text: what else is in the spool is none of its business.
    public var destination: String
    /// Who writes, for the server's lease: one history of one database by one device.
    public var writer: String
    /// The id under which a server keeps this history; `nil` where it keeps none.
    public var lineage: String?
    public var file: BucketFile
    public var fileChecksum: Checksum
    /// The checksum of the database after the file; `.none` where it is not known.
    public var databaseChecksum: Checksum
    /// What the bucket's head must be before the file: its TXID, and the checksum of the file
    /// that ends there, `.none` where it is not known.
    public var after: Head
    /// Take the writer's lease from whoever has it.
    public var takesOver: Bool

    /// The end of a history.
    public struct Head: Hashable, Sendable {
        public var txid: TXID
        public var fileChecksum: Checksum

        public init(txid: TXID, fileChecksum: Checksum) {
            self.txid = txid
            self.fileChecksum = fileChecksum
        }
    }

    public init(
        destination: String,
        writer: String,
        lineage: String?,
        file: BucketFile,
        fileChecksum: Checksum,
        databaseChecksum: Checksum,
        after: Head,
        takesOver: Bool = false
    ) {
        self.destination = destination
        self.writer = writer
        self.lineage = lineage
        self.file = file
        self.fileChecksum = fileChecksum
        self.databaseChecksum = databaseChecksum
        self.after = after
        self.takesOver = takesOver
    }

    public var key: SpoolKey { SpoolKey(txid: file.maxTXID, fileChecksum: fileChecksum) }

    /// What a server is told with the bytes.
    public var facts: WriteFacts {
        WriteFacts(
            writer: writer,
            lineage: lineage,
            checksum: databaseChecksum,
            takesOver: takesOver,
            fileChecksum: fileChecksum
        )
    }

    static let heading = "dormouse-manifest"

    public var text: String {
        var text = FactsText(Self.heading)
        text.add("destination", destination)
        text.add("writer", writer)
        text.add("lineage", lineage ?? "-")
        text.add("file", BucketFileFacts(file).text)
        text.add("file-checksum", "\(fileChecksum)")
        text.add("database-checksum", "\(databaseChecksum)")
        text.add("after", "\(after.txid) \(after.fileChecksum)")
        text.add("takes-over", takesOver ? "yes" : "no")
        return text.text
    }

    public init(parsing bytes: [UInt8]) throws(UnusableFacts) {
        let facts = try FactsText.parse(bytes, heading: Self.heading)
        destination = try facts.text("destination")
        writer = try facts.word("writer")
        lineage = try facts.optionalWord("lineage")
        file = try facts.file().file
        fileChecksum = try facts.checksum("file-checksum")
        databaseChecksum = try facts.checksum("database-checksum")
        after = try facts.value("after") { Head($0) }
        takesOver = try facts.value("takes-over") { ["yes": true, "no": false][$0] }
    }
}

extension Manifest.Head {
    fileprivate init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard words.count == 2, words.allSatisfy({ $0.utf8.count == 16 }),
            let txid = TXID(words[0]), let checksum = TXID(words[1])
        else { return nil }
        self.init(txid: txid, fileChecksum: Checksum(rawValue: checksum.rawValue))
    }
}

/// Names one file in a spool: the same bytes have the same key, other bytes another.
///
/// Keys in the order of their text are in the order in which a bucket must get the files.
public struct SpoolKey: Hashable, Comparable, Sendable, LosslessStringConvertible {
    public let txid: TXID
    public let fileChecksum: Checksum

    public init(txid: TXID, fileChecksum: Checksum) {
        self.txid = txid
        self.fileChecksum = fileChecksum
    }

    public init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, let txid = TXID(parts[0]), let checksum = TXID(parts[1]) else {
            return nil
        }
        self.init(txid: txid, fileChecksum: Checksum(rawValue: checksum.rawValue))
        guard description == text else { return nil }
    }

    public var description: String { "\(txid)-\(fileChecksum)" }

    public static func < (left: SpoolKey, right: SpoolKey) -> Bool {
        (left.txid, left.fileChecksum.rawValue) < (right.txid, right.fileChecksum.rawValue)
    }
}
