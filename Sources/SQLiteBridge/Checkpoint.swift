import CSQLite

/// How hard a checkpoint tries (sqlite3_wal_checkpoint_v2).
public enum CheckpointMode: String, Sendable, CaseIterable {
    case passive, full, restart, truncate

    var raw: Int32 {
        switch self {
        case .passive: SQLITE_CHECKPOINT_PASSIVE
        case .full: SQLITE_CHECKPOINT_FULL
        case .restart: SQLITE_CHECKPOINT_RESTART
        case .truncate: SQLITE_CHECKPOINT_TRUNCATE
        }
    }
}

/// The three numbers that a checkpoint answers with.
public struct CheckpointResult: Equatable, Sendable {
    /// A lock of somebody else stopped it before its end.
    public let isBusy: Bool
    /// Frames in the WAL; -1 when the database is not in WAL mode, 0 after a TRUNCATE.
    public let logFrames: Int
    /// Frames of them that are in the database file now.
    public let checkpointedFrames: Int

    public init(isBusy: Bool, logFrames: Int, checkpointedFrames: Int) {
        self.isBusy = isBusy
        self.logFrames = logFrames
        self.checkpointedFrames = checkpointedFrames
    }

    /// Every frame is copied back: the next writer may start the WAL again.
    public var isComplete: Bool { logFrames >= 0 && logFrames == checkpointedFrames }
}

extension Connection {
    /// Copies WAL pages back into the database.
    ///
    /// Another one's lock is no error but `isBusy` in the answer.
    public func checkpoint(_ mode: CheckpointMode = .passive) throws(SQLiteError)
        -> CheckpointResult
    {
        let handle = try open("checkpoint")
        var log: Int32 = 0
        var copied: Int32 = 0
        let code = sqlite3_wal_checkpoint_v2(handle, nil, mode.raw, &log, &copied)
        guard code == SQLITE_OK || code & 0xFF == SQLITE_BUSY else {
            throw SQLiteError(code, of: handle, operation: "checkpoint", path: path)
        }
        return CheckpointResult(
            isBusy: code != SQLITE_OK,
            logFrames: Int(log),
            checkpointedFrames: Int(copied)
        )
    }
}
