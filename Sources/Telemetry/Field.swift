/// The keys a record can carry: `DORMOUSE_…` in the journal, lower case in a logfmt line.
public enum Field: String, CaseIterable, Sendable {
    /// `pushed`, `in-sync`, `retryable` or `unavailable`.
    case outcome = "OUTCOME"
    case reason = "REASON"
    /// What happened, for a person.
    case detail = "DETAIL"
    /// `wal`, `rescan` or `snapshot`.
    case syncKind = "SYNC_KIND"
    /// Retryable pushes in a row.
    case streak = "STREAK"
    /// 16 hex digits, as in file names.
    case txid = "TXID"
    case remoteTXID = "REMOTE_TXID"
    case lineage = "LINEAGE"
    /// LTX files shipped by this push.
    case files = "FILES"
    /// Bytes shipped by this push.
    case bytes = "BYTES"
    case pages = "PAGES"
    /// LTX files made and not yet accepted.
    case backlogFiles = "BACKLOG_FILES"
    case backlogBytes = "BACKLOG_BYTES"
    /// Size of the WAL file.
    case walBytes = "WAL_BYTES"
    case snapshotReason = "SNAPSHOT_REASON"
    /// `launching`, `foreground`, `background`, `suspended`, `resuming` or `terminating`.
    case phase = "PHASE"
    case durationUsec = "DURATION_USEC"
    /// How long writers were held.
    case lockUsec = "LOCK_USEC"
    case pushID = "PUSH_ID"
    case database = "DATABASE"
    case destination = "DESTINATION"
    /// Where a sink listens.
    case address = "ADDRESS"
    /// The process whose lock keeps a live copy from following, or an agent from uploading.
    case lockHolder = "LOCK_HOLDER"
    /// What showed that the WAL could be read on, or could not.
    case evidence = "EVIDENCE"
    case rows = "ROWS"
    case stream = "STREAM"
    /// `passive`, `sealed`, or why there was none.
    case checkpoint = "CHECKPOINT"
    case device = "DEVICE"
    /// The file, and for a config the line, that the record is about.
    case file = "FILE"
    case version = "VERSION"
    /// How long the process was suspended.
    case gapUsec = "GAP_USEC"
    /// How much of it the machine slept.
    case sleptUsec = "SLEPT_USEC"
    /// How much time is left, or was added.
    case budgetUsec = "BUDGET_USEC"
    /// `replicator` or `collector`.
    case actor = "ACTOR"
    /// What it is doing.
    case operation = "OPERATION"
    /// Locks that are held, and on what.
    case locks = "LOCKS"
    /// LTX files that were handed over to the transfer service, and their bytes.
    case spooledFiles = "SPOOLED_FILES"
    case spooledBytes = "SPOOLED_BYTES"
    /// How many records were lost.
    case dropped = "DROPPED"

    /// The name of the field in the journal.
    public var journalName: String { "DORMOUSE_" + rawValue }

    /// The key in a logfmt line.
    public var logfmtKey: String { rawValue.lowercased() }
}
