import Foundation
import SQLiteBridge
import TestSupport
import Testing

@Suite("dormouse restore")
struct RestoreTests {
    /// A bucket with three states of 100, 101 and 102 rows, stamped a second apart.
    private func prepare(_ scratch: Scratch) async throws {
        let app = try scratch.makeDatabase(rows: 100)
        for _ in 0..<3 {
            try await succeed("push", scratch.database, "--to", scratch.bucket)
            try scratch.insert(1, into: app)
        }
        try app.close()
        for number in 1...3 {
            let name = "bucket/ltx/0/000000000000000\(number)-000000000000000\(number).ltx"
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1_900_000_000 + Double(number))],
                ofItemAtPath: scratch.path(name)
            )
        }
    }

    @Test("gives the newest state, checked, and says so as an object")
    func newest() async throws {
        try await withScratch { scratch in
            try await prepare(scratch)
            let out = scratch.path("out.db")
            let summary = try await json(["restore", scratch.bucket, "-o", out])
            #expect(
                Set(summary.keys) == [
                    "path", "txid", "timestamp", "page_size", "pages", "bytes", "files",
                    "bytes_read",
                ]
            )
            #expect(summary["path"] as? String == out)
            #expect(summary["txid"] as? String == "0000000000000003")
            let timestamp = try #require(summary["timestamp"] as? String)
            #expect(timestamp.contains(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/))
            #expect(summary["page_size"] as? Int == 4096)
            #expect(summary["files"] as? Int == 3)
            #expect(try scratch.count(in: out) == 102)
            #expect(try scratch.names().filter { $0.hasPrefix("out.db") } == ["out.db"])
        }
    }

    // The others may be ignored by whoever started the tests, and a child inherits that.
    @Test("ended by a signal it leaves nothing behind", arguments: [SIGTERM])
    func signalled(number: Int32) async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase(rows: 200_000)
            try await succeed("push", scratch.database, "--to", scratch.bucket)
            try app.close()
            let child = try Child(
                Dormouse.binary,
                ["restore", scratch.bucket, "-o", scratch.path("out.db")]
            )
            while !(try scratch.names().contains { $0.hasPrefix("out.db") }) {
                try await Task.sleep(for: .milliseconds(1))
            }
            child.send(number)
            #expect(try await child.end() == 128 + number)
            #expect(try scratch.names().filter { $0.hasPrefix("out.db") }.isEmpty)
        }
    }

    @Test(
        "gives the state of a TXID or from before a time",
        arguments: [
            (["--txid", "1"], 100), (["--txid", "0000000000000002"], 101),
            (["--timestamp", "2030-03-17T17:46:42.5Z"], 101),
            // A time is exclusive, and the zone counts.
            (["--timestamp", "2030-03-17T18:46:42+01:00"], 100),
            (["--timestamp", "2031-01-01T00:00:00Z"], 102),
        ] as [([String], Int64)]
    )
    func targets(options: [String], rows: Int64) async throws {
        try await withScratch { scratch in
            try await prepare(scratch)
            let out = scratch.path("out.db")
            _ = try await json(["restore", scratch.bucket, "-o", out] + options)
            #expect(try scratch.count(in: out) == rows)
        }
    }

    @Test(
        "refuses what it cannot give, and leaves nothing",
        arguments: [
            (["--txid", "4"], 1, "is not there yet: the newest is 0000000000000003"),
            (["--txid", "0"], 2, "is not a TXID"),
            (["--txid", "11112222333344445"], 2, "is not a TXID"),
            (["--txid", "x"], 2, "is not a TXID"),
            (["--timestamp", "2030-03-17T17:46:41Z"], 1, "nothing from before"),
            (["--timestamp", "yesterday"], 2, "RFC 3339"),
            (["--timestamp", "2030-02-30T00:00:00Z"], 2, "RFC 3339"),
            (["--txid", "1", "--timestamp", "2031-01-01T00:00:00Z"], 2, "exclude each other"),
            (["--integrity-check", "some"], 2, "is not one of none, quick, full"),
        ] as [([String], Int32, String)]
    )
    func refusals(options: [String], status: Int32, text: String) async throws {
        try await withScratch { scratch in
            try await prepare(scratch)
            let before = try scratch.contents()
            try await expectRefusal(
                ["restore", scratch.bucket, "-o", scratch.path("out.db")] + options,
                status: status,
                saying: text
            )
            #expect(try scratch.contents() == before)
        }
    }

    @Test(
        "presents a rollback-journal database, and the bucket's own bytes with --verbatim",
        arguments: [([], 1), (["--verbatim"], 2)] as [([String], UInt8)]
    )
    func header(options: [String], version: UInt8) async throws {
        try await withScratch { scratch in
            try await prepare(scratch)
            let out = scratch.path("out.db")
            _ = try await json(["restore", scratch.bucket, "-o", out] + options)
            let bytes = try Data(contentsOf: URL(filePath: out))
            #expect(Array(bytes[18..<20]) == [version, version])
        }
    }

    @Test("checks as asked", arguments: ["none", "quick", "full"])
    func integrityCheck(how: String) async throws {
        try await withScratch { scratch in
            try await prepare(scratch)
            let words = ["restore", scratch.bucket, "-o", scratch.path("out.db")]
            _ = try await json(words + ["--integrity-check", how])
        }
    }

    @Test("a damaged database is found by quick and full, and let through by none")
    func findsDamage() async throws {
        try await withScratch { scratch in
            // A root page that is no b-tree page, in a file whose checksums are all right.
            let app = try scratch.makeDatabase()
            let root = try #require(
                try app.value("SELECT rootpage FROM sqlite_schema WHERE name = 't'")?.integer
            )
            try app.close()
            try await succeed(
                "push",
                scratch.database,
                "--to",
                scratch.path("whole"),
                "--checkpoint-pages",
                "1"
            )
            let file = try FileHandle(forUpdating: URL(filePath: scratch.database))
            try file.seek(toOffset: UInt64(root - 1) * 4096)
            try file.write(contentsOf: Data(repeating: 0xEE, count: 4096))
            try file.close()
            // With the WAL gone, what the file holds is what SQLite reads.
            for name in ["app.db-wal", "app.db-shm", ".app.db-litestream"] {
                try FileManager.default.removeItem(atPath: scratch.path(name))
            }
            try await succeed("push", scratch.database, "--to", scratch.bucket)
            let words = ["restore", scratch.bucket, "-o", scratch.path("out.db")]
            let before = try scratch.contents()
            for how in ["quick", "full"] {
                let outcome = try await dormouse(words + ["--integrity-check", how])
                #expect(outcome.status == 1)
                #expect(outcome.stderr.contains("fails the integrity check"))
                #expect(try scratch.contents() == before)
            }
            _ = try await json(words + ["--integrity-check", "none"])
        }
    }

    @Test(
        "does not touch what is there, sidecars included, unless --force says so",
        arguments: ["out.db", "out.db-wal", "out.db-shm", "out.db-journal"]
    )
    func existing(name: String) async throws {
        try await withScratch { scratch in
            try await prepare(scratch)
            try Data("precious".utf8).write(to: URL(filePath: scratch.path(name)))
            let before = try scratch.contents()
            let words = ["restore", scratch.bucket, "-o", scratch.path("out.db")]
            try await expectRefusal(words, status: 1, saying: "overwrite with --force")
            #expect(try scratch.contents() == before)
            _ = try await json(words + ["--force"])
            #expect(try scratch.names().filter { $0.hasPrefix("out.db") } == ["out.db"])
            #expect(try scratch.count(in: scratch.path("out.db")) == 102)
        }
    }

    @Test("shows progress as plain lines where no terminal reads it")
    func plainProgress() async throws {
        try await withScratch { scratch in
            try await prepare(scratch)
            let outcome = try await dormouse(["restore", scratch.bucket, "-o", scratch.path("o")])
            #expect(outcome.status == 0)
            #expect(outcome.stderr.contains(/(?m)^restoring: .* in .*, .*\/s\n/))
            #expect(!outcome.stderr.contains("\r"))
            #expect(!outcome.stderr.contains("\u{1B}"))
        }
    }

    private static let script = URL(filePath: "/usr/bin/script")

    @Test(
        "redraws one line of progress on a terminal",
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: script.path),
            "script (util-linux, Debian: bsdutils) is not there to make a terminal with"
        )
    )
    func terminalProgress() async throws {
        try await withScratch { scratch in
            try await prepare(scratch)
            let command =
                "'\(Dormouse.binary.path)' restore '\(scratch.bucket)' -o '\(scratch.path("o"))'"
            let outcome = try await runProcess(
                Self.script,
                ["--quiet", "--return", "--command", command, "/dev/null"]
            )
            #expect(outcome.status == 0, "\(outcome.stdout)")
            // A carriage return before each drawing, and the rest of the line wiped.
            #expect(outcome.stdout.contains(/\rrestoring: .*\u{1B}\[K/))
            #expect(outcome.stdout.contains("left") || outcome.stdout.contains(" in "))
        }
    }
}
