public import Bucket
public import DurableFiles
import LTXCodec
import SQLiteBridge
import SQLiteWAL
import Transfer

/// Keeps the history of one database in one bucket.
///
/// An actor on a thread of its own, because SQLite and `fsync` block. What it decides is decided
/// by plain values (`CustodyDecision`, `CheckpointPolicy`, `LineageFinding`, `RetryStreak`); this
/// is the shell that looks, asks and acts.
///
/// A sync turns what is new in the WAL into a local LTX file; a checkpoint copies the WAL back
/// without letting a commit go unseen; a push does both and ships what the bucket does not have.
/// Nothing is ever written into the database.
public actor Replicator {
    private let executor = SerialThreadExecutor()
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    public nonisolated let database: String
    public private(set) var bucket: any BucketClient
    public private(set) var options: ReplicatorOptions
    /// What the replicator is doing, for a watchdog.
    public nonisolated let progress = Progress("replicator")

    var session: Session?
    private nonisolated let wishes = Lock(Wishes())
    private nonisolated let bucketAddress: BucketAddress
    private var pushes: UInt64 = 0
    private var findings = Findings()
    /// The push has converted the WAL and puts the checkpoint off until it has uploaded.
    private var owesCheckpoint = false
    private let clock = ContinuousClock()

    /// Names a database and a bucket; nothing is opened before the first call.
    public init(
        database: String,
        bucket: any BucketClient,
        options: ReplicatorOptions = ReplicatorOptions()
    ) {
        self.database = database
        self.bucket = bucket
        bucketAddress = bucket.address
        self.options = options
    }

    /// Opens the database and takes custody of its WAL, so that no commit from now on is missed.
    ///
    /// Every other call does this too; call it before the application starts to write.
    ///
    /// - Throws: `DatabaseFault`, `FileLock.Held`, `SQLiteError`, `FileError`.
    public func start() throws {
        try progress.during("taking custody") { _ = try open() }
    }

    /// What was found and made outside of pushes, once; a push takes it into its record.
    ///
    /// Whoever keeps a log asks after each call, or a process that ends before its next push ends
    /// without having said so.
    public func takeFindings() -> Findings {
        defer { findings = Findings() }
        return findings
    }

    /// Goes on with other options, and the same bucket reached in another way, from the next push on.
    ///
    /// A push that is going on ends as it began. Another pin takes a close and a new start, with the
    /// evidence that goes with it.
    public nonisolated func reconfigure(_ options: ReplicatorOptions, bucket: any BucketClient) {
        precondition(bucket.address == bucketAddress, "another bucket takes another start")
        wishes.withLock { $0.settings = (options, bucket) }
    }

    /// Whether whole databases wait for a better time, as on a metered network; deltas never do.
    ///
    /// It holds from the next file on.
    public nonisolated func postponeSnapshots(_ postpones: Bool) {
        wishes.withLock { $0.postponesSnapshots = postpones }
    }

    /// What is asked of a replicator that may be busy for hours.
    private struct Wishes {
        var settings: (options: ReplicatorOptions, bucket: any BucketClient)?
        var postponesSnapshots = false
    }

    /// See `postponeSnapshots`.
    var postponesSnapshots: Bool { wishes.withLock { $0.postponesSnapshots } }

    private func takeWishedSettings() {
        guard let (options, bucket) = wishes.withLock({ $0.settings.take() }) else { return }
        self.bucket = bucket
        if session != nil, options.pin != self.options.pin { letGo() }
        self.options = options
        session?.policy = CheckpointPolicy(threshold: options.checkpointFrames)
    }

    /// Lets everything go; the WAL stays as it is.
    ///
    /// Waits for the end of a push. The next call opens it again.
    public func close() async {
        await beginAlone()
        letGo()
        endAlone()
    }

    private func letGo() {
        session?.sealPlace()
        session?.close()
        session = nil
    }

    /// A process other than this one that has the database open now, for a warning.
    ///
    /// It may checkpoint without knowing of us, and SQLite before 3.51.3 has a race between two
    /// checkpointers (`SQLiteLibrary.hasWALResetRace`).
    public func otherOpener() -> Int32? {
        session?.custody.files.otherOpener()
    }

    /// Takes note that the process was suspended: meanwhile anybody may have written to the bucket,
    /// and connections that were open lead nowhere.
    ///
    /// A database that was replaced or deleted meanwhile is let go; the next call opens what is
    /// there.
    ///
    /// - Throws: What `start` throws.
    public func resumed() async throws {
        await beginAlone()
        defer { endAlone() }
        live?.dropConnections()
        try progress.during("verifying custody") {
            guard let session else { return }
            session.isLineageChecked = false
            if try !session.custody.isInPlace() { letGo() }
        }
    }

    /// Turns what is new into a local file.
    ///
    /// - Throws: What `outcome(of:)` knows to name.
    public func sync() throws -> SyncReport {
        try syncAlone(open())
    }

    /// Turns what is new into a local file where that takes no more than reading on.
    ///
    /// What a push would have to find out from the bucket first is left to it.
    ///
    /// - Throws: What `outcome(of:)` knows to name.
    public func convert() throws {
        let session = try open()
        guard !needsNothingOfWAL(session), !session.needsSnapshot else { return }
        do { findings.add(try sync(session)) } catch is NeedsLedger {}
        findings.add(handOverRest(session))
        findings.txid = session.state.made.txid
    }

    /// Without a bucket to ask, a place and a ledger that are both lost leave only a snapshot.
    private func syncAlone(_ session: Session) throws -> SyncReport {
        do {
            return try sync(session)
        } catch is NeedsLedger {
            session.pending = .snapshot(.noLedger)
            if isSnapshotPostponed(session) { throw ReplicationError.postponed }
            return try sync(session)
        }
    }

    /// Copies the WAL back, sealed: everything in it is read first, under the write lock.
    ///
    /// - Throws: What `outcome(of:)` knows to name.
    public func checkpoint() throws -> CheckpointReport {
        let session = try open()
        if !needsNothingOfWAL(session) { findings.add(try syncAlone(session)) }
        return try checkpoint(session)
    }

    /// Syncs, checkpoints if due, and ships what the bucket does not have.
    ///
    /// One push at a time: a second one waits for the end of the first.
    ///
    /// - Parameter handOver: Leave the upload to the transfer service and return at once; without
    ///   a spool this changes nothing.
    /// - Returns: The record of it; a failure is an outcome, never an error.
    public func push(handOver: Bool = false) async -> PushRecord {
        await beginAlone()
        defer { endAlone() }
        pushes += 1
        var record = PushRecord()
        record.id = pushes
        record.add(takeFindings())
        let start = clock.now
        // Held to the end: nobody else uploads to this bucket meanwhile.
        let claim = claimDestination(&record, handOver: handOver)
        var isWALLost = false
        do {
            try await run(&record, claim)
            if record.files > 0 {
                record.outcome = .pushed
            } else if record.handover != nil, case .inSync(verified: false) = record.outcome {
                // Nobody may have come for what was handed over.
                tend(&record, claim)
            }
        } catch {
            record.outcome = Self.outcome(of: error)
            if case BucketError.transfer(let failure) = error {
                record.retryAfter = failure.retryAfter
                record.moved = failure.advanced
            }
            if record.files > 0 { record.moved = true }
            // Whatever was known of the bucket is from before the failure.
            session?.isLineageChecked = false
            checkpointDespite(&record)
            tend(&record, claim)
            // Our own connection keeps the index of a WAL that is gone, and everybody out with it.
            isWALLost = (try? session?.custody.isCut()) ?? false
        }
        finish(&record)
        if claim.maySend { await ingestIfDue(&record) }
        if isWALLost { letGo() }
        claim.release()
        record.duration = clock.now - start
        return record
    }

    /// A push is under way; the actor is free while it waits for a server.
    private var isPushing = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    private func beginAlone() async {
        while isPushing { await withCheckedContinuation { waiting.append($0) } }
        isPushing = true
        takeWishedSettings()
    }

    private func endAlone() {
        isPushing = false
        let woken = waiting
        waiting = []
        for continuation in woken { continuation.resume() }
    }

    private func run(_ record: inout PushRecord, _ claim: DestinationClaim) async throws {
        var session = try open(&record.notes)
        if try !session.custody.isInPlace() {
            record.notes.append("the database or its WAL was replaced; it is opened again")
            letGo()
            session = try open(&record.notes)
        }
        let isInDoubt = try await reconcile(session, &record, claim)
        // Two rounds: a bucket that changed under a push is compared again, once.
        for round in 0...1 {
            var unreachable: (any Error)?
            let asksFirst =
                claim.maySend && !session.isLineageChecked
                && (!claim.handsOver || mustAsk(session, isInDoubt: isInDoubt))
            if asksFirst {
                do {
                    let finding = try await checkLineage(session, notes: &record.notes)
                    if record.lineageFinding?.isSound ?? true { record.lineageFinding = finding }
                } catch {
                    // The WAL is converted and checkpointed all the same: an offline device
                    // holds a backlog of deltas, not a growing WAL.
                    unreachable = error
                }
            }
            if session.state.isGivenUp, claim.maySend {
                if unreachable == nil { try await resume(session, &record) }
            }
            var short: FileError?
            do {
                if !needsNothingOfWAL(session) {
                    guard claim.maySend || session.canSyncAlone else {
                        throw ReplicationError.spoolInUse
                    }
                    try await syncHealing(session, &record, bucketIsReachable: unreachable == nil)
                }
                // A copy into a directory is quick and whoever reads the bucket waits for it, so
                // it comes first; a server may take as long as it likes.
                owesCheckpoint = live == nil && unreachable == nil && !claim.handsOver
                if round == 0, !owesCheckpoint { try checkpointIfDue(session, &record) }
            } catch let error as FileError where error.isNoSpace && unreachable == nil {
                // Shipping what is there already may make room for what is new.
                short = error
            }
            if let unreachable { throw unreachable }
            if isSnapshotPostponed(session) { throw ReplicationError.postponed }
            tidySpool(session, &record, claim, afterLook: asksFirst)
            if claim.handsOver, try handOver(session, &record, claim) {
                if let short { throw short }
                return
            }
            do {
                // Somebody else may have appended since the last push, under any name.
                // A server that was asked just now is asked again only by an append.
                var isConfirmed = asksFirst && live != nil
                if !isConfirmed { isConfirmed = try await isHeadConfirmed(session) }
                if isConfirmed, try await upload(session, &record) {
                    if owesCheckpoint { try await checkpointBehind(session, &record) }
                    tidySpool(session, &record, claim, afterLook: false)
                    if let short { throw short }
                    if record.files == 0 {
                        record.outcome = .inSync(verified: session.acknowledged(by: bucket) != nil)
                    }
                    return
                }
            } catch BucketError.conflict where round == 0 {
                // Somebody else took the name; find out what the bucket holds now.
            } catch BucketError.fenced where round == 0 {
                // Or somebody else appended.
            }
            session.isLineageChecked = false
        }
        throw ReplicationError.bucketKeepsChanging
    }

    private func checkpointIfDue(_ session: Session, _ record: inout PushRecord) throws {
        guard record.checkpoint == nil, isCheckpointDue(session) else { return }
        record.checkpoint = try checkpointIfPossible(session, &record)
    }

    /// The checkpoint behind an upload; what it found in the WAL on its way is shipped as well.
    private func checkpointBehind(
        _ session: Session,
        _ record: inout PushRecord
    ) async throws {
        owesCheckpoint = false
        try checkpointIfDue(session, &record)
        guard try !session.backlog(for: bucket).isEmpty else { return }
        if try await !upload(session, &record) { session.isLineageChecked = false }
    }

    /// The checkpoint of a push whose upload failed.
    private func checkpointDespite(_ record: inout PushRecord) {
        guard owesCheckpoint, let session else { return }
        owesCheckpoint = false
        do {
            try checkpointIfDue(session, &record)
        } catch {
            record.notes.append("the checkpoint failed: \(error)")
        }
    }

    /// Counts a retryable outcome that came before the database was open.
    ///
    /// Where there is no state yet, there is nothing that a count could lead to.
    private func countUnopened(_ record: inout PushRecord) {
        guard case .retryable = record.outcome else { return }
        let meta = MetaDirectory(database: database)
        let file = StateFile(path: meta.statePath)
        do {
            guard try FileStatus.of(file.path) != nil else { return }
            // Held to the end: nobody else writes the state meanwhile.
            let claim = try FileLock(meta.lockPath)
            if var state = try file.load() {
                state.streak.record(record.outcome)
                try file.save(state)
                record.streak = state.streak
            }
            _ = consume claim
        } catch {
            record.notes.append("the streak could not be saved: \(error)")
        }
    }

    private func finish(_ record: inout PushRecord) {
        record.add(takeFindings())
        guard let session else { return countUnopened(&record) }
        let before = session.state.streak
        session.state.streak.record(record.outcome)
        if session.state.streak != before {
            do {
                try session.saveState()
            } catch {
                record.notes.append("the streak could not be saved: \(error)")
            }
        }
        record.streak = session.state.streak
        record.lineage = session.state.lineage
        record.txid = session.state.made.txid
        record.remoteTXID = session.acknowledged(by: bucket)?.txid ?? .zero
        let backlog = (try? session.backlog(for: bucket)) ?? []
        record.backlogFiles = backlog.count
        record.backlogBytes = backlog.reduce(0) { $0 + $1.sizeInBytes }
        record.walBytes = (try? session.custody.files.refreshWAL()) ?? 0
        record.databaseBytes = (try? session.custody.files.databaseSize()) ?? 0
        if case .cursor(let cursor) = session.state.made.place {
            record.isCommitPending = (try? session.custody.hasCommit(behind: cursor)) ?? false
        }
    }

    /// The open session, or a new one; what there is to say of it is a finding.
    func open() throws -> Session {
        var notes: [String] = []
        defer { findings.notes += notes }
        return try open(&notes)
    }

    /// The open session, or a new one.
    private func open(_ notes: inout [String]) throws -> Session {
        if let session {
            if try session.holdsItsDirectory() { return session }
            notes.append("\(session.meta.path) was taken away; it is made and claimed again")
            letGo()
        }
        try refuseOwnDirectory()
        let opened = try Session(database: database, options: options, notes: &notes)
        session = opened
        return opened
    }

    /// The directory of what is on its way cannot be the bucket: what arrives leaves it.
    private func refuseOwnDirectory() throws {
        guard case .directory(let named) = bucketAddress else { return }
        let own = MetaDirectory(database: database).path
        let path = Path.canonical(named)
        guard path == own || path.hasPrefix(own + "/") else { return }
        throw BucketError.notABucket(
            path: path,
            why: "a replicator of \(database) keeps its own files there: give another directory"
        )
    }

    /// Keeps what waits within its bounds, in the spool too.
    private func tend(_ record: inout PushRecord, _ claim: DestinationClaim) {
        tendBacklog(&record)
        // Files that were given up hold their room until they are out of the spool.
        guard let session, !record.backlogEvents.isEmpty else { return }
        tidySpool(session, &record, claim, afterLook: false)
    }

    /// Keeps what waits for a bucket within its bounds; a full disk ends the wait.
    private func tendBacklog(_ record: inout PushRecord) {
        guard let session, !session.state.isGivenUp else { return }
        do {
            while true {
                let files = try session.backlog(for: bucket)
                let bytes = files.reduce(0) { $0 + $1.sizeInBytes }
                var action = options.backlog.action(sizes: files.map(\.sizeInBytes))
                // What was handed over is on its way as it is; a merge would ship it twice.
                if action == .merge, try holdsFiles(session) {
                    action = bytes > options.backlog.limit ? .giveUp : .keep
                }
                if case .retryable(.deviceFull, _) = record.outcome, !files.isEmpty {
                    action = .giveUp
                }
                switch action {
                case .keep: return
                case .merge:
                    do {
                        let size = try session.merge(files)
                        record.backlogEvents.append(
                            .merged(files: files.count, bytes: bytes, into: size)
                        )
                    } catch let error as FileError where error.isNoSpace {
                        try giveUp(session, files, bytes, &record)
                        return
                    }
                case .giveUp:
                    try giveUp(session, files, bytes, &record)
                    return
                }
            }
        } catch {
            record.notes.append("the backlog could not be tended: \(error)")
        }
    }

    private func giveUp(
        _ session: Session,
        _ files: [BucketFile],
        _ bytes: Int64,
        _ record: inout PushRecord
    ) throws {
        try session.giveUpBacklog(for: bucket)
        record.backlogEvents.append(.gaveUp(files: files.count, bytes: bytes))
    }

    /// Converts and checkpoints what came while an upload is on its way.
    ///
    /// What is made here the next push ships; what goes wrong it says.
    func keepUp() {
        guard let session, !session.state.isGivenUp, session.pending == nil else { return }
        guard let report = try? sync(session) else { return }
        findings.add(report)
        if isCheckpointDue(session) { _ = try? checkpoint(session) }
    }

    /// Whether the next file is a whole database that has to wait.
    func isSnapshotPostponed(_ session: Session) -> Bool {
        postponesSnapshots && session.needsSnapshot
    }

    /// Nothing is read of the WAL any more, so nothing in it has to be waited for: a backlog was
    /// given up, or a snapshot waits that reads the database as it is then.
    private func needsNothingOfWAL(_ session: Session) -> Bool {
        session.state.isGivenUp || isSnapshotPostponed(session)
    }

    private func isCheckpointDue(_ session: Session) -> Bool {
        if needsNothingOfWAL(session) {
            let frames = (try? session.custody.look())?.index?.maxFrame ?? 0
            return frames >= options.checkpointFrames
        }
        guard case .cursor(let cursor) = session.state.made.place else { return false }
        return session.policy.isDue(
            salt: cursor.salt,
            frames: cursor.nextFrame - 1,
            hasOtherReaders: !session.custody.files.otherWALReaders().isEmpty
        )
    }

    /// A writer that does not let us in puts a checkpoint off; it is no failure of the push.
    private func checkpointIfPossible(
        _ session: Session,
        _ record: inout PushRecord
    ) throws -> CheckpointReport? {
        do {
            return try checkpoint(session)
        } catch let error as SQLiteError where error.isBusy {
            record.notes.append("the checkpoint was put off: \(error)")
            return nil
        }
    }

    private func checkpoint(_ session: Session) throws -> CheckpointReport {
        let report = try progress.during("checkpointing") {
            try session.custody.sealedCheckpoint(options.checkpointLimits) {
                guard !needsNothingOfWAL(session) else { return }
                findings.add(try sync(session))
            }
        }
        if case .cursor(let cursor) = session.state.made.place {
            session.policy.attempted(
                salt: cursor.salt,
                frames: cursor.nextFrame - 1,
                isComplete: report.result.isComplete
            )
        }
        // Noted while the pin keeps it so: after a kill it shows that a restart cost nothing.
        if report.result.isComplete { session.sealPlace() }
        return report
    }
}
