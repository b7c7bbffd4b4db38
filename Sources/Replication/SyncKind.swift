/// How a sync found the pages it published.
public enum SyncKind: Hashable, Sendable, CustomStringConvertible {
    /// Nothing was new; no file was made.
    case nothing
    /// The frames behind the cursor.
    case wal
    /// The place was lost: every page was compared with the ledger, and those that differ shipped.
    case rescan(LostPlace)
    /// Every page was shipped.
    case snapshot(SnapshotReason)

    /// `none`, `wal`, `rescan` or `snapshot`, as records say it.
    public var name: String {
        switch self {
        case .nothing: "none"
        case .wal: "wal"
        case .rescan: "rescan"
        case .snapshot: "snapshot"
        }
    }

    /// The stable text of the reason, of a rescan or snapshot.
    public var reason: String? {
        switch self {
        case .nothing, .wal: nil
        case .rescan(let reason): reason.rawValue
        case .snapshot(let reason): reason.rawValue
        }
    }

    public var description: String { reason.map { "\(name) (\($0))" } ?? name }
}

/// Why it cannot be shown that nothing was missed since the cursor.
///
/// The raw values are stable: they stand in journals and tests.
public enum LostPlace: String, Sendable, CaseIterable {
    /// No place was saved, or it was another file's.
    case noPlace = "no-place"
    /// There is no `-wal` file: the last connection of an application that checkpoints closed.
    case walMissing = "wal-missing"
    /// The WAL holds nothing, or less than was read of it.
    case walTruncated = "wal-truncated"
    /// The WAL begins with bytes that are no valid header.
    case walUnreadable = "wal-unreadable"
    /// The WAL holds frames now, where it was empty.
    case walAppeared = "wal-appeared"
    /// The WAL was restarted once and written past the cursor, and nothing proves that no frame
    /// of the old generation was overwritten unseen.
    case restartedPastCursor = "restarted-past-cursor"
    /// The WAL was restarted more than once, so a whole generation may have gone by.
    case restartedRepeatedly = "restarted-repeatedly"
    /// The salts are the cursor's, the frame before it is not.
    case cursorOverwritten = "cursor-overwritten"
    /// The database grew and not every new page was in the WAL: frames were missed.
    case growthHole = "growth-hole"
    /// The bucket does not hold what it was known to hold, so its head is the base from now on.
    case bucketChanged = "bucket-changed"
    /// What waited for the bucket was given up, for want of room or past its limit.
    case backlogGivenUp = "backlog-given-up"
    /// The database file is another one than before.
    case databaseReplaced = "database-replaced"
}

/// Why every page had to be shipped.
///
/// The raw values are stable: they stand in journals and tests.
public enum SnapshotReason: String, Sendable, CaseIterable {
    /// The bucket is empty and this database was never pushed.
    case first
    /// The bucket is empty, though it was not.
    case bucketWiped = "bucket-wiped"
    /// The place was lost, and there is no ledger to compare with.
    case noLedger = "no-ledger"
    /// What the bucket holds cannot be restored to its head: files are missing or damaged.
    case bucketBroken = "bucket-broken"
    /// The sink's live copy differs from the database it should be.
    case diverged
    /// The database has another page size than what is in the bucket.
    case pageSizeChanged = "page-size-changed"

    /// What the bucket holds cannot be the base of this file, though it stays restorable.
    var beginsAnew: Bool {
        switch self {
        case .bucketBroken, .diverged, .pageSizeChanged: true
        case .first, .bucketWiped, .noLedger: false
        }
    }
}
