import CSQLite

extension Connection {
    /// Copies this database into another through the Online Backup API.
    ///
    /// It reads through the WAL and never checkpoints. A writer of another process makes it start
    /// again unless this connection is inside a read transaction.
    ///
    /// - Parameters:
    ///   - destination: An open connection; all it holds is replaced.
    ///   - pagesPerStep: Pages between two calls of `progress`.
    ///   - progress: Gets pages left and pages in all; throwing ends the copy.
    /// - Throws: `SQLiteError`, or what `progress` threw.
    public func backup(
        to destination: Connection,
        pagesPerStep: Int = 1024,
        progress: (_ remaining: Int, _ total: Int) throws -> Void = { _, _ in }
    ) throws {
        let target = try destination.open("backup")
        guard let copy = sqlite3_backup_init(target, "main", try open("backup"), "main") else {
            throw SQLiteError(
                sqlite3_errcode(target),
                of: target,
                operation: "backup",
                path: destination.path
            )
        }
        var finished = false
        defer { if !finished { sqlite3_backup_finish(copy) } }
        while true {
            let code = sqlite3_backup_step(copy, Int32(clamping: max(1, pagesPerStep)))
            guard code == SQLITE_OK || code == SQLITE_DONE else {
                throw SQLiteError(
                    code: code,
                    message: String(cString: sqlite3_errstr(code)),
                    operation: "backup",
                    path: path
                )
            }
            try progress(Int(sqlite3_backup_remaining(copy)), Int(sqlite3_backup_pagecount(copy)))
            if code == SQLITE_DONE { break }
        }
        finished = true
        let code = sqlite3_backup_finish(copy)
        guard code == SQLITE_OK else {
            throw SQLiteError(code, of: target, operation: "backup", path: destination.path)
        }
    }
}
