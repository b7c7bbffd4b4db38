import Foundation
import SQLiteBridge
import TestSupport
import Testing

@Suite("dormouse push")
struct PushTests {
    /// The keys of docs/cli.md.
    static let keys: Set<String> = [
        "outcome", "reason", "detail", "sync_kind", "evidence", "txid", "remote_txid", "files",
        "bytes", "pages", "backlog_files", "backlog_bytes", "spooled_files", "spooled_bytes",
        "wal_bytes", "database_bytes",
        "streak", "lineage", "lineage_finding", "checkpointed", "duration_usec", "notes",
        "ingest",
    ]

    @Test("ships a snapshot once, then what changed, then nothing")
    func outcomes() async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase()
            let words = ["push", scratch.database, "--to", scratch.bucket]
            let first = try await json(words)
            #expect(Set(first.keys) == Self.keys)
            #expect(first["outcome"] as? String == "pushed")
            #expect(first["sync_kind"] as? String == "snapshot")
            #expect(first["evidence"] as? String == "first")
            #expect(first["lineage_finding"] as? String == "fresh")
            #expect(first["txid"] as? String == "0000000000000001")
            #expect(first["remote_txid"] as? String == "0000000000000001")
            #expect(first["files"] as? Int == 1)

            try scratch.insert(1, into: app)
            let second = try await json(words)
            #expect(second["sync_kind"] as? String == "wal")
            #expect(second["txid"] as? String == "0000000000000002")
            let pages = try #require(second["pages"] as? Int)
            #expect((1...3).contains(pages))

            let third = try await json(words)
            #expect(third["outcome"] as? String == "in-sync")
            #expect(third["reason"] as? String == "verified")
            #expect(third["sync_kind"] as? String == "none")
            #expect(third["files"] as? Int == 0)
            try app.close()
        }
    }

    @Test("prints one line a person can read")
    func line() async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase()
            let line = try await succeed("push", scratch.database, "--to", scratch.bucket)
            #expect(line.hasPrefix("pushed, txid 0000000000000001, "))
            #expect(line.contains(" pages, "))
            #expect(line.contains("snapshot (first)"))
            #expect(line.split(separator: "\n").count == 1)
            try app.close()
        }
    }

    @Test("--checkpoint-pages 1 checkpoints at once, and the next push is a delta")
    func checkpoint() async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase()
            let words = ["push", scratch.database, "--to", scratch.bucket]
            let first = try await json(words + ["--checkpoint-pages", "1"])
            #expect(first["checkpointed"] as? Bool == true)
            try scratch.insert(1, into: app)
            let second = try await json(words + ["--pin", "yield"])
            // The next process finds a WAL that began again and ends at its place, where it could
            // have been cut; that the database file was not written since is the proof.
            #expect(second["sync_kind"] as? String == "wal")
            #expect(second["evidence"] as? String == "untouched")
            let pages = try #require(second["pages"] as? Int)
            #expect((1...3).contains(pages))
            #expect(second["checkpointed"] is NSNull)
            try app.close()
        }
    }

    @Test("a bucket that somebody emptied: rebase fills it again, stop refuses")
    func onConflict() async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase()
            let words = ["push", scratch.database, "--to", scratch.bucket]
            _ = try await json(words)
            try FileManager.default.removeItem(atPath: scratch.bucket)
            try await expectRefusal(
                words + ["--on-conflict", "stop"],
                status: 3,
                saying: "not as it was left (wiped)"
            )
            #expect(!FileManager.default.fileExists(atPath: scratch.bucket))
            let healed = try await json(words + ["--on-conflict", "rebase"])
            #expect(healed["lineage_finding"] as? String == "wiped")
            #expect(healed["evidence"] as? String == "bucket-wiped")
            try await succeed("verify", scratch.database, scratch.bucket)
            try app.close()
        }
    }

    @Test(
        "wrong usage ends with 2 and says where to read on",
        arguments: [
            (["push"], "DB is missing"),
            (["push", "a.db"], "--to URL is missing"),
            (["push", "a.db", "--to"], "--to"),
            (["push", "a.db", "--to", "b", "more"], "one argument too many"),
            (["push", "a.db", "--to", "b", "--pin", "tight"], "is not one of hold, yield"),
            (["push", "a.db", "--to", "b", "--checkpoint-pages", "0"], "from 1 to 1000000"),
            (["push", "a.db", "--to", "b", "--on-conflict", "x"], "is not one of rebase, stop"),
            (["push", "a.db", "--to", "b", "--jsn"], "--jsn"),
            (["psuh"], "did you mean push?"),
        ]
    )
    func usage(words: [String], text: String) async throws {
        try await expectRefusal(words, status: 2, saying: text)
        #expect(try await dormouse(words).stderr.contains("--help"))
    }
}
