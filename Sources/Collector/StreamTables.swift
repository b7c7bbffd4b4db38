import SQLiteBridge

/// A configured stream with its number in the database.
package struct StoredStream: Sendable {
    package let id: Int64
    package let definition: StreamDefinition
    /// Numbers of the columns in the database, in the definition's order.
    package let ordinals: [Int64]
    /// Steps the stream's table has been through, from 1.
    package let revision: Int64

    var table: String { StreamTables.table(of: definition.name) }
}

/// The tables of the streams, brought forward to their definitions.
///
/// The first step of a stream makes its table, every later one adds the columns that are new in
/// the definition. A column that is no longer configured stays and is NULL from then on; a column
/// that changed its type is refused.
enum StreamTables {
    /// The number of the time among a stream's columns; their own numbers follow.
    static let timeOrdinal: Int64 = 0

    static func table(of stream: String) -> String { "sample_\(stream)" }

    static func bringForward(
        _ stream: StreamDefinition,
        in connection: Connection
    ) throws -> StoredStream {
        let found = try connection.prepare("SELECT id, revision FROM stream WHERE name = ?")
        try found.bind([.text(stream.name)])
        if try found.step(), let id = found.column(0).integer {
            let revision = found.column(1).integer ?? 0
            found.reset()
            return try extend(stream, id: id, revision: revision, in: connection)
        }
        return try create(stream, in: connection)
    }

    // Names have been found to match [a-z][a-z0-9_]{0,62}, so they can stand in SQL; the quotes
    // are for those that are keywords.

    private static func create(
        _ stream: StreamDefinition,
        in connection: Connection
    ) throws -> StoredStream {
        try connection.prepare("INSERT INTO stream (name, revision) VALUES (?, 1)")
            .run([.text(stream.name)])
        let id = try connection.value("SELECT id FROM stream WHERE name = ?", .text(stream.name))
        let table = table(of: stream.name)
        let columns = stream.columns.map { "\"\($0.name)\" \($0.type.sql)" }
        // Rows lie in the order they came, so a reader follows them by `id` and sees late ones too;
        // the natural key finds duplicates, and spans of time.
        try connection.execute(
            """
            CREATE TABLE "\(table)" (
                id INTEGER PRIMARY KEY,
                device_id INTEGER NOT NULL REFERENCES device (id),
                time_ms INTEGER NOT NULL,
                \(columns.joined(separator: ",\n    ")),
                UNIQUE (device_id, time_ms)
            )
            """
        )
        let ordinals = (1...Int64(stream.columns.count)).map { $0 }
        let stored = StoredStream(
            id: id?.integer ?? 0,
            definition: stream,
            ordinals: ordinals,
            revision: 1
        )
        let time = ColumnDefinition("time_ms", .integer)
        try register(time, timeOrdinal, of: stored.id, in: connection)
        for (column, ordinal) in zip(stream.columns, ordinals) {
            try register(column, ordinal, of: stored.id, in: connection)
        }
        return stored
    }

    private static func extend(
        _ stream: StreamDefinition,
        id: Int64,
        revision: Int64,
        in connection: Connection
    ) throws -> StoredStream {
        var known: [String: (ordinal: Int64, type: String)] = [:]
        var last: Int64 = 0
        let rows = try connection.prepare(
            "SELECT name, ordinal, type FROM stream_column WHERE stream_id = ? ORDER BY ordinal"
        )
        try rows.bind([.integer(id)])
        while try rows.step() {
            guard let name = rows.column(0).text, let ordinal = rows.column(1).integer else {
                continue
            }
            known[name] = (ordinal, rows.column(2).text ?? "")
            last = ordinal
        }

        var ordinals: [Int64] = []
        var isChanged = false
        for column in stream.columns {
            if let (ordinal, type) = known[column.name] {
                guard type == column.type.rawValue else {
                    throw SchemaError.typeChanged(
                        path: connection.path,
                        stream: stream.name,
                        column: column.name,
                        stored: type,
                        wanted: column.type.rawValue
                    )
                }
                ordinals.append(ordinal)
                continue
            }
            last += 1
            ordinals.append(last)
            isChanged = true
            try connection.execute(
                """
                ALTER TABLE "\(table(of: stream.name))"
                ADD COLUMN "\(column.name)" \(column.type.sql)
                """
            )
            try register(column, last, of: id, in: connection)
        }
        let stored = StoredStream(
            id: id,
            definition: stream,
            ordinals: ordinals,
            revision: isChanged ? revision + 1 : revision
        )
        if isChanged {
            try connection.prepare("UPDATE stream SET revision = ? WHERE id = ?")
                .run([.integer(stored.revision), .integer(id)])
        }
        return stored
    }

    private static func register(
        _ column: ColumnDefinition,
        _ ordinal: Int64,
        of stream: Int64,
        in connection: Connection
    ) throws {
        let sql = "INSERT INTO stream_column (stream_id, ordinal, name, type) VALUES (?, ?, ?, ?)"
        try connection.prepare(sql).run([
            .integer(stream), .integer(ordinal), .text(column.name), .text(column.type.rawValue),
        ])
    }
}

extension ColumnType {
    fileprivate var sql: String {
        switch self {
        case .integer: "INTEGER"
        case .real: "REAL"
        }
    }
}
