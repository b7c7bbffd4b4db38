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
    /// Bytes of the WAL when the cursor was saved, and now.
    public var savedSize: Int64
    public var size: Int64
    /// The frame before the cursor carries the cursor's salts and checksum.
    public var holdsCursor: Bool
    /// A valid frame of the old chain stands at the cursor: something was appended unseen.
    public var continuesChain: Bool
    /// Frames of the header's generation that are written, committed or not.
    public var framesWritten: UInt32
    /// A read transaction of ours has been open since the moment the WAL had this many frames of
    /// the cursor's generation.
    ///
    /// While it is, at most one restart can happen: a reader of the WAL keeps it from restarting,
    /// and a reader of the database file keeps the next generation from being copied back. So a
    /// restart happened at exactly this frame.
    public var pinnedFrames: UInt32?
    /// The change counter's way since the cursor; `nil` where it is no proof (a relaunch).
    public var commitsCounted: UInt32?
    /// Commits that the header's generation holds.
    public var commitsSeen: UInt32

    public init(
        header: Header,
        cursor: WALCursor,
        savedSize: Int64 = 0,
        size: Int64 = 0,
        holdsCursor: Bool = false,
        continuesChain: Bool = false,
        framesWritten: UInt32 = 0,
        pinnedFrames: UInt32? = nil,
        commitsCounted: UInt32? = nil,
        commitsSeen: UInt32 = 0
    ) {
        self.header = header
        self.cursor = cursor
        self.savedSize = savedSize
        self.size = size
        self.holdsCursor = holdsCursor
        self.continuesChain = continuesChain
        self.framesWritten = framesWritten
        self.pinnedFrames = pinnedFrames
        self.commitsCounted = commitsCounted
        self.commitsSeen = commitsSeen
    }
}

/// What shows that a restart of the WAL cost nothing.
public enum RestartProof: String, Sendable, CaseIterable {
    /// As many commits were counted as are in the new generation.
    case count
    /// The new generation is shorter than the old, whose end still stands in the file.
    case leftovers
    /// Our read transaction allowed this one restart, at the cursor.
    case pin
}

/// Where a sync goes on.
public enum CustodyDecision: Equatable, Sendable {
    /// At the cursor.
    case resume
    /// At the first frame of the new generation: nothing was missed.
    case restarted(RestartProof)
    /// At the cursor, through what is left of the old generation, then from the first frame.
    case restartedWithLeftovers
    case lost(LostPlace)

    /// The order is that of DESIGN §4.3: the same generation, one provable restart, or lost.
    public init(_ evidence: WALEvidence) {
        let cursor = evidence.cursor
        switch evidence.header {
        case .missing: self = .lost(.walMissing)
        case .empty: self = .lost(.walTruncated)
        case .unreadable: self = .lost(.walUnreadable)
        case .valid(cursor.salt, cursor.sequence):
            guard evidence.size >= cursor.offset else {
                self = .lost(.walTruncated)
                return
            }
            self = evidence.holdsCursor ? .resume : .lost(.cursorOverwritten)
        case .valid(let salt, let sequence):
            guard salt.salt1 == cursor.salt.salt1 &+ 1, sequence == cursor.sequence &+ 1 else {
                self = .lost(.restartedRepeatedly)
                return
            }
            self = Self.oneRestart(evidence)
        }
    }

    private static func oneRestart(_ evidence: WALEvidence) -> CustodyDecision {
        let consumed = evidence.cursor.nextFrame - 1
        if let pinned = evidence.pinnedFrames, pinned <= consumed { return .restarted(.pin) }
        if let counted = evidence.commitsCounted, counted == evidence.commitsSeen {
            return .restarted(.count)
        }
        // From here on the old generation must still show its end. A new one that has reached
        // the cursor has overwritten whatever stood there.
        guard evidence.framesWritten < evidence.cursor.nextFrame, evidence.holdsCursor else {
            return .lost(.restartedPastCursor)
        }
        if evidence.continuesChain { return .restartedWithLeftovers }
        // A file that ends at the cursor may have been cut there (journal_size_limit) after more
        // had been appended, unless it was no longer when the cursor was saved.
        if evidence.size <= evidence.cursor.offset, evidence.size != evidence.savedSize {
            return .lost(.walTruncated)
        }
        return .restarted(.leftovers)
    }
}

/// What is known when the last place was a database at rest: no WAL, or an empty one.
public struct RestEvidence: Equatable, Sendable {
    public var header: WALEvidence.Header
    /// Neither file was changed since.
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
            self = evidence.isUntouched ? .resume : .lost(.walMissing)
        case .unreadable:
            self = .lost(.walUnreadable)
        case .valid:
            if evidence.isPinned {
                self = .restarted(.pin)
            } else if let counted = evidence.commitsCounted, counted == evidence.commitsSeen {
                self = .restarted(.count)
            } else {
                self = .lost(.walAppeared)
            }
        }
    }
}
