public import LTXCodec
public import SQLiteBridge

/// What a sync did.
public struct SyncReport: Sendable {
    public var kind: SyncKind = .nothing
    /// What showed that a restart of the WAL cost nothing, when there was one.
    public var proof: RestartProof?
    /// The newest local TXID after it.
    public var txid: TXID = .zero
    /// Pages in the file it made, and the file's size.
    public var pages = 0
    public var bytes: Int64 = 0
    /// Pages whose checksum was compared, by a rescan.
    public var pagesCompared = 0
    /// Database size in pages.
    public var commit: UInt32 = 0

    public init() {}
}

/// What a sealed checkpoint did.
public struct CheckpointReport: Sendable {
    public var result: CheckpointResult
    /// Passive passes under the write lock.
    public var tries: Int
    /// How long the write lock took to get, and how long it was held: writers waited that long.
    public var lockWait: Duration
    public var lockHeld: Duration
}

/// A whole-database upload.
public struct IngestReport: Sendable {
    /// The TXID at which the image is the database.
    public var txid: TXID
    /// Bytes of the compressed image.
    public var bytes: Int64
    /// Why it failed; `nil` after a success.
    public var failure: String?
}

/// What was found and made outside of a push.
public struct Findings: Sendable {
    /// What was set aside or repaired on the way, a line each.
    public var notes: [String] = []
    /// The syncs that made something, or crossed a restart of the WAL.
    public var syncs: [SyncReport] = []
    /// What was handed over to the transfer service.
    public var handover: HandoverReport?
    /// The newest local TXID after that.
    public var txid: TXID = .zero

    public init() {}

    mutating func add(_ sync: SyncReport) {
        if sync.kind != .nothing || sync.proof != nil { syncs.append(sync) }
    }

    mutating func add(_ more: HandoverReport?) {
        guard var more, more.files > 0 else { return }
        more.files += handover?.files ?? 0
        more.bytes += handover?.bytes ?? 0
        handover = more
    }
}

/// What a push did with the transfer service.
public struct HandoverReport: Sendable {
    /// Why nothing was uploaded by this process.
    public enum Cause: String, Sendable {
        /// That was asked for.
        case asked
        /// The transfer service is at work on this destination.
        case transferAtWork = "transfer-at-work"
    }

    public var cause: Cause
    /// The process that had the destination's lock.
    public var holder: Int32?
    /// Files that were handed over by this push.
    public var files = 0
    public var bytes: Int64 = 0

    public init(cause: Cause, holder: Int32? = nil) {
        self.cause = cause
        self.holder = holder
    }
}

/// What a receipt of the transfer service came to.
public struct ReceiptReport: Hashable, Sendable {
    public var txid: TXID
    /// `stored`, `retryable`, `conflict` or `unavailable`.
    public var outcome: String
    public var reason: String?
    public var detail: String
    /// The bucket was asked and has the file at its head; until then nothing is acknowledged.
    public var isConfirmed: Bool
}

/// One push: what happened, why, and what is still owed.
///
/// There is one for every push, also for one that failed or found nothing.
public struct PushRecord: Sendable {
    /// Counts the pushes of a process, from 1.
    public var id: UInt64 = 0
    public var outcome: PushOutcome = .inSync(verified: false)
    public var streak = RetryStreak()
    public var lineage = ""
    /// The syncs that made something, or else the last one.
    public var syncs: [SyncReport] = []
    public var checkpoint: CheckpointReport?
    /// What was found wrong with the bucket before the first append, if anything.
    public var lineageFinding: LineageFinding?
    /// The newest local TXID, and the newest that the bucket is known to hold.
    public var txid: TXID = .zero
    public var remoteTXID: TXID = .zero
    /// What this push shipped.
    public var files = 0
    public var bytes: Int64 = 0
    public var pages = 0
    /// Files made and not yet accepted.
    public var backlogFiles = 0
    public var backlogBytes: Int64 = 0
    public var walBytes: Int64 = 0
    /// A commit stands in the WAL that the wal-index did not count yet.
    ///
    /// SQLite writes a commit into the file first and into the index after, and only the first can
    /// be watched: whoever was woken by it must look again, soon.
    public var isCommitPending = false
    public var databaseBytes: Int64 = 0
    public var duration: Duration = .zero
    /// A failed push moved nevertheless: the bucket holds more bytes of what waits than before.
    public var moved = false
    /// When the server wants to be asked again, where it said so.
    public var retryAfter: Duration?
    /// The whole-database upload that this push fell back to.
    public var ingest: IngestReport?
    /// What was handed over to the transfer service, where that was to be done.
    public var handover: HandoverReport?
    /// What the transfer service has left to read.
    public var receipts: [ReceiptReport] = []
    /// What was done about files that no bucket took.
    public var backlogEvents: [BacklogEvent] = []
    /// What was set aside or repaired on the way, a line each.
    public var notes: [String] = []

    public init() {}

    /// Takes over what was found outside of it; what was handed over then is not this push's.
    mutating func add(_ findings: Findings) {
        notes += findings.notes
        syncs += findings.syncs
    }

    /// The sync that says most: a snapshot before a rescan before a plain one.
    public var kind: SyncKind {
        let kinds = syncs.map(\.kind)
        for kind in kinds { if case .snapshot = kind { return kind } }
        for kind in kinds { if case .rescan = kind { return kind } }
        return kinds.contains(.wal) ? .wal : .nothing
    }
}
