import Foundation
import SQLiteBridge
import TestSupport
import Testing

/// A device: a database in WAL mode, and pushes of it in a process of their own.
struct Device {
    let directory: URL
    let database: String

    /// A database that is there already.
    init(_ directory: URL, database: String) {
        self.directory = directory
        self.database = database
    }

    init(_ directory: URL) throws {
        self.init(directory, database: directory.appending(path: "health.db").path)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let connection = try Connection(path: database, mode: .create)
        try connection.execute("PRAGMA journal_mode=WAL")
        try connection.execute("CREATE TABLE sample(id INTEGER PRIMARY KEY, at INTEGER, v BLOB)")
        try connection.close()
    }

    /// A device on which an agent makes the database.
    init(empty directory: URL) throws {
        self.directory = directory
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    /// A copy of a device, its state included: two of one disk image.
    init(copying other: Device, to directory: URL) throws {
        self.init(directory, database: directory.appending(path: "health.db").path)
        try FileManager.default.copyItem(at: other.directory, to: directory)
    }

    /// Writes rows of incompressible bytes, and leaves the WAL as it is.
    func write(rows: Int, bytes: Int = 200) throws {
        let connection = try Connection(path: database)
        try connection.execute(
            """
            INSERT INTO sample(at, v)
            WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n)
            SELECT 1700000000000 + i, randomblob(\(bytes)) FROM n LIMIT \(rows)
            """
        )
        try connection.close()
    }

    /// One push in a process of its own.
    func push(to url: String, _ more: [String] = []) async throws -> Push {
        let outcome = try await runProcess(
            Dormouse.binary,
            ["push", database, "--to", url, "--json"] + more
        )
        guard let json = try? JSONSerialization.jsonObject(with: outcome.stdoutBytes),
            let fields = json as? [String: Any]
        else { throw Child.Failure(description: "no record: \(outcome.stderr)") }
        return Push(fields: fields)
    }

    func rows() throws -> Int64 { try Self.rows(in: database) }

    static func rows(in path: String) throws -> Int64 {
        let connection = try Connection(path: path, mode: .readOnly)
        defer { try? connection.close() }
        return try connection.value("SELECT count(*) FROM sample")?.integer ?? 0
    }
}

/// The record of a push.
struct Push {
    let fields: [String: Any]

    var outcome: String { fields["outcome"] as? String ?? "" }
    var reason: String? { fields["reason"] as? String }
    var kind: String { fields["sync_kind"] as? String ?? "" }
    var evidence: String? { fields["evidence"] as? String }
    var txid: String { fields["txid"] as? String ?? "" }
    var streak: Int { fields["streak"] as? Int ?? -1 }
    var files: Int { fields["files"] as? Int ?? -1 }
    var bytes: Int { fields["bytes"] as? Int ?? -1 }
    var finding: String? { fields["lineage_finding"] as? String }
    var ingest: [String: Any]? { fields["ingest"] as? [String: Any] }
}

/// The content of a database as SQL text, by the system's own SQLite.
func dump(_ path: String) async throws -> String {
    let outcome = try await runProcess(
        URL(filePath: "/usr/bin/sqlite3"),
        ["-readonly", "-bail", path, ".dump"]
    )
    try #require(outcome.status == 0, "\(outcome.stderr)")
    return outcome.stdout
}

/// Source, mirror and what stock Litestream restores from the sink's bucket are the same.
func expectEqual(
    _ device: Device,
    _ sink: SinkProcess,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let restored = device.directory.appending(path: "restored-\(UUID().uuidString).db").path
    let outcome = try await runProcess(
        Peers.litestream,
        ["restore", "-o", restored, "file://\(sink.bucket())"]
    )
    #expect(outcome.status == 0, "\(outcome.stderr)", sourceLocation: sourceLocation)
    let source = try await dump(device.database)
    #expect(try await dump(sink.mirror()) == source, sourceLocation: sourceLocation)
    #expect(try await dump(restored) == source, sourceLocation: sourceLocation)
}
