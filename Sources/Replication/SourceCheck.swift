public import Bucket
import LTXCodec
public import Replica
import SQLiteBridge
import SQLiteWAL

/// Compares a database with its bucket page by page, without being its replicator.
///
/// It reads under a transaction of its own and may run beside an agent.
public enum SourceCheck {
    public struct Report: Sendable {
        public var verification: VerifyReport
        /// Commits in the WAL that were not yet synced; they were left out of the comparison
        /// where `isAtPlace` is true.
        public var commitsBehind: Int
        /// The comparison is of the state that the replicator last published, not of the newest.
        public var isAtPlace: Bool
    }

    /// Compares the published state, or the present one if that can no longer be seen.
    ///
    /// - Parameters:
    ///   - database: Path of the database.
    ///   - bucket: Its bucket.
    ///   - progress: Called about every half percent.
    /// - Returns: What differs.
    /// - Throws: `DatabaseFault`, `SQLiteError`, `FileError`, `RestoreError`, `BucketError`.
    nonisolated(nonsending) public static func run(
        database: String,
        bucket: any BucketClient,
        progress: ((RestoreProgress) -> Void)? = nil
    ) async throws -> Report {
        let custody = try WALCustody(path: database, pin: .hold)
        defer { custody.close() }
        let published = try publishedPlace(database, bucket, custody)
        if let published {
            let source = try custody.source(through: published.cursor.nextFrame - 1)
            let report = try await compare(
                source,
                with: bucket,
                target: .txid(published.txid),
                progress: progress
            )
            // A checkpoint beyond the place meanwhile would have let later pages in.
            if try source.isStillValid(), try custody.isBackfilled(within: published.cursor) {
                return Report(
                    verification: report,
                    commitsBehind: published.commitsBehind,
                    isAtPlace: true
                )
            }
        }
        let source = try custody.source()
        let report = try await compare(source, with: bucket, target: .newest, progress: progress)
        return Report(
            verification: report,
            commitsBehind: published?.commitsBehind ?? 0,
            isAtPlace: false
        )
    }

    /// The cursor of the state file, if the bucket has all up to it and the WAL still shows it.
    private static func publishedPlace(
        _ database: String,
        _ bucket: any BucketClient,
        _ custody: WALCustody
    ) throws -> (txid: TXID, cursor: WALCursor, commitsBehind: Int)? {
        let meta = MetaDirectory(database: database)
        guard let state = try? StateFile(path: meta.statePath).load(), state.making == nil,
            state.acknowledged[bucket.address.description]?.txid == state.made.txid,
            case .cursor(let cursor) = state.made.place, cursor.nextFrame > 1
        else { return nil }
        let view = try custody.look()
        guard view.indexMatches, view.header?.salt == cursor.salt,
            try custody.wal.holds(cursor), try custody.isBackfilled(within: cursor)
        else { return nil }
        let behind = try custody.wal.scan(from: cursor, through: view.lastFrame).commits
        return (state.made.txid, cursor, behind)
    }

    nonisolated(nonsending) static func compare(
        _ source: SourcePages,
        with bucket: any BucketClient,
        target: RestoreTarget,
        progress: ((RestoreProgress) -> Void)?
    ) async throws -> VerifyReport {
        try await Verification(bucket: bucket, target: target).run(
            source: Verification.Source(
                pageSize: source.custody.pageSize,
                commit: source.commit,
                readPage: { try source.read($0, into: $1) }
            ),
            progress: progress
        )
    }
}

extension WALCustody {
    /// Whether nothing behind a cursor has been copied into the database file.
    func isBackfilled(within cursor: WALCursor) throws -> Bool {
        guard let index = try look().index, index.salt == cursor.salt else { return false }
        return max(index.backfilled, index.backfillAttempted) < cursor.nextFrame
    }
}

extension Replicator {
    /// Pushes, and compares the state that the bucket then holds with the database.
    ///
    /// - Returns: The push, and what differs; no report when the push did not get through.
    /// - Throws: What reading either side throws.
    public func verify(
        progress: (@Sendable (RestoreProgress) -> Void)? = nil
    ) async throws -> (push: PushRecord, report: VerifyReport?) {
        var notes: [String] = []
        let session = try open(&notes)
        // The guard is older than the push, so the published state stays to be seen.
        let guarded = try session.custody.beginReading()
        defer { if guarded { session.custody.endReading() } }
        let push = await push()
        guard push.outcome.isSuccess, let session = self.session else { return (push, nil) }
        let frames: UInt32
        if case .cursor(let cursor) = session.state.made.place {
            frames = cursor.nextFrame - 1
        } else {
            frames = 0
        }
        let source = try session.custody.source(through: frames == 0 ? .max : frames)
        let report = try await SourceCheck.compare(
            source,
            with: bucket,
            target: .txid(push.remoteTXID),
            progress: progress
        )
        return (push, report)
    }
}
