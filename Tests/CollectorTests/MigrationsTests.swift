import Collector
import Dispatch
import Foundation
import SQLiteBridge
import TestSupport
import Testing

@Suite("Migrations")
struct MigrationsTests {
    private func open(_ path: String, _ streams: [StreamDefinition]) async throws {
        let collector = try await Collector.open(path: path, streams: streams, now: monday)
        try await collector.close()
    }

    private let straps = StreamDefinition.simulatedStrap(seed: 1)

    @Test("a new database is in WAL mode, has 4 KiB pages and the latest version")
    func newDatabase() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            try await open(path, straps)
            #expect(try integer("PRAGMA page_size", in: path) == 4096)
            #expect(try integer("PRAGMA user_version", in: path) == Migrations.latest)
            #expect(try integer("PRAGMA application_id", in: path) == Migrations.applicationID)
            #expect(try rows("PRAGMA journal_mode", in: path) == [[.text("wal")]])
            #expect(try rows("PRAGMA integrity_check", in: path) == [[.text("ok")]])
        }
    }

    @Test("opening again changes no page")
    func openingAgain() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            try await open(path, straps)
            let before = try Data(contentsOf: URL(filePath: path + "-wal"))
            try await open(path, straps)
            #expect(try Data(contentsOf: URL(filePath: path + "-wal")) == before)
        }
    }

    @Test("an empty file is a new database")
    func emptyFile() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            try Data().write(to: URL(filePath: path))
            try await open(path, straps)
            #expect(try integer("PRAGMA user_version", in: path) == Migrations.latest)
        }
    }

    @Test("of many openers that race, one migrates and all find it done", arguments: 0..<8)
    func race(round: Int) throws {
        try withTemporaryDirectory { directory throws in
            let path = directory.appending(path: "a.db").path
            let failures = Locked<[String]>([])
            let results = Locked<[[Int64]]>([])
            DispatchQueue.concurrentPerform(iterations: 6) { _ in
                do {
                    let connection = try Connection(path: path, mode: .create)
                    let stored = try Migrations.migrate(
                        connection,
                        streams: straps,
                        within: .seconds(30)
                    )
                    results.withLock { $0.append(stored.map(\.id) + stored.map(\.revision)) }
                    try connection.close()
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
            #expect(failures.withLock { $0 } == [])
            #expect(results.withLock { $0 } == Array(repeating: [1, 2, 3, 1, 1, 1], count: 6))
            #expect(try integer("SELECT count(*) FROM stream", in: path) == 3)
            #expect(try rows("PRAGMA integrity_check", in: path) == [[.text("ok")]])
        }
    }

    @Test("a database from a newer version is refused, and left as it is")
    func newer() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            try await open(path, straps)
            let next = Migrations.latest + 1
            let connection = try Connection(path: path)
            try connection.execute("PRAGMA user_version = \(next)")
            try connection.close()
            let before = try Data(contentsOf: URL(filePath: path + "-wal"))
            await #expect(
                throws: SchemaError.newer(path: path, found: next, supported: next - 1)
            ) {
                try await open(path, straps)
            }
            #expect(try Data(contentsOf: URL(filePath: path + "-wal")) == before)
        }
    }

    @Test(
        "somebody else's database is refused",
        arguments: [
            ("CREATE TABLE notes (a)", "it has a table notes"),
            ("PRAGMA user_version = 7", "its user_version is 7"),
            ("PRAGMA application_id = 99", "its application_id is 99"),
        ]
    )
    func foreign(sql: String, reason: String) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            let connection = try Connection(path: path, mode: .create)
            try connection.execute("PRAGMA journal_mode = WAL; \(sql)")
            try connection.close()
            await #expect(throws: SchemaError.foreign(path: path, reason: reason)) {
                try await open(path, straps)
            }
        }
    }

    @Test("tables that a replicator left in an empty database do not make it foreign")
    func replicatorTables() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            let connection = try Connection(path: path, mode: .create)
            try connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE _litestream_seq (a)")
            try connection.close()
            try await open(path, straps)
        }
    }

    @Test("a database that is not in WAL mode is refused")
    func notWAL() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            let connection = try Connection(path: path, mode: .create)
            try connection.execute("CREATE TABLE notes (a)")
            try connection.close()
            await #expect(throws: SchemaError.notWAL(path: path, journalMode: "delete")) {
                try await open(path, straps)
            }
        }
    }

    @Test("a file that is no database is refused by SQLite's own code")
    func notADatabase() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            try Data(repeating: 0x5A, count: 8192).write(to: URL(filePath: path))
            let error = try await #require(throws: SQLiteError.self) {
                try await open(path, straps)
            }
            #expect(error.isNotADatabase)
        }
    }

    @Test("a stream's new columns are added, its old rows and columns stay")
    func newColumn() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            var stream = try manualStream(in: directory)
            try Data("offset_s,count,level,power,select\n".utf8)
                .write(to: directory.appending(path: "manual.csv"))
            var collector = try await Collector.open(path: path, streams: [stream], now: monday)
            _ = try await collector.append([manualSample(second: 0)], to: "manual")
            _ = try await collector.flush()
            try await collector.close()

            // One column goes, two come; one of them is a keyword.
            stream.columns = [
                ColumnDefinition("power", .integer), ColumnDefinition("count", .integer),
                ColumnDefinition("select", .real),
            ]
            collector = try await Collector.open(path: path, streams: [stream], now: monday)
            let time = SampleTime(seconds: monday.seconds + 1)
            let sample = Sample(
                device: "bench",
                time: time,
                values: [.integer(250), .integer(2), .real(0.25)]
            )
            _ = try await collector.append([sample], to: "manual")
            _ = try await collector.flush()
            try await collector.close()
            #expect(
                try rows(
                    "SELECT count, level, power, \"select\" FROM sample_manual ORDER BY time_ms",
                    in: path
                ) == [
                    [.integer(1), .real(0.5), .null, .null],
                    [.integer(2), .null, .integer(250), .real(0.25)],
                ]
            )
            // Summaries go by the column, not by its place in the configuration.
            #expect(
                try rows(
                    """
                    SELECT name, readings, total FROM daily_summary
                    JOIN stream_column USING (stream_id, ordinal)
                    WHERE ordinal > 0 ORDER BY ordinal
                    """,
                    in: path
                ) == [
                    [.text("count"), .integer(2), .integer(3)],
                    [.text("level"), .integer(1), .real(0.5)],
                    [.text("power"), .integer(1), .integer(250)],
                    [.text("select"), .integer(1), .real(0.25)],
                ]
            )
            #expect(try integer("SELECT revision FROM stream", in: path) == 2)
        }
    }

    @Test("a column that changed its type is refused, and nothing of it is kept")
    func changedType() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            var stream = try manualStream(in: directory)
            try await open(path, [stream])
            stream.columns = [
                ColumnDefinition("power", .integer), ColumnDefinition("count", .real),
            ]
            await #expect(
                throws: SchemaError.typeChanged(
                    path: path,
                    stream: "manual",
                    column: "count",
                    stored: "integer",
                    wanted: "real"
                )
            ) {
                try await open(path, [stream])
            }
            #expect(try integer("SELECT count(*) FROM stream_column", in: path) == 3)
        }
    }
}
