public import LTXCodec

/// A bucket behind a server that checks each append by itself: a sink, or a liters server.
///
/// Beyond a plain bucket it answers in one small request what it holds, is told the checksum of
/// the database with each file, and takes a whole database as the base of the same lineage. A
/// server without these additions is still a bucket: what it cannot say is `nil`.
public protocol LiveBucket: BucketClient {
    /// What the server holds, in one request where it can say so.
    ///
    /// - Throws: `BucketError`.
    nonisolated(nonsending) func condition() async throws -> LiveCondition

    /// Stores a local file; the server checks that it continues the head, and does both at once.
    ///
    /// An upload that was interrupted goes on where the server lost it, also one of an earlier
    /// process.
    ///
    /// - Throws: `BucketError.conflict` when other bytes stand under that name,
    ///   `BucketError.fenced` when the file does not continue what the server holds or another
    ///   writer has it, `BucketError.transfer`.
    nonisolated(nonsending) func put(
        _ source: String,
        as file: BucketFile,
        facts: WriteFacts
    ) async throws

    /// The checksum of each page of the live copy at a TXID; `nil` where the server keeps none.
    ///
    /// - Throws: `BucketError`.
    nonisolated(nonsending) func ledger(at txid: TXID) async throws -> PageLedger?

    /// Uploads a whole database, compressed with Zstandard, as the base of the same lineage.
    ///
    /// - Parameters:
    ///   - image: Path of the compressed local file, which does not change any more.
    ///   - txid: The TXID at which it is the database.
    ///   - timestamp: When it was that, milliseconds since 1970.
    ///   - facts: Lineage, and the database's checksum.
    /// - Throws: `BucketError`; `.unsupported` by a server without ingest.
    nonisolated(nonsending) func ingest(
        _ image: String,
        at txid: TXID,
        timestamp: Int64,
        facts: WriteFacts
    ) async throws

    /// Begins new connections with the next request: after a suspension the open ones are dead.
    ///
    /// Requests that are still going on end as cancelled.
    func dropConnections()
}

/// What a live bucket says of itself.
public struct LiveCondition: Hashable, Sendable {
    /// The highest TXID on any level.
    public var head: TXID
    /// The id of the lineage it holds; `nil` from a server that keeps none, or while it is empty.
    public var lineage: String?
    /// The file checksum of the level-0 file that ends at the head, where the server says it.
    public var headChecksum: Checksum?
    /// Whether the live copy was found to differ from what the writer said: the sink asks for a
    /// rebase.
    public var wantsRebase: Bool

    public init(
        head: TXID,
        lineage: String?,
        headChecksum: Checksum? = nil,
        wantsRebase: Bool = false
    ) {
        self.head = head
        self.lineage = lineage
        self.headChecksum = headChecksum
        self.wantsRebase = wantsRebase
    }
}

/// What a writer says beyond the bytes.
public struct WriteFacts: Hashable, Sendable {
    /// Who writes, for the server's lease; visible ASCII.
    public var writer: String?
    /// The id of the lineage, which the server compares with its own; `nil` says nothing.
    public var lineage: String?
    /// The rolling checksum of the database after the write; `.none` says nothing.
    public var checksum: Checksum
    /// Take the writer's lease from whoever has it.
    public var takesOver: Bool
    /// The checksum at the end of the file, which tells it from any other of its name.
    ///
    /// An upload that another process began is known again by it; `.none` says nothing.
    public var fileChecksum: Checksum

    public init(
        writer: String? = nil,
        lineage: String? = nil,
        checksum: Checksum = .none,
        takesOver: Bool = false,
        fileChecksum: Checksum = .none
    ) {
        self.writer = writer
        self.lineage = lineage
        self.checksum = checksum
        self.takesOver = takesOver
        self.fileChecksum = fileChecksum
    }
}
