import Foundation
import SQLiteBridge
import TestSupport
import Testing

@Suite("a database that cannot be replicated")
struct BadDatabaseTests {
    /// How the database is made unusable, and what is said of it.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        let make: @Sendable (String) throws -> Void

        init(_ name: String, _ text: String, _ make: @escaping @Sendable (String) throws -> Void) {
            testDescription = name
            self.text = text
            self.make = make
        }
    }

    static let rows = [
        Row("missing", "no such database", { _ in }),
        Row(
            "zero length",
            "the database is empty",
            { path in try Data().write(to: URL(filePath: path)) }
        ),
        Row(
            "text",
            "not an SQLite database",
            { path in try Data("no database\n".utf8).write(to: URL(filePath: path)) }
        ),
        Row(
            "encrypted",
            "not an SQLite database, or an encrypted one",
            { path in
                var random = SeededGenerator(seed: 7)
                let bytes = (0..<8192).map { _ in UInt8.random(in: 0...255, using: &random) }
                try Data(bytes).write(to: URL(filePath: path))
            }
        ),
        Row(
            "not in WAL mode",
            "journal mode is delete; switch the database to WAL",
            { path in
                let connection = try Connection(
                    path: path,
                    mode: .create,
                    checkpointing: .automatic
                )
                try connection.execute("CREATE TABLE t(v); INSERT INTO t VALUES (1)")
            }
        ),
        Row(
            "a directory",
            "not a regular file",
            { path in
                try FileManager.default.createDirectory(
                    atPath: path,
                    withIntermediateDirectories: false
                )
            }
        ),
    ]

    @Test("push fails with one line, and leaves everything as it is", arguments: rows)
    func push(row: Row) async throws {
        try await withScratch { scratch in
            try row.make(scratch.database)
            let before = try scratch.contents()
            try await expectRefusal(
                ["push", scratch.database, "--to", scratch.bucket],
                status: 1,
                saying: row.text
            )
            #expect(try scratch.contents() == before)
        }
    }

    @Test("push --json says the same as an object", arguments: rows)
    func pushJSON(row: Row) async throws {
        try await withScratch { scratch in
            try row.make(scratch.database)
            let words = ["push", scratch.database, "--to", scratch.bucket]
            let record = try await json(words, status: 1)
            #expect(record["outcome"] as? String == "unavailable")
            #expect((record["detail"] as? String)?.contains(row.text) == true)
        }
    }

    @Test("verify fails with one line, and leaves everything as it is", arguments: rows)
    func verify(row: Row) async throws {
        try await withScratch { scratch in
            try scratch.makeDatabase().close()
            try await succeed("push", scratch.database, "--to", scratch.bucket)
            let bad = scratch.path("bad.db")
            try row.make(bad)
            let before = try scratch.contents()
            try await expectRefusal(
                ["verify", bad, scratch.bucket],
                status: 1,
                saying: row.text
            )
            #expect(try scratch.contents() == before)
        }
    }

    @Test("status of one that was never replicated fails with one line", arguments: rows)
    func status(row: Row) async throws {
        try await withScratch { scratch in
            try row.make(scratch.database)
            let before = try scratch.contents()
            let outcome = try await dormouse(["status", scratch.database])
            // An empty directory may be a bucket that nothing was put into yet.
            if row.testDescription == "a directory" {
                #expect(outcome.status == 0)
            } else {
                #expect(outcome.status == 1)
                #expect(outcome.stderr.split(separator: "\n").count == 1)
            }
            #expect(try scratch.contents() == before)
        }
    }

    @Test("agent fails before it collects", arguments: rows.dropFirst(2))
    func agent(row: Row) async throws {
        try await withScratch { scratch in
            try row.make(scratch.database)
            let before = try scratch.contents()
            let outcome = try await dormouse([
                "agent", "--database", scratch.database, "--to", scratch.bucket,
                "--log-level", "error",
            ])
            try expectRefusal(outcome, status: 1, saying: row.text)
            #expect(try scratch.contents() == before)
        }
    }

    @Test("locked by another connection: try again later, and then it works")
    func locked() async throws {
        try await withScratch { scratch in
            try scratch.makeDatabase().close()
            try await succeed("push", scratch.database, "--to", scratch.bucket)
            // Exclusive from the first read on, so that there is no -shm to share.
            let owner = try Connection(path: scratch.database)
            try owner.execute("PRAGMA locking_mode=EXCLUSIVE")
            try scratch.insert(1, into: owner)
            let push = ["push", scratch.database, "--to", scratch.bucket]
            try await expectRefusal(push, status: 75, saying: "database is locked")
            try await expectRefusal(
                ["verify", scratch.database, scratch.bucket],
                status: 75,
                saying: "database is locked"
            )
            try owner.close()
            try await succeed("push", scratch.database, "--to", scratch.bucket)
            try await succeed("verify", scratch.database, scratch.bucket)
        }
    }

    @Test("replicated by another process already: refused, and its process named")
    func claimed() async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase()
            try await withRunning(
                ["replicate", scratch.database, "--to", scratch.bucket]
            ) { first in
                try await first.line(with: "outcome=pushed")
                try await expectRefusal(
                    ["push", scratch.database, "--to", scratch.bucket],
                    status: 1,
                    saying: "\(first.processID)"
                )
            }
            try app.close()
        }
    }
}
