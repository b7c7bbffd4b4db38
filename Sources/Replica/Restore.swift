public import Bucket
import DurableFiles
public import LTXCodec

/// Materialises a state of a database from a bucket as a file.
///
/// Every file of the plan is read once, decoded and checked in full. The database grows under a
/// temporary name beside its own and appears only when it is whole, checked and durable; after a
/// failure nothing new is there. Memory is a few MiB and some bits a page.
///
/// Times follow Litestream: exclusive, and of a directory bucket the files' modification times
/// count. Unlike Litestream, a time after the newest file means the newest state.
public struct Restore: Sendable {
    public struct Options: Sendable {
        /// Replace a database that stands at the output path, sidecars included.
        ///
        /// Nobody may have it open. If the process is killed in the instant of the replacement,
        /// the old database's sidecars may stand beside it as `NAME-wal.replaced.tmp`.
        public var overwrite = false
        /// Leave page 1 as it is in the bucket.
        ///
        /// Otherwise a database in WAL mode is presented as a rollback-journal one (bytes 18 and
        /// 19 become 1), so that any SQLite can open it for reading.
        public var verbatim = false
        public var integrityCheck = IntegrityCheck.quick

        public init(
            overwrite: Bool = false,
            verbatim: Bool = false,
            integrityCheck: IntegrityCheck = .quick
        ) {
            self.overwrite = overwrite
            self.verbatim = verbatim
            self.integrityCheck = integrityCheck
        }
    }

    public let target: RestoreTarget
    /// Path of the database file to write.
    public let output: String
    public let options: Options
    private let walk: StateWalk

    public init(
        bucket: any BucketClient,
        target: RestoreTarget = .newest,
        output: String,
        options: Options = Options()
    ) {
        self.target = target
        self.output = output
        self.options = options
        walk = StateWalk(bucket: bucket, target: target)
    }

    /// Where the database grows before it is whole.
    ///
    /// A process that is killed leaves it there, and the next restore to the same output uses it up.
    public var temporaryPath: String {
        Path.canonical(output) + RestoreOutput.temporarySuffix
    }

    /// The files that a restore would read now.
    ///
    /// - Throws: `RestoreError.plan`, `BucketError`.
    nonisolated(nonsending) public func plan() async throws -> RestorePlan {
        try await walk.plan()
    }

    /// Restores; blocks the caller's executor while it works.
    ///
    /// - Parameter progress: Called about every half percent of the bytes, and at the end.
    /// - Returns: What stands at the output path now.
    /// - Throws: `RestoreError`; `BucketError` of the bucket; `SQLiteError` if the check cannot be
    ///   made; `CancellationError`.
    nonisolated(nonsending) public func run(
        progress: ((RestoreProgress) -> Void)? = nil
    ) async throws -> RestoreSummary {
        let output = try RestoreOutput(output, overwrite: options.overwrite)
        let file = try RestoredFile(output, verbatim: options.verbatim)
        let result = try await walk.run(into: file, progress: progress)
        let problems = try file.finish(options.integrityCheck)
        guard problems.isEmpty else {
            throw RestoreError.integrity(
                problems,
                address: walk.bucket.address,
                txid: result.state.txid
            )
        }
        try Task.checkCancellation()
        try file.publish()
        return RestoreSummary(
            path: output.path,
            state: result.state,
            plan: result.plan,
            bytesRead: result.bytesRead
        )
    }
}

/// What was restored.
public struct RestoreSummary: Hashable, Sendable {
    /// The database file.
    public let path: String
    public let state: BucketState
    public let plan: RestorePlan
    /// Bytes of LTX files that were read.
    public let bytesRead: Int64

    public var txid: TXID { state.txid }
    /// Milliseconds since 1970.
    public var timestamp: Int64 { state.timestamp }
    public var pageSize: UInt32 { state.pageSize }
    public var commit: UInt32 { state.commit }
    public var files: Int { plan.files.count }
    /// Bytes of the database.
    public var sizeInBytes: Int64 { state.sizeInBytes }
}
