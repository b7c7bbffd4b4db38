import CSQLite

extension Connection {
    /// Ends every statement that still runs after so long, with `SQLITE_INTERRUPT`.
    ///
    /// Whatever runs on this connection counts, from now on.
    ///
    /// - Throws: `SQLiteError` when it is closed.
    public func interrupt(after limit: Duration) throws(SQLiteError) {
        let handle = try open("limit the time")
        let now = ContinuousClock.now
        let deadline = TimeLimit(end: now + limit)
        timeLimit = deadline
        sqlite3_progress_handler(
            handle,
            10_000,
            { context in
                guard let context else { return 0 }
                let limit = Unmanaged<TimeLimit>.fromOpaque(context).takeUnretainedValue()
                return ContinuousClock.now > limit.end ? 1 : 0
            },
            Unmanaged.passUnretained(deadline).toOpaque()
        )
    }
}

/// When a connection's time is over; it lives as long as the connection.
final class TimeLimit: Sendable {
    let end: ContinuousClock.Instant

    init(end: ContinuousClock.Instant) {
        self.end = end
    }
}
