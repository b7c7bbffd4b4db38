package import SQLiteBridge

/// The schema's history, in one place: numbered, forward only, each step once.
///
/// All of it runs in one transaction that holds the write lock from its first read on, so of two
/// openers one migrates and the other finds it done. `user_version` is the number of the last
/// step. The tables of the streams follow their definitions by steps of their own (`StreamTables`),
/// in the same transaction.
package enum Migrations {
    struct Migration {
        let number: Int64
        let sql: String
    }

    /// `DORM`: says whose `user_version` it is.
    package static let applicationID: Int64 = 0x444F_524D

    static let all: [Migration] = [
        Migration(
            number: 1,
            sql: """
                CREATE TABLE device (
                    id INTEGER PRIMARY KEY,
                    name TEXT NOT NULL UNIQUE
                );
                CREATE TABLE stream (
                    id INTEGER PRIMARY KEY,
                    name TEXT NOT NULL UNIQUE,
                    revision INTEGER NOT NULL
                );
                CREATE TABLE stream_column (
                    stream_id INTEGER NOT NULL REFERENCES stream (id),
                    ordinal INTEGER NOT NULL,
                    name TEXT NOT NULL,
                    type TEXT NOT NULL,
                    PRIMARY KEY (stream_id, ordinal),
                    UNIQUE (stream_id, name)
                ) WITHOUT ROWID;
                CREATE TABLE source_position (
                    stream_id INTEGER PRIMARY KEY REFERENCES stream (id),
                    source TEXT NOT NULL,
                    position INTEGER NOT NULL,
                    origin_ms INTEGER NOT NULL
                );
                """
        ),
        // Keyed by day first: the rows of today lie side by side, on one page. Extremes and sums have
        // no declared type, so that whole and real numbers stay what they are.
        Migration(
            number: 2,
            sql: """
                CREATE TABLE daily_summary (
                    day INTEGER NOT NULL,
                    stream_id INTEGER NOT NULL REFERENCES stream (id),
                    device_id INTEGER NOT NULL REFERENCES device (id),
                    ordinal INTEGER NOT NULL,
                    readings INTEGER NOT NULL,
                    minimum NOT NULL,
                    maximum NOT NULL,
                    total NOT NULL,
                    PRIMARY KEY (day, stream_id, device_id, ordinal)
                ) WITHOUT ROWID;
                """
        ),
    ]

    /// The version this program writes.
    package static var latest: Int64 { all.last?.number ?? 0 }

    /// Makes the database what this program expects, or refuses it.
    ///
    /// - Parameters:
    ///   - connection: A connection without a transaction.
    ///   - streams: The configured streams, already found valid.
    ///   - limit: How long to wait for another opener.
    /// - Returns: The streams as stored, in the order given.
    /// - Throws: `SchemaError`, `SQLiteError`.
    package static func migrate(
        _ connection: Connection,
        streams: [StreamDefinition],
        within limit: Duration
    ) throws -> [StoredStream] {
        try prepareFile(connection, within: limit)
        try connection.beginImmediate(within: limit)
        do {
            try bringForward(connection)
            let stored = try streams.map { try StreamTables.bringForward($0, in: connection) }
            try connection.execute("COMMIT")
            return stored
        } catch {
            // The first error is the one to tell; a failed COMMIT may have ended the transaction.
            try? connection.endRead()
            throw error
        }
    }

    /// A new file gets 4 KiB pages and WAL mode, neither of which can be set in a transaction.
    private static func prepareFile(_ connection: Connection, within limit: Duration) throws {
        let deadline = ContinuousClock.now + limit
        while true {
            do {
                let mode = try journalMode(connection)
                if mode == "wal" { return }
                throw SchemaError.notWAL(path: connection.path, journalMode: mode)
            } catch let error as SQLiteError {
                // Two openers of a new file meet here; the busy handler is not asked for this lock.
                guard error.isBusy, ContinuousClock.now < deadline else { throw error }
            }
            Duration.milliseconds(1).pauseThread()
        }
    }

    private static func journalMode(_ connection: Connection) throws(SQLiteError) -> String {
        var sql = "PRAGMA journal_mode"
        if try integer("PRAGMA page_count", connection) == 0 {
            try connection.execute("PRAGMA page_size = 4096")
            sql = "PRAGMA journal_mode = WAL"
        }
        return try connection.value(sql)?.text ?? "unknown"
    }

    private static func bringForward(_ connection: Connection) throws {
        let version = try integer("PRAGMA user_version", connection)
        let application = try integer("PRAGMA application_id", connection)
        guard application == applicationID else {
            try refuseForeign(connection, application: application, version: version)
            try connection.execute("PRAGMA application_id = \(applicationID)")
            return try apply(after: 0, in: connection)
        }
        guard version <= latest else {
            throw SchemaError.newer(path: connection.path, found: version, supported: latest)
        }
        try apply(after: version, in: connection)
    }

    private static func apply(after version: Int64, in connection: Connection) throws {
        for migration in all where migration.number > version {
            try connection.execute(migration.sql)
            try connection.execute("PRAGMA user_version = \(migration.number)")
        }
    }

    /// Only an empty database may be made ours; a replicator's own tables do not count.
    private static func refuseForeign(
        _ connection: Connection,
        application: Int64,
        version: Int64
    ) throws {
        func refuse(_ reason: String) -> SchemaError {
            .foreign(path: connection.path, reason: reason)
        }
        guard application == 0 else { throw refuse("its application_id is \(application)") }
        guard version == 0 else { throw refuse("its user_version is \(version)") }
        let table = try connection.value(
            """
            SELECT name FROM sqlite_schema
            WHERE type = 'table' AND name NOT GLOB 'sqlite_*' AND name NOT GLOB '_litestream_*'
            """
        )
        if let name = table?.text { throw refuse("it has a table \(name)") }
    }

    private static func integer(_ sql: String, _ connection: Connection) throws(SQLiteError)
        -> Int64
    {
        try connection.value(sql)?.integer ?? 0
    }
}
