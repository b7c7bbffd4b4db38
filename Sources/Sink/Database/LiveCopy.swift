package import Bucket
package import LTXCodec
package import Replica

/// What a database needs of its live copy, which applies what comes by itself.
///
/// A push waits for none of it.
package protocol LiveCopy: Sendable {
    /// What it holds and lacks, at once.
    var status: MirrorStatus { get }

    /// Whether there is nothing of it yet, so that a whole state may be made beside it and adopted.
    var takesImages: Bool { get }

    /// Becomes a whole state that was made beside it, unless it has come to be otherwise.
    func adopt(_ image: MirrorImage) async throws

    /// Says that a file came, or that the bucket is to be listed; never waits.
    func wake(_ file: BucketFile?)

    /// Says what the checksum of the writer's database is at a TXID.
    func expect(_ checksum: Checksum, at txid: TXID) async throws

    /// Says that the bucket's history was replaced.
    func restart() async

    /// Puts a whole database into the bucket as a snapshot, and takes it from there.
    ///
    /// Nobody else writes the bucket until it returns.
    func ingest(
        _ image: IngestImage,
        base: TXID?,
        timestamp: Int64,
        checksum: Checksum
    ) async throws -> IngestReport

    /// The page checksums at a TXID, the newest for `nil`.
    func ledger(at txid: TXID?) async -> PageLedger?

    /// Runs a query that asks for the newest sample.
    func newestSample(_ query: String) async -> NewestSample

    /// Follows the bucket until the task is cancelled.
    func run() async

    func close() async
}

extension Mirror: LiveCopy {}
