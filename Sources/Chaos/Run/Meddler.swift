import Collector
import DurableFiles
import SQLiteBridge

/// Everybody else who has the database open: other pools, other checkpointers, lock holders.
///
/// In this process, so for the agent in another one. SQLite blocks, hence a thread of its own.
actor Meddler {
    private let executor = SerialThreadExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    private let database: String
    private var holder: Connection?

    /// One row of ours; incompressible, and with its neighbours about a page.
    private static let rowSize: Int64 = 4_000

    init(database: String) {
        self.database = database
    }

    /// Makes the database, with so many bytes in it, none of them in the WAL.
    ///
    /// - Returns: The rows that are in it.
    func create(content: Int64) throws -> Int64 {
        let connection = try Connection(path: database, mode: .create)
        defer { try? connection.close() }
        // A collector takes only its own databases and empty ones.
        try connection.execute(
            "PRAGMA journal_mode=WAL; PRAGMA application_id=\(Migrations.applicationID)"
        )
        guard content > 0 else { return 0 }
        let rows = try write(content, .external)
        _ = try connection.checkpoint(.truncate)
        return rows
    }

    /// Writes rows of ours through a connection that is opened for it.
    ///
    /// - Returns: The rows that were committed.
    func write(_ bytes: Int64, _ checkpointing: Connection.Checkpointing) throws -> Int64 {
        let connection = try Connection(
            path: database,
            busyTimeout: .seconds(30),
            checkpointing: checkpointing
        )
        defer { try? connection.close() }
        try connection.execute(
            "CREATE TABLE IF NOT EXISTS chaos_row(id INTEGER PRIMARY KEY, body BLOB)"
        )
        let rows = max(1, bytes / Self.rowSize)
        var left = rows
        while left > 0 {
            let count = min(left, 1_000)
            try connection.execute(
                """
                INSERT INTO chaos_row(body)
                WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n)
                SELECT randomblob(\(Self.rowSize)) FROM n LIMIT \(count)
                """
            )
            left -= count
        }
        return rows
    }

    /// Checkpoints as somebody does who does not know better.
    func checkpoint(_ mode: CheckpointMode, times: Int) throws {
        let connection = try Connection(path: database, busyTimeout: .milliseconds(200))
        defer { try? connection.close() }
        // The WAL is opened by the first read; before it there is nothing to checkpoint.
        _ = try connection.value("SELECT count(*) FROM sqlite_schema")
        for _ in 0..<times { _ = try connection.checkpoint(mode) }
    }

    /// Takes the write lock and keeps it.
    func holdLock() throws {
        let connection = try Connection(path: database)
        try connection.beginImmediate(within: .seconds(10))
        holder = connection
    }

    func releaseLock() {
        try? holder?.endRead()
        try? holder?.close()
        holder = nil
    }

    /// Rows of the collector and of ours; of any file of the same schema.
    static func rows(in path: String) throws -> Int64 {
        let connection = try Connection(path: path, mode: .readOnly)
        defer { try? connection.close() }
        let tables = try connection.prepare(
            """
            SELECT name FROM sqlite_schema WHERE type = 'table'
            AND (name LIKE 'sample\\_%' ESCAPE '\\' OR name = 'chaos_row')
            """
        )
        var names: [String] = []
        while try tables.step() {
            if let name = tables.column(0).text { names.append(name) }
        }
        return try names.reduce(0) { sum, name in
            let rows = try connection.value("SELECT count(*) FROM \"\(name)\"")?.integer ?? 0
            return sum + rows
        }
    }

    func rows(in path: String) throws -> Int64 { try Self.rows(in: path) }
}
