public import SQLiteWAL

/// What is known about a WAL when a sync begins, and what it proves.
///
/// A fact sheet without I/O: `CustodyDecision(_:)` is the whole rule, and a table tests it.
public struct WALEvidence: Equatable, Sendable {
    /// What the file starts with now.
    public enum Header: Equatable, Sendable {
        /// There is no `-wal` file.
        case missing
        /// It is shorter than a header.
        case empty
        /// Its header fails its checksum or has impossible values.
        case unreadable
        case valid(salt: WALSalt, sequence: UInt32)
    }

    public var header: Header
    public var cursor: WALCursor
    /// Bytes of the WAL now.
    public var size: Int64
    /// The frame before the cursor carries the cursor's salts and checksum.
    public var holdsCursor: Bool
    /// A valid frame of the old chain stands at the cursor: something was appended unseen.
    public var continuesChain: Bool
    /// Frames of the header's generation that are written, committed or not.
    public var framesWritten: UInt32
    /// The wal-index knows of no frame either: SQLite itself emptied the WAL.
    public var indexIsEmpty: Bool
    /// A read transaction of ours has been open since the moment the WAL had this many frames of
    /// the cursor's generation.
    ///
    /// While it is, no commit leaves the WAL: a reader of the WAL keeps it from restarting, and a
    /// reader of the database file keeps what comes after its frame from being copied back. So
    /// if there was a restart it happened at exactly this frame.
    public var pinnedFrames: UInt32?
    /// The database file held all up to the cursor and nothing more, and was not written since: so
    /// every later commit is still in the WAL.
    public var isUntouched: Bool
    /// The change counter's way since the cursor; `nil` where it is no proof (a relaunch).
    public var commitsCounted: UInt32?
    /// Commits that the header's generation holds.
    public var commitsSeen: UInt32

    public init(
        header: Header,
        cursor: WALCursor,
        size: Int64 = 0,
        holdsCursor: Bool = false,
        continuesChain: Bool = false,
        framesWritten: UInt32 = 0,
        indexIsEmpty: Bool = false,
        pinnedFrames: UInt32? = nil,
        isUntouched: Bool = false,
        commitsCounted: UInt32? = nil,
        commitsSeen: UInt32 = 0
    ) {
        self.header = header
        self.isUntouched = isUntouched
        self.indexIsEmpty = indexIsEmpty
        self.cursor = cursor
        self.size = size
        self.holdsCursor = holdsCursor
        self.continuesChain = continuesChain
        self.framesWritten = framesWritten
        self.pinnedFrames = pinnedFrames
        self.commitsCounted = commitsCounted
        self.commitsSeen = commitsSeen
    }
}

/// What shows that a restart of the WAL, or its end, cost nothing.
///
/// The raw values are stable: they stand in journals and tests.
public enum RestartProof: String, Sendable, CaseIterable {
    /// As many commits were counted as are in the new generation.
    case count
    /// The new generation is shorter than the old, whose end still stands in the file.
    case leftovers
    /// Our read transaction kept every commit in the WAL, and it began at the cursor.
    case pin
    /// The database file was not written since the place, so every commit is still in the WAL.
    case untouched
}

/// Where a sync goes on.
public enum CustodyDecision: Equatable, Sendable {
    /// At the cursor.
    case resume
    /// At the first frame of the new generation: nothing was missed.
    case restarted(RestartProof)
    /// At the cursor, through what is left of the old generation, then from the first frame.
    case restartedWithLeftovers
    /// Nowhere: the WAL was emptied after its last frame had been read.
    case emptied(RestartProof)
    case lost(LostPlace)

    /// In this order: the same generation, a provable restart, or lost.
    ///
    /// The count and the pin speak of commits, not of generations: they hold for any number of
    /// restarts, and for the salts that a connection draws by lot after a foreign TRUNCATE. The
    /// leftovers hold for one restart only.
    public init(_ evidence: WALEvidence) {
        let cursor = evidence.cursor
        switch evidence.header {
        case .missing: self = Self.emptied(evidence) ?? .lost(.walMissing)
        case .empty: self = Self.emptied(evidence) ?? .lost(.walTruncated)
        case .unreadable: self = .lost(.walUnreadable)
        case .valid(cursor.salt, cursor.sequence):
            guard evidence.size >= cursor.offset else {
                self = .lost(.walTruncated)
                return
            }
            self = evidence.holdsCursor ? .resume : .lost(.cursorOverwritten)
        case .valid(let salt, let sequence):
            if let proof = Self.proof(evidence) {
                self = .restarted(proof)
            } else if salt.salt1 == cursor.salt.salt1 &+ 1, sequence != 0 {
                self = Self.oneRestart(evidence)
            } else {
                self = .lost(.restartedRepeatedly)
            }
        }
    }

    /// What shows that every commit since the cursor is in the generation that is there now.
    private static func proof(_ evidence: WALEvidence) -> RestartProof? {
        if evidence.pinnedFrames == evidence.cursor.nextFrame - 1 { return .pin }
        if evidence.commitsCounted == evidence.commitsSeen { return .count }
        return evidence.isUntouched ? .untouched : nil
    }

    private static func emptied(_ evidence: WALEvidence) -> CustodyDecision? {
        guard evidence.indexIsEmpty else { return nil }
        return proof(evidence).map { .emptied($0) }
    }

    private static func oneRestart(_ evidence: WALEvidence) -> CustodyDecision {
        // From here on the old generation must still show its end. A new one that has reached
        // the cursor has overwritten whatever stood there.
        guard evidence.framesWritten < evidence.cursor.nextFrame, evidence.holdsCursor else {
            return .lost(.restartedPastCursor)
        }
        if evidence.continuesChain { return .restartedWithLeftovers }
        // A file that ends before a whole frame could stand there may have been cut after more
        // had been appended. That it was no longer when the cursor was saved would prove nothing:
        // journal_size_limit cuts at the same place after each restart.
        let frameSize = Int64(WALFrameHeader.size) + Int64(evidence.cursor.pageSize)
        return evidence.size - evidence.cursor.offset < frameSize
            ? .lost(.walTruncated) : .restarted(.leftovers)
    }
}

/// What is known when the last place was a database at rest: no WAL, or an empty one.
public struct RestEvidence: Equatable, Sendable {
    public var header: WALEvidence.Header
    /// The database file was not changed since, so nothing was copied back into it.
    public var isUntouched: Bool
    /// A read transaction of ours has been open since, so no commit has left the WAL.
    public var isPinned: Bool
    public var commitsCounted: UInt32?
    public var commitsSeen: UInt32

    public init(
        header: WALEvidence.Header,
        isUntouched: Bool,
        isPinned: Bool = false,
        commitsCounted: UInt32? = nil,
        commitsSeen: UInt32 = 0
    ) {
        self.header = header
        self.isUntouched = isUntouched
        self.isPinned = isPinned
        self.commitsCounted = commitsCounted
        self.commitsSeen = commitsSeen
    }
}

extension CustodyDecision {
    /// Where to go on from a database at rest; `resume` means that nothing happened.
    public init(_ evidence: RestEvidence) {
        switch evidence.header {
        case .missing, .empty:
            let isProved =
                evidence.isUntouched || evidence.isPinned || evidence.commitsCounted == 0
            self = isProved ? .resume : .lost(.walMissing)
        case .unreadable:
            self = .lost(.walUnreadable)
        case .valid:
            if evidence.isPinned {
                self = .restarted(.pin)
            } else if evidence.commitsCounted == evidence.commitsSeen {
                self = .restarted(.count)
            } else if evidence.isUntouched {
                self = .restarted(.untouched)
            } else {
                self = .lost(.walAppeared)
            }
        }
    }
}
