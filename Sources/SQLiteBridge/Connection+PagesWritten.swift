import CSQLite

extension Connection {
    /// Pages that this connection has written since it was opened; in WAL mode, WAL frames.
    ///
    /// The difference over a transaction is the number of pages it changed, as long as its pages
    /// fit in the page cache.
    public var pagesWritten: Int {
        guard let handle = try? open("count pages") else { return 0 }
        var current: Int32 = 0
        var highest: Int32 = 0
        sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_WRITE, &current, &highest, 0)
        return Int(current)
    }
}
