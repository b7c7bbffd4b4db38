public import Bucket
import DurableFiles
public import LTXCodec
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
            let report = try await compare(
                published.source,
                with: bucket,
                target: .txid(published.txid),
                progress: progress
            )
            if try published.isStillSeen() {
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

    /// What a check by checksums found.
    public struct FastReport: Sendable {
        public var txid: TXID
        public var pagesCompared: Int
        /// Ascending, the first hundred.
        public var differing: [Pgno]
        public var differingCount: Int
        /// Commits since the published state; they were left out.
        public var commitsBehind: Int

        public var isEqual: Bool { differingCount == 0 }
    }

    /// Why the fast check cannot be made; the full one can.
    public enum FastCheckUnavailable: Error, Equatable, Sendable, CustomStringConvertible {
        /// The published state is not to be seen any more, or was never pushed whole.
        case placeNotVisible
        case noLedger(String)
        /// The bucket's newest file is not the one that was acknowledged.
        case headDiffers(acknowledged: TXID, head: TXID)

        public var description: String {
            switch self {
            case .placeNotVisible:
                "the published state is no longer to be seen in the WAL; push first, or compare "
                    + "in full"
            case .noLedger(let why): "\(why); compare in full"
            case .headDiffers(let acknowledged, let head):
                "the bucket's head is \(head), and not what it acknowledged at \(acknowledged); "
                    + "compare in full"
            }
        }
    }

    /// Compares each page with its checksum at the last published TXID.
    ///
    /// The bucket's newest file must be the one that it acknowledged; its others are not read.
    ///
    /// - Parameters:
    ///   - database: Path of the database.
    ///   - bucket: Its bucket.
    /// - Returns: What differs.
    /// - Throws: `FastCheckUnavailable`; otherwise as `run`.
    nonisolated(nonsending) public static func runFast(
        database: String,
        bucket: any BucketClient
    ) async throws -> FastReport {
        let custody = try WALCustody(path: database, pin: .hold)
        defer { custody.close() }
        guard let published = try publishedPlace(database, bucket, custody) else {
            throw FastCheckUnavailable.placeNotVisible
        }
        let head = try await bucket.head()
        guard head == published.txid,
            try await isHeadAcknowledged(bucket, published.acknowledged)
        else {
            throw FastCheckUnavailable.headDiffers(acknowledged: published.txid, head: head)
        }
        let ledger = try ledger(of: database, at: published.txid)
        let source = published.source
        var report = FastReport(
            txid: published.txid,
            pagesCompared: 0,
            differing: [],
            differingCount: 0,
            commitsBehind: published.commitsBehind
        )
        func differs(_ pgno: Pgno) {
            report.differingCount += 1
            if report.differing.count < Verification.namedPages { report.differing.append(pgno) }
        }
        try source.forEach { pgno, page in
            report.pagesCompared += 1
            if ledger[pgno] != pageChecksum(pgno: pgno, page: page) { differs(pgno) }
        }
        // Pages that the published state has beyond the end of this one.
        if ledger.commit > source.commit {
            for pgno in source.commit + 1...ledger.commit where ledger[pgno] != nil {
                differs(pgno)
            }
        }
        guard try published.isStillSeen() else {
            throw FastCheckUnavailable.placeNotVisible
        }
        return report
    }

    private static func ledger(of database: String, at txid: TXID) throws -> PageLedger {
        let path = MetaDirectory(database: database).ledgerPath
        do {
            guard let loaded = try LedgerFile(path: path).load() else {
                throw FastCheckUnavailable.noLedger("there is no page ledger")
            }
            guard loaded.ledger.txid == txid, loaded.ledger.checksum == loaded.checksum else {
                throw FastCheckUnavailable.noLedger("the page ledger is of another TXID")
            }
            return loaded.ledger
        } catch let damage as LedgerFile.Damage {
            throw FastCheckUnavailable.noLedger("the page ledger cannot be used: \(damage)")
        }
    }

    nonisolated(nonsending) private static func isHeadAcknowledged(
        _ bucket: any BucketClient,
        _ acknowledged: ReplicatorState.Acknowledged
    ) async throws -> Bool {
        let newest = try await bucket.list(level: 0).last { $0.maxTXID == acknowledged.txid }
        // After a compaction there is no file to compare; the TXID has to do.
        guard let newest, acknowledged.fileChecksum != .none else { return true }
        let reader = try await bucket.open(newest)
        do {
            return try inspectLTX(sizeInBytes: reader.sizeInBytes) {
                try reader.read(at: $0, into: $1)
            }.fileChecksum == acknowledged.fileChecksum
        } catch is LTXError {
            return false
        }
    }

    /// A state that the bucket holds and the database still shows.
    private struct Published {
        var acknowledged: ReplicatorState.Acknowledged
        var source: SourcePages
        var commitsBehind: Int
        /// Whether it was to be seen all the time: a checkpoint beyond the place would have let
        /// later pages in.
        var isStillSeen: () throws -> Bool

        var txid: TXID { acknowledged.txid }
    }

    /// The place of the state file, if the bucket has all up to it and it is still to be seen.
    private static func publishedPlace(
        _ database: String,
        _ bucket: any BucketClient,
        _ custody: WALCustody
    ) throws -> Published? {
        let meta = MetaDirectory(database: database)
        guard let state = try? StateFile(path: meta.statePath).load(), state.making == nil,
            let acknowledged = state.acknowledged[bucket.address.description],
            acknowledged.txid == state.made.txid
        else { return nil }
        let view = try custody.look()
        switch state.made.place {
        case .cursor(let cursor) where cursor.nextFrame > 1:
            guard view.indexMatches, view.header?.salt == cursor.salt,
                try custody.wal.holds(cursor), try custody.isBackfilled(within: cursor)
            else { return nil }
            let source = try custody.source(through: cursor.nextFrame - 1)
            return Published(
                acknowledged: acknowledged,
                source: source,
                commitsBehind: try custody.wal.scan(from: cursor, through: view.lastFrame).commits,
                isStillSeen: {
                    try source.isStillValid() && custody.isBackfilled(within: cursor)
                }
            )
        case .atRest(let database):
            // All of it is in the file, and what came since is all in the WAL.
            guard try custody.fingerprint() == database else { return nil }
            let commit = UInt32(
                clamping: try custody.files.databaseSize() / Int64(custody.pageSize)
            )
            var behind = 0
            if let header = view.header {
                let start = WALCursor.start(of: header, commit: commit)
                behind = try custody.wal.scan(from: start, through: view.lastFrame).commits
            }
            return Published(
                acknowledged: acknowledged,
                source: SourcePages(
                    custody: custody,
                    view: view,
                    commit: commit,
                    map: WALPageMap(),
                    end: nil
                ),
                commitsBehind: behind,
                isStillSeen: { try custody.fingerprint() == database }
            )
        case .cursor, .unknown: return nil
        }
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
    /// The database file as it is now.
    func fingerprint() throws -> FileFingerprint {
        guard let database = try FileStatus.of(files.path) else {
            throw DatabaseFault.missing(path: files.path)
        }
        return FileFingerprint(database)
    }

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
        let session = try open()
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
