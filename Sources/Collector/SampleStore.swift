import SQLiteBridge

/// The collector's side of the database: its connection, its statements and its one transaction.
///
/// Not `Sendable`: it lives on the collector.
final class SampleStore {
    /// What a transaction did.
    struct Written {
        var offered = 0
        var inserted = 0
        var newest: SampleTime?
        /// Pages of the database that it changed.
        var pages = 0
    }

    let streams: [StoredStream]
    private let connection: Connection
    private let lockTimeout: Duration
    private let inserts: [Statement]
    private let addDevice: Statement
    private let addSummary: Statement
    private let savePosition: Statement
    private var devices: [String: Int64] = [:]

    init(path: String, streams: [StreamDefinition], options: Collector.Options) throws {
        connection = try Connection(path: path, mode: .create, busyTimeout: options.lockTimeout)
        lockTimeout = options.lockTimeout
        self.streams = try Migrations.migrate(
            connection,
            streams: streams,
            within: options.openTimeout
        )
        try connection.execute("PRAGMA synchronous = \(options.synchronous.rawValue)")
        inserts = try self.streams.map { [connection] in try connection.prepare($0.insertSQL) }
        addDevice = try connection.prepare(
            "INSERT INTO device (name) VALUES (?) ON CONFLICT (name) DO NOTHING"
        )
        addSummary = try connection.prepare(
            """
            INSERT INTO daily_summary
                (day, stream_id, device_id, ordinal, readings, minimum, maximum, total)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (day, stream_id, device_id, ordinal) DO UPDATE SET
                readings = readings + excluded.readings,
                minimum = min(minimum, excluded.minimum),
                maximum = max(maximum, excluded.maximum),
                total = total + excluded.total
            """
        )
        savePosition = try connection.prepare(
            """
            INSERT INTO source_position (stream_id, source, position, origin_ms)
            VALUES (?, ?, ?, ?)
            ON CONFLICT (stream_id) DO UPDATE SET
                source = excluded.source,
                position = excluded.position,
                origin_ms = excluded.origin_ms
            """
        )
    }

    func close() throws {
        try connection.close()
    }

    /// How far each stream's source was drained; `nil` where it never was.
    func positions() throws -> [SourceState?] {
        let sql = "SELECT source, position, origin_ms FROM source_position WHERE stream_id = ?"
        let row = try connection.prepare(sql)
        return try streams.map { stream in
            row.reset()
            try row.bind([.integer(stream.id)])
            guard try row.step(), let source = row.column(0).text,
                let position = row.column(1).integer, let origin = row.column(2).integer
            else { return nil }
            return SourceState(
                source: source,
                position: position,
                origin: SampleTime(milliseconds: origin)
            )
        }
    }

    /// Writes everything that is buffered in one transaction: all of it, or nothing.
    ///
    /// - Parameters:
    ///   - buffer: Rows and source positions; left as it is.
    ///   - origins: Each stream's origin, saved with its position.
    /// - Returns: What was written.
    /// - Throws: `SQLiteError`; then nothing was.
    func write(_ buffer: SampleBuffer, origins: [SampleTime]) throws -> Written {
        try connection.beginImmediate(within: lockTimeout)
        do {
            var written = Written()
            let before = connection.pagesWritten
            for (index, stream) in buffer.streams.enumerated() {
                try insert(stream.samples, into: index, &written)
                if let position = stream.position {
                    try savePosition.run([
                        .integer(streams[index].id),
                        .text(streams[index].definition.source.identity),
                        .integer(position),
                        .integer(origins[index].milliseconds),
                    ])
                }
            }
            try connection.execute("COMMIT")
            written.pages = connection.pagesWritten - before
            return written
        } catch {
            // A device that this transaction added is gone with it.
            devices.removeAll()
            // The first error is the one to tell; a failed COMMIT may have ended the transaction.
            try? connection.endRead()
            throw error
        }
    }

    private func insert(_ samples: [Sample], into index: Int, _ written: inout Written) throws {
        let statement = inserts[index]
        let columnCount = streams[index].ordinals.count
        var summaries: [DayKey: DaySummary] = [:]
        for sample in samples {
            let device = try device(sample.device)
            try statement.bind(.integer(device), at: 1)
            try statement.bind(.integer(sample.time.milliseconds), at: 2)
            for (place, value) in sample.values.enumerated() {
                try statement.bind(SQLiteValue(value), at: place + 3)
            }
            while try statement.step() {}
            written.offered += 1
            // Nothing is changed where the row was there already, and so nothing is summed up.
            guard connection.changes == 1 else { continue }
            written.inserted += 1
            written.newest = max(written.newest ?? sample.time, sample.time)
            let key = DayKey(day: sample.time.day, device: device)
            summaries[key, default: DaySummary(columnCount: columnCount)].add(sample)
        }
        for (key, summary) in summaries { try add(summary, of: key, to: streams[index]) }
    }

    private func add(_ summary: DaySummary, of key: DayKey, to stream: StoredStream) throws {
        let place: [SQLiteValue] = [
            .integer(key.day), .integer(stream.id), .integer(key.device),
        ]
        for (ordinal, column) in zip([StreamTables.timeOrdinal] + stream.ordinals, summary.columns)
        {
            guard let column else { continue }
            try addSummary.run(
                place + [
                    .integer(ordinal),
                    .integer(column.readings),
                    SQLiteValue(column.minimum),
                    SQLiteValue(column.maximum),
                    SQLiteValue(column.total),
                ]
            )
        }
    }

    private func device(_ name: String) throws -> Int64 {
        if let known = devices[name] { return known }
        try addDevice.run([.text(name)])
        let id = try connection.value("SELECT id FROM device WHERE name = ?", .text(name))
        guard let id = id?.integer else { preconditionFailure("a device just added is missing") }
        devices[name] = id
        return id
    }
}

extension StoredStream {
    fileprivate var insertSQL: String {
        let names = StreamDefinition.keyColumns + definition.columns.map(\.name)
        let list = names.map { "\"\($0)\"" }.joined(separator: ", ")
        let marks = names.map { _ in "?" }.joined(separator: ", ")
        return """
            INSERT INTO "\(table)" (\(list)) VALUES (\(marks))
            ON CONFLICT (device_id, time_ms) DO NOTHING
            """
    }
}

extension SQLiteValue {
    fileprivate init(_ value: SampleValue) {
        self =
            switch value {
            case .null: .null
            case .integer(let value): .integer(value)
            case .real(let value): .real(value)
            }
    }
}
