import DurableFiles
import LTXCodec
import SQLiteBridge
import SQLiteWAL

/// The connections, descriptors and locks by which a replicator watches one WAL.
///
/// It knows how to look and how to hold; what to make of it is `CustodyDecision`'s. Not
/// `Sendable`: it lives on the replicator's thread.
final class WALCustody {
    let files: DatabaseFiles
    let pageSize: UInt32
    let pinMode: PinMode

    /// Takes the write lock, and nothing else, so that its transaction is always empty.
    private let writeLock: Connection
    /// Two, so that a pin can be taken before the old one is let go.
    private let readers: [Connection]
    private var pin: Pin?
    /// The change counter at the cursor; `nil` until this process has seen both at once.
    private var counterAtCursor: UInt32?
    /// The generation as the newest evidence has read it.
    private var scanned: (header: WALHeader, scan: WALScan)?
    /// The place is at rest, and the pin is at least as old.
    private var restIsPinned = false
    /// There was no `-wal` before our own connections made one, and nobody has written since.
    private var walWasMissing: Bool
    /// The `-wal` that our connections have open.
    private let walIdentity: FileIdentity?

    /// A read transaction of ours, and what the WAL held when it began.
    private struct Pin {
        var reader: Int
        var salt: WALSalt?
        var frames: UInt32
        /// There was no WAL header: whatever is committed from now on stays in the WAL.
        var wasAtRest: Bool
        /// All of the WAL was copied back: the transaction reads the file alone, and as long as
        /// it is open nothing is copied into that.
        var isOnFile: Bool
    }

    /// What the WAL and its index look like at one moment.
    struct View {
        var header: WALHeader?
        var isUnreadable = false
        var exists: Bool
        var size: Int64
        var index: WALIndexHeader?

        /// The index speaks of the generation that stands in the file.
        ///
        /// Between a restart and the first frame of the new generation it does not, and then the
        /// file is the old generation's still.
        var indexMatches: Bool { header != nil && index?.salt == header?.salt }
    }

    /// Opens a WAL-mode database.
    ///
    /// - Throws: `DatabaseFault` for a database that cannot be replicated, `SQLiteError`,
    ///   `FileError`.
    init(path: String, pin pinMode: PinMode) throws {
        try DatabaseFault.check(path)
        walWasMissing = try FileStatus.of(Path.canonical(path) + "-wal") == nil
        writeLock = try Connection(path: path)
        readers = [try Connection(path: path), try Connection(path: path)]
        files = writeLock.files
        self.pinMode = pinMode
        pageSize = try DatabaseFault.checkOpened(writeLock)
        walIdentity = try FileStatus.of(files.walPath)?.identity
        // The first read makes the -wal and the -shm, or recovers them.
        try takePin(on: 0)
        if pinMode == .yield { try releasePin() }
    }

    /// Ends the pin and closes; the WAL stays as it is.
    func close() {
        pin = nil
        for connection in readers + [writeLock] { try? connection.close() }
    }

    // MARK: Looking

    /// Reads WAL frames; every read goes through the one raw descriptor.
    var wal: WALReader {
        let files = files
        return WALReader { offset, buffer in try files.readWAL(at: offset, into: buffer) }
    }

    /// Looks at the file and its index.
    ///
    /// - Throws: `DatabaseFault.lostWAL` where the index counts frames and the file has none.
    func look() throws -> View {
        scanned = nil
        for _ in 0..<100 {
            let view = try glance()
            if view.header != nil { walWasMissing = false }
            guard view.header == nil, let index = view.index, index.maxFrame > 0 else {
                return view
            }
            // Emptied between the two reads, or else by somebody who is not SQLite.
            Duration.microseconds(20).pauseThread()
        }
        throw DatabaseFault.lostWAL(path: files.walPath)
    }

    private func glance() throws -> View {
        guard let size = try files.refreshWAL() else {
            return View(exists: false, size: 0, index: try readIndex())
        }
        // The index first: what it counts is then in the file.
        var view = View(exists: true, size: size, index: try readIndex())
        do {
            view.header = try wal.header()
            if view.header == nil { view.exists = !walWasMissing }
        } catch is WALError {
            view.isUnreadable = true
        }
        return view
    }

    /// Whether the paths still lead to the files that our connections have open.
    ///
    /// SQLite deletes no WAL while somebody has it open.
    func isInPlace() throws -> Bool {
        guard try files.isInPlace() else { return false }
        return try FileStatus.of(files.walPath)?.identity == walIdentity
    }

    /// Whether the file ends before the frames that its index counts: somebody has cut it.
    ///
    /// Until the last connection lets go of that index nobody can read the database.
    func isCut() throws -> Bool {
        // What a checkpoint empties has two sizes for a moment.
        for _ in 0..<3 {
            guard let index = try readIndex(), index.maxFrame > 0 else { return false }
            let frame = Int64(WALFrameHeader.size) + Int64(pageSize)
            let needed = Int64(WALHeader.size) + Int64(index.maxFrame) * frame
            if try files.refreshWAL() ?? 0 >= needed { return false }
            Duration.milliseconds(1).pauseThread()
        }
        return true
    }

    /// Whether the file still begins with the header of a view: no frame was overwritten since.
    ///
    /// A restart writes the header before any frame.
    func isUnchanged(since view: View) throws -> Bool {
        do {
            return try wal.header() == view.header
        } catch is WALError {
            return view.isUnreadable
        }
    }

    /// The index's two copies are read until they agree, which a writer may hold up for a moment.
    private func readIndex() throws -> WALIndexHeader? {
        for _ in 0..<100 {
            let header = try withUnsafeTemporaryAllocation(
                byteCount: WALIndexHeader.size,
                alignment: 8
            ) { buffer -> WALIndexHeader? in
                guard try files.readWALIndex(at: 0, into: buffer) == buffer.count else {
                    return nil
                }
                return WALIndexHeader.read(from: UnsafeRawBufferPointer(buffer))
            }
            if let header { return header }
            Duration.microseconds(20).pauseThread()
        }
        return nil
    }

    /// Collects what is known about the way from a cursor to what a view shows.
    ///
    /// - Parameters:
    ///   - cursor: The place.
    ///   - isUntouched: See `WALEvidence`.
    ///   - view: What was looked at.
    /// - Returns: The facts.
    /// - Throws: `FileError`.
    func evidence(
        _ cursor: WALCursor,
        isUntouched: Bool,
        in view: View
    ) throws -> WALEvidence {
        var evidence = WALEvidence(header: view.evidence, cursor: cursor, size: view.size)
        evidence.isUntouched = isUntouched
        evidence.indexIsEmpty = view.index?.maxFrame == 0
        evidence.commitsCounted = counted(in: view)
        if let pin, pin.salt == cursor.salt { evidence.pinnedFrames = pin.frames }
        guard let header = view.header else { return evidence }
        guard header.salt != cursor.salt || header.sequence != cursor.sequence else {
            evidence.holdsCursor = try wal.holds(cursor)
            return evidence
        }
        // In this order: a new generation overwrites frames from the first on, so what stood at
        // the cursor was the old one's if the frame before it still is afterwards.
        evidence.continuesChain = try wal.continues(cursor)
        evidence.holdsCursor = try wal.holds(cursor)
        let seen = try commits(of: header, in: view)
        evidence.commitsSeen = seen.commits
        evidence.framesWritten = seen.framesWritten
        return evidence
    }

    /// Collects what is known about the way from a database at rest to what a view shows.
    func restEvidence(in view: View, isUntouched: Bool) throws -> RestEvidence {
        var evidence = RestEvidence(header: view.evidence, isUntouched: isUntouched)
        evidence.isPinned = pin?.wasAtRest == true && restIsPinned
        evidence.commitsCounted = counted(in: view)
        if let header = view.header {
            evidence.commitsSeen = try commits(of: header, in: view).commits
        }
        return evidence
    }

    private func counted(in view: View) -> UInt32? {
        guard let index = view.index, let counterAtCursor else { return nil }
        // The counter must speak of what the file shows.
        guard view.header == nil ? index.maxFrame == 0 : view.indexMatches else { return nil }
        return index.changeCounter &- counterAtCursor
    }

    /// How many commits of the file's generation the index knows, and how far it is written.
    private func commits(
        of header: WALHeader,
        in view: View
    ) throws -> (commits: UInt32, framesWritten: UInt32) {
        let last = view.indexMatches ? view.index?.maxFrame ?? .max : .max
        var commits: UInt32 = 0
        let scan = try wal.scan(from: .start(of: header)) { transaction in
            if transaction.end.nextFrame - 1 <= last { commits += 1 }
        }
        scanned = (header, scan)
        return (commits, UInt32(clamping: scan.validFrames))
    }

    /// Reads a view's generation from its first frame to the last one that may be read.
    ///
    /// What the evidence about the same view has read already is not read again.
    ///
    /// - Parameters:
    ///   - start: The start of the generation.
    ///   - view: What was looked at.
    /// - Returns: What lies there.
    /// - Throws: `WALError`, `FileError`.
    func scanGeneration(from start: WALCursor, in view: View) throws -> WALScan {
        let known = scanned
        scanned = nil
        // Whatever was committed since then is for another view.
        if let known, known.header == view.header, known.scan.commits > 0,
            known.scan.end.nextFrame - 1 <= view.lastFrame
        {
            return known.scan
        }
        return try wal.scan(from: start, through: view.lastFrame)
    }

    /// Ties the change counter to a place that a view has just reached.
    ///
    /// - Parameters:
    ///   - frames: Frames read of the view's generation; 0 at rest.
    ///   - view: What was looked at.
    func reached(frames: UInt32, in view: View) {
        restIsPinned = view.header == nil && pin?.wasAtRest == true
        counterAtCursor = nil
        guard let index = view.index else { return }
        // A restart whose header is not written yet: the file's generation is read to its end.
        let isEndOfOld = view.header != nil && !view.indexMatches && index.maxFrame == 0
        let isAtFrames =
            (view.header == nil || view.indexMatches) && index.maxFrame == frames
        if isEndOfOld || isAtFrames { counterAtCursor = index.changeCounter }
    }

    /// The database as a read transaction of ours sees it now, or as it was at an earlier frame.
    ///
    /// Works under a guard or pin of any age: whatever that transaction keeps out of the database
    /// file is in the WAL, and pages of the WAL come before pages of the file.
    ///
    /// - Parameter lastFrame: The last frame to count of the WAL's present generation; it ends a
    ///   transaction. Not before the age of the guard.
    /// - Returns: The pages; they stay readable while the guard is held.
    /// - Throws: `DatabaseFault`, `SQLiteError`, `FileError`.
    func source(through lastFrame: UInt32 = .max) throws -> SourcePages {
        let view = try look()
        if let header = view.header, view.indexMatches, let index = view.index, index.maxFrame > 0 {
            let last = min(lastFrame, index.maxFrame)
            let scan = try wal.scan(from: .start(of: header), through: last)
            guard scan.end.nextFrame - 1 == last else {
                throw DatabaseFault.damagedWAL(path: files.walPath, frame: scan.end.nextFrame)
            }
            return SourcePages(
                custody: self,
                view: view,
                commit: scan.end.commit,
                map: scan.pages,
                end: scan.end
            )
        }
        let pages = try readers[pin?.reader ?? 0].value("PRAGMA page_count")?.integer ?? 0
        let commit = UInt32(clamping: pages)
        // All is in the file. The next frame is the first of the generation, if there is one; or
        // it comes after a restart that has not written its header yet, behind a whole old one.
        var end = view.header.map { WALCursor.start(of: $0, commit: commit) }
        if let start = end, !view.indexMatches {
            end = try wal.scan(from: start).end
            end?.commit = commit
        }
        return SourcePages(custody: self, view: view, commit: commit, map: WALPageMap(), end: end)
    }

    /// Whether a commit stands behind a cursor, be it in the index yet or not.
    func hasCommit(behind cursor: WALCursor) throws -> Bool {
        // One frame is read where nothing follows, which is nearly always.
        guard try wal.continues(cursor) else { return false }
        return try wal.scan(from: cursor).commits > 0
    }

    // MARK: Holding

    /// Runs a body while a read transaction of ours keeps what it reads in place.
    func whileReading<R>(_ body: () throws -> R) throws -> R {
        let began = try beginReading()
        defer { if began { endReading() } }
        return try body()
    }

    /// Begins a read transaction unless one is open, which with `hold` is always the case but
    /// after a checkpoint that failed half-way.
    ///
    /// - Returns: Whether `endReading` is owed.
    func beginReading() throws -> Bool {
        guard pin == nil else { return false }
        try takePin(on: 0)
        return pinMode == .yield
    }

    func endReading() {
        try? releasePin()
    }

    /// Whether the database file holds all up to a cursor, and nothing more since.
    func isSealed(at cursor: WALCursor) -> Bool {
        guard let pin, pin.isOnFile else { return false }
        return pin.salt == cursor.salt && pin.frames == cursor.nextFrame - 1
    }

    private func takePin(on reader: Int) throws {
        try readers[reader].beginRead()
        let view: View
        do {
            view = try look()
        } catch {
            try? readers[reader].endRead()
            throw error
        }
        pin = Pin(
            reader: reader,
            salt: view.index?.salt,
            frames: view.index?.maxFrame ?? .max,
            wasAtRest: view.header == nil,
            isOnFile: view.index.map { $0.backfilled == $0.maxFrame } ?? false
        )
    }

    private func releasePin() throws {
        guard let pin else { return }
        self.pin = nil
        // The next one is younger than the place.
        restIsPinned = false
        try readers[pin.reader].endRead()
    }

    /// Copies the WAL back and lets the next writer start it again, without a commit going unseen.
    ///
    /// Step by step as docs/custody.md has it; a kill at any point leaves evidence, never a wrong note.
    ///
    /// - Parameters:
    ///   - limits: How long to try.
    ///   - sync: Reads to the end of the WAL and saves the cursor durably.
    /// - Returns: What came of it.
    /// - Throws: `SQLiteError` with `isBusy` when the write lock was not to be had; what `sync`
    ///   throws.
    func sealedCheckpoint(
        _ limits: CheckpointLimits,
        sync: () throws -> Void
    ) throws -> CheckpointReport {
        // What is left to do under the lock should be little. The pin moves on to the end first:
        // at its old place it would keep the checkpoint back, and without one a foreign
        // checkpointer could finish a generation that is not read to its end.
        if pinMode == .hold { try movePin() }
        try sync()
        _ = try idleReader.checkpoint()

        let clock = ContinuousClock()
        let asked = clock.now
        try writeLock.beginImmediate(within: limits.lockWait)
        let locked = clock.now
        defer { try? writeLock.endRead() }
        try sync()
        try releasePin()
        var tries = 0
        var result: CheckpointResult
        repeat {
            if tries > 0 { limits.retryEvery.pauseThread() }
            result = try readers[0].checkpoint()
            tries += 1
        } while !result.isComplete && tries < limits.tries
        // Still under the lock, so that no writer gets between the seal and the pin.
        if pinMode == .hold { try takePin(on: 1) }
        try writeLock.endRead()
        return CheckpointReport(
            result: result,
            tries: tries,
            lockWait: locked - asked,
            lockHeld: clock.now - locked
        )
    }

    private var idleReader: Connection { readers[pin?.reader == 0 ? 1 : 0] }

    private func movePin() throws {
        let old = pin
        try takePin(on: old?.reader == 0 ? 1 : 0)
        if let old { try readers[old.reader].endRead() }
    }
}

extension WALCustody.View {
    var evidence: WALEvidence.Header {
        if !exists { return .missing }
        if isUnreadable { return .unreadable }
        guard let header else { return .empty }
        return .valid(salt: header.salt, sequence: header.sequence)
    }
}

/// Who may finish a checkpoint while nothing is being synced.
public enum PinMode: String, Sendable, CaseIterable {
    /// Nobody but the replicator: a read transaction stays open. For an application that leaves
    /// checkpoints to us; one that runs its own would wait out its busy timeout.
    case hold
    /// Anybody: nothing is held between syncs, and the place is kept by evidence.
    case yield
}

/// How long a sealed checkpoint tries.
public struct CheckpointLimits: Sendable {
    /// The longest wait for the write lock.
    public var lockWait: Duration = .milliseconds(500)
    /// Passive passes under the lock.
    ///
    /// A reader that comes or goes can leave one a frame short.
    public var tries = 20
    public var retryEvery: Duration = .microseconds(200)

    public init() {}
}
