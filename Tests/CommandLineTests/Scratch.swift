import Foundation
import SQLiteBridge
import TestSupport
import Testing

/// A directory with a database, for verbs to work on.
struct Scratch {
    let directory: URL

    var database: String { path("app.db") }
    var bucket: String { path("bucket") }

    func path(_ name: String) -> String { directory.appending(path: name).path }

    /// Makes `app.db`: WAL mode, one table, all of it still in the WAL while the connection lives.
    func makeDatabase(rows: Int = 100) throws -> Connection {
        let connection = try Connection(path: database, mode: .create)
        try connection.execute("PRAGMA journal_mode=WAL")
        try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
        try insert(rows, into: connection)
        return connection
    }

    func insert(_ rows: Int, into connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO t(v) WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n)
            SELECT randomblob(200) FROM n LIMIT \(rows)
            """
        )
    }

    /// Everything below the directory with its bytes, for "nothing was changed".
    ///
    /// `-shm` files are left out: they are an index that whoever looks may write anew. Not while a
    /// connection of this process is open: reading a file by its name drops SQLite's locks on it.
    func contents() throws -> [String: Data] {
        var contents: [String: Data] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory.path) {
            var isDirectory: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: path(name), isDirectory: &isDirectory)
            guard !name.hasSuffix("-shm") else { continue }
            contents[name] =
                isDirectory.boolValue ? Data() : try Data(contentsOf: URL(filePath: path(name)))
        }
        return contents
    }

    func names() throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: directory.path))
    }

    /// Rows of a database, by an SQLite of its own.
    func count(_ sql: String = "SELECT count(*) FROM t", in path: String) throws -> Int64? {
        let connection = try Connection(path: path, mode: .immutable)
        return try connection.value(sql)?.integer
    }
}

/// Runs a body on a fresh directory.
func withScratch(_ body: (Scratch) async throws -> Void) async throws {
    try await withTemporaryDirectory { try await body(Scratch(directory: $0)) }
}

/// Runs the program with a list of words.
func dormouse(_ words: [String], timeout: Duration = .seconds(60)) async throws -> ProcessOutcome {
    try await runProcess(Dormouse.binary, words, timeout: timeout)
}

/// Runs it, demands success, and gives what it printed.
@discardableResult
func succeed(
    _ words: String...,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws -> String {
    let outcome = try await dormouse(words)
    #expect(outcome.status == 0, "\(outcome.stderr)", sourceLocation: sourceLocation)
    return outcome.stdout
}

/// Runs it with `--json` and parses the one object it prints.
func json(
    _ words: [String],
    status: Int32 = 0,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws -> [String: Any] {
    let outcome = try await dormouse(words + ["--json"])
    #expect(outcome.status == status, "\(outcome.stderr)", sourceLocation: sourceLocation)
    let object = try JSONSerialization.jsonObject(with: outcome.stdoutBytes)
    return try #require(object as? [String: Any], sourceLocation: sourceLocation)
}

/// A refusal is a status, nothing on standard output, and one line that says what is wrong.
func expectRefusal(
    _ words: [String],
    status: Int32,
    saying text: String,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    try expectRefusal(
        await dormouse(words),
        status: status,
        saying: text,
        sourceLocation: sourceLocation
    )
}

func expectRefusal(
    _ outcome: ProcessOutcome,
    status: Int32,
    saying text: String,
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    #expect(outcome.status == status, "\(outcome.stderr)", sourceLocation: sourceLocation)
    #expect(outcome.stdout == "", sourceLocation: sourceLocation)
    let lines = outcome.stderr.split(separator: "\n")
    #expect(lines.count == 1, "\(outcome.stderr)", sourceLocation: sourceLocation)
    #expect(outcome.stderr.hasPrefix("dormouse: "), sourceLocation: sourceLocation)
    #expect(
        outcome.stderr.contains(text),
        "says: \(outcome.stderr)",
        sourceLocation: sourceLocation
    )
}
