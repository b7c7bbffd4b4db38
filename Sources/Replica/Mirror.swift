package import Bucket
import DurableFiles
package import LTXCodec
package import SQLiteBridge

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The live copy of a database beside its bucket: `mirror.sqlite`, which any SQLite may read while
/// files of the bucket are applied to it.
///
/// One actor owns the file and all that is known of it; deltas, snapshots and whole uploads go
/// through it. The bucket is never written here but by `ingest`, and never waits for the mirror: a
/// reader that stays in a transaction makes the mirror lag, and nothing else.
///
/// **An apply is one transaction.** All files of it are decoded and checked to their ends before
/// anything is touched. Then, under SHARED and RESERVED, a rollback journal with the old pages is
/// written and synced; under EXCLUSIVE the pages are written, the file is cut and synced; the
/// unlinking of the journal is the commit. A kill at any instant leaves the old state, the new
/// one, or a hot journal that every SQLite rolls back to the old state.
///
/// **Position and file cannot disagree after a crash.** The position is never noted after the
/// fact. Before the first page changes, the record of the state to come is durable beside the
/// record of the state that is (`MirrorRecordFile`). Each names the CRC of the page 1 that it
/// belongs to, and no two applies leave the same page 1, because the change counter in it moves
/// with every one. After a crash SQLite's rollback has made the file one of the two states, as a
/// whole, page 1 included; the record whose CRC fits page 1 is the true one. Should both fit (page
/// 1 of a database that is no SQLite database has no counter) or the ledger file be of another
/// state (it is written after the commit, and not synced), the mirror's pages are read and the
/// record whose database checksum they have is the true one. If neither fits, somebody else wrote
/// into the mirror: it has no position then, and takes a whole state from the bucket.
package actor Mirror {
    /// How a mirror waits, and how much it takes at once.
    package struct Options: Sendable {
        /// How long new readers are kept out while an apply waits for the old ones.
        package var exclusionBout = Duration.milliseconds(500)
        /// How long they are let in before it tries again, unless all are gone earlier.
        package var pauseBetweenBouts = Duration.seconds(1)
        /// Files that go into one apply at most.
        package var filesPerApply = 64
        /// Bytes of files that go into one apply at most, if it is more than one.
        package var bytesPerApply: Int64 = 32 << 20
        /// The wall clock, milliseconds since 1970.
        package var now: @Sendable () -> Int64 = WallClock.now
        /// Told when the mirror begins or ends to differ from its source; must not wait.
        package var divergenceChanged: @Sendable () -> Void = {}

        package init() {}
    }

    private nonisolated let executor: SerialThreadExecutor
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// The database file.
    package nonisolated let path: String
    package nonisolated let bucket: DirectoryBucket
    nonisolated let options: Options
    nonisolated let board = MirrorBoard()

    var file: MirrorFile?
    var record = MirrorRecord()
    var ledger = PageLedger(pageSize: 4096)
    /// The newest sequence and the highest counter of any record, true or not.
    var lastSequence: UInt64 = 0
    var lastCounter: UInt32 = 0
    /// Whether `record` and `ledger` are known to be those of the file.
    var isSettled = false
    var isLedgerFileCurrent = false
    /// What the mirror holds is no state of the bucket.
    var mustRestart = false
    var isAnchorChecked = false
    /// What writers said the checksum is at TXIDs that are not applied yet.
    var expectations: [TXID: Checksum] = [:]
    /// Lines in the file of them.
    private var expectationLines = 0
    /// Files of level 0 that were announced and are not applied yet, by their first TXID.
    var announced: [TXID: BucketFile] = [:]
    var mustList = true
    private var sample: (query: String, sequence: UInt64, answer: NewestSample)?

    private var isBusy = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Names a mirror; nothing is opened before the first call that needs it.
    ///
    /// - Parameters:
    ///   - path: The database file, made if it is missing. One mirror a file in a process.
    ///   - bucket: What it follows.
    ///   - executor: The thread it works and blocks on; others may share it.
    ///   - options: How it waits, and how much it takes at once.
    package init(
        path: String,
        bucket: DirectoryBucket,
        executor: SerialThreadExecutor,
        options: Options = Options()
    ) {
        self.path = path
        self.bucket = bucket
        self.executor = executor
        self.options = options
    }

    // MARK: Status

    /// What the mirror holds and lacks; never waits for an apply.
    package nonisolated var status: MirrorStatus { board.status }

    /// The page checksums of the state at a TXID, the newest for `nil`; `nil` when the mirror holds
    /// another one.
    package func ledger(at txid: TXID? = nil) -> PageLedger? {
        guard isSettled, !mustRestart, record.txid > .zero else { return nil }
        return txid == nil || txid == record.txid ? ledger : nil
    }

    /// Runs a query on the mirror that asks for its newest sample.
    ///
    /// The answer is kept until the mirror changes.
    ///
    /// - Parameter query: One SELECT whose first column is a time.
    /// - Returns: The time, or why there is none.
    package func newestSample(_ query: String) -> NewestSample {
        if let sample, sample.query == query, sample.sequence == record.sequence {
            return sample.answer
        }
        let answer = NewestSample(of: path, query)
        // A failure, such as a lock, may be over the next time.
        if answer.note == nil { sample = (query, record.sequence, answer) }
        return answer
    }

    // MARK: Following the bucket

    /// Says that the bucket has changed; never waits.
    ///
    /// - Parameter file: What came, so that nobody has to list the bucket for it.
    package nonisolated func wake(_ file: BucketFile? = nil) {
        board.announce(file)
    }

    /// Says what the writer's checksum of its database is at a TXID, before or after that is
    /// applied.
    ///
    /// Where the mirror's differs it stops applying, until a rebase.
    package func expect(_ checksum: Checksum, at txid: TXID) throws {
        guard checksum.isPresent else { return }
        if !isSettled || txid > record.txid || mustRestart {
            expectations[txid] = checksum
            note(checksum, at: txid)
            // A writer far ahead must not fill the memory; the newest ones matter.
            if expectations.count > 1024, let least = expectations.keys.min() {
                expectations[least] = nil
            }
        } else if txid == record.txid, checksum != ledger.checksum, !record.isDiverged {
            var next = record
            next.isDiverged = true
            next.expected = checksum
            try save(next)
        }
    }

    /// Says that the bucket's history was replaced: the mirror takes its state as a whole.
    package func restart() {
        mustRestart = true
        // What was said was said of that history.
        expectations = [:]
        dropExpectations()
        board.announce(nil)
    }

    /// Applies what the bucket has beyond the mirror, to its head.
    ///
    /// - Parameter limit: The longest wait for readers of the mirror; `nil` waits until cancelled.
    /// - Throws: `MirrorError`, `BucketError`, `CancellationError`; the mirror stays at the last
    ///   whole state.
    package func advance(within limit: Duration? = nil) async throws {
        mustList = true
        try await advance(until: limit.map { ContinuousClock.now + $0 })
    }

    /// Lists the bucket only if what was announced does not lead on.
    private func advance(until deadline: Deadline?) async throws {
        try await exclusively { try await self.catchUp(until: deadline) }
    }

    /// Follows the bucket until the task is cancelled, once in a mirror's life: each `wake` advances,
    /// and failures are tried again after a while.
    package func run() async {
        var delay = Duration.seconds(1)
        var retry: Task<Void, any Error>?
        defer { retry?.cancel() }
        for await _ in board.wakes {
            retry?.cancel()
            do {
                try await advance(until: nil)
                delay = .seconds(1)
            } catch {
                if Task.isCancelled { return }
                let pause = delay
                retry = Task { [board] in
                    try await Task.sleep(for: pause)
                    board.announce(nil)
                }
                delay = min(delay * 2, .seconds(30))
            }
        }
    }

    /// Finds out what the mirror holds, rolling back what a kill left half-way.
    ///
    /// Every other call does this too.
    ///
    /// - Parameter limit: The longest wait for others' locks; `nil` waits until cancelled.
    /// - Throws: `MirrorError`, `FileError`, `CancellationError`.
    package func open(within limit: Duration? = nil) async throws {
        let deadline = limit.map { ContinuousClock.now + $0 }
        try await exclusively {
            if !self.isSettled { try await self.settle(until: deadline) }
        }
    }

    /// Closes the file.
    ///
    /// The next call opens it again. No connection of this process may be in the middle of reading
    /// the mirror by itself.
    package func close() async {
        try? await exclusively {
            self.file = nil
            self.isSettled = false
        }
    }

    // MARK: Shared by the parts

    /// Runs one after the other what waits in its middle.
    func exclusively<R: Sendable>(_ body: () async throws -> R) async throws -> R {
        while isBusy {
            await withCheckedContinuation { waiting.append($0) }
        }
        isBusy = true
        defer {
            isBusy = false
            if !waiting.isEmpty { waiting.removeFirst().resume() }
        }
        return try await body()
    }

    /// Replaces the record of the state as it is.
    func save(_ next: MirrorRecord) throws {
        var next = next
        lastSequence += 1
        next.sequence = lastSequence
        try records.save(next, keeping: record)
        record = next
        publish()
    }

    // MARK: What writers said, on disk

    private var expectationFile: ExpectationFile { ExpectationFile(path: path + "-expected") }

    /// Most are applied the next moment, but a mirror that lags may be started anew before.
    private func note(_ checksum: Checksum, at txid: TXID) {
        // Nobody can have said so much in vain.
        if expectationLines > 4096 { try? expectationFile.remove() }
        expectationLines = expectationLines > 4096 ? 1 : expectationLines + 1
        // What cannot be noted is known until the end of the process, and the next push says more.
        try? expectationFile.add(checksum, at: txid)
    }

    /// Takes up what was said to an earlier process.
    func loadExpectations() {
        guard let noted = try? expectationFile.load(), !noted.isEmpty else { return }
        expectationLines = max(expectationLines, noted.count)
        expectations.merge(noted.filter { $0.key > record.txid }) { known, _ in known }
        dropExpectations()
    }

    /// Removes the file once all of it is over.
    func dropExpectations() {
        guard expectations.isEmpty, expectationLines > 0 else { return }
        try? expectationFile.remove()
        expectationLines = 0
    }

    var records: MirrorRecordFile { MirrorRecordFile(path: path + "-position") }
    var ledgerFile: LedgerFile { LedgerFile(path: path + "-ledger") }

    /// Puts on the board what the mirror holds now.
    func publish() {
        let (record, mustRestart) = (record, mustRestart)
        let wasDiverged = status.divergence != nil
        board.update { status in
            status.appliedTXID = record.txid
            status.timestamp = record.timestamp
            status.appliedAt = record.appliedAt == 0 ? nil : record.appliedAt
            status.writer = record.writer
            status.pageSize = record.commit == 0 ? 0 : record.pageSize
            status.commit = record.commit
            status.checksum = record.txid == .zero ? .none : record.checksum
            status.mustRestart = mustRestart
            status.divergence =
                record.isDiverged
                ? MirrorStatus.Divergence(
                    txid: record.txid,
                    expected: record.expected,
                    actual: record.checksum
                ) : nil
        }
        if wasDiverged != record.isDiverged { options.divergenceChanged() }
    }
}
