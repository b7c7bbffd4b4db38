import Foundation
import SQLiteBridge
import TestSupport
import Testing

@Suite("dormouse verify")
struct VerifyTests {
    static let keys: Set<String> = [
        "equal", "txid", "pages_compared", "pages_differing", "differing", "database_pages",
        "bucket_pages", "commits_behind", "at_published_state",
    ]

    @Test("says equal, with the pages compared")
    func equal() async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase()
            try await succeed("push", scratch.database, "--to", scratch.bucket)
            let report = try await json(["verify", scratch.database, scratch.bucket])
            #expect(Set(report.keys) == Self.keys)
            #expect(report["equal"] as? Bool == true)
            #expect(report["pages_compared"] as? Int == report["database_pages"] as? Int)
            #expect(report["pages_differing"] as? Int == 0)
            let text = try await succeed("verify", scratch.database, scratch.bucket)
            #expect(text.hasPrefix("equal: "))
            try app.close()
        }
    }

    @Test("names the pages of the database that were changed behind its back")
    func differing() async throws {
        try await withScratch { scratch in
            try scratch.makeDatabase().close()
            try await succeed(
                "push",
                scratch.database,
                "--to",
                scratch.bucket,
                "--checkpoint-pages",
                "1"
            )
            let file = try FileHandle(forUpdating: URL(filePath: scratch.database))
            try file.seek(toOffset: 2 * 4096 + 4000)
            try file.write(contentsOf: Data("changed".utf8))
            try file.close()
            // With the WAL gone, what the file holds is what SQLite reads.
            for name in ["app.db-wal", "app.db-shm"] {
                try FileManager.default.removeItem(atPath: scratch.path(name))
            }
            let report = try await json(["verify", scratch.database, scratch.bucket], status: 1)
            #expect(report["equal"] as? Bool == false)
            #expect(report["differing"] as? [Int] == [3])
            let text = try await dormouse(["verify", scratch.database, scratch.bucket])
            #expect(text.status == 1)
            #expect(text.stdout.contains("different: 1 pages"))
            #expect(text.stdout.contains(": 3"))
        }
    }

    @Test("compares with another database's bucket to the last page")
    func another() async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase()
            try await succeed("push", scratch.database, "--to", scratch.bucket)
            let other = scratch.path("other.db")
            try await succeed("restore", scratch.bucket, "-o", other, "--verbatim")
            do {
                let connection = try Connection(path: other)
                try connection.execute("DELETE FROM t")
            }
            let report = try await json(["verify", other, scratch.bucket], status: 1)
            #expect(report["equal"] as? Bool == false)
            try app.close()
        }
    }

    @Test("leaves out, and counts, what a running replicator has not yet pushed")
    func besideReplicator() async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase()
            try await withRunning(
                ["replicate", scratch.database, "--to", scratch.bucket, "--interval", "1h"]
            ) { running in
                try await running.line(with: "outcome=pushed")
                try scratch.insert(1, into: app)
                try scratch.insert(1, into: app)
                let report = try await json(["verify", scratch.database, scratch.bucket])
                #expect(report["equal"] as? Bool == true)
                #expect(report["commits_behind"] as? Int == 2)
                #expect(report["at_published_state"] as? Bool == true)
                running.signal(SIGTERM)
                #expect(await running.status() == 0)
            }
            let report = try await json(["verify", scratch.database, scratch.bucket])
            #expect(report["commits_behind"] as? Int == 0)
            try app.close()
        }
    }
}

@Suite("dormouse status")
struct StatusTests {
    @Test("of a database: positions, last push, streak, backlog, WAL")
    func database() async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase()
            try await succeed("push", scratch.database, "--to", scratch.bucket)
            let status = try await json(["status", scratch.database])
            #expect(
                Set(status.keys) == [
                    "database", "database_bytes", "wal_bytes", "lineage", "txid", "place",
                    "wal_frames_read", "streak", "last_push", "buckets",
                ]
            )
            #expect(status["txid"] as? String == "0000000000000001")
            #expect(status["place"] as? String == "cursor")
            #expect((status["wal_frames_read"] as? Int ?? 0) > 0)
            #expect(status["streak"] as? Int == 0)
            let last = try #require(status["last_push"] as? [String: Any])
            #expect(
                Set(last.keys) == [
                    "at", "outcome", "reason", "detail", "sync_kind", "bytes", "pages",
                    "backlog_files", "backlog_bytes",
                ]
            )
            #expect(last["outcome"] as? String == "pushed")
            let buckets = try #require(status["buckets"] as? [[String: Any]])
            #expect(buckets.count == 1)
            #expect(
                Set(buckets[0].keys) == [
                    "address", "acknowledged_txid", "backlog_files", "backlog_bytes",
                ]
            )
            #expect(buckets[0]["acknowledged_txid"] as? String == "0000000000000001")
            let text = try await succeed("status", scratch.database)
            #expect(text.contains("txid  0000000000000001\n"))
            #expect(text.contains(scratch.bucket))
            try app.close()
        }
    }

    @Test("of a bucket: its head, and the files of each level")
    func bucket() async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase()
            try await succeed("push", scratch.database, "--to", scratch.bucket)
            try scratch.insert(1, into: app)
            try await succeed("push", scratch.database, "--to", scratch.bucket)
            let status = try await json(["status", scratch.bucket])
            #expect(
                Set(status.keys) == ["bucket", "txid", "files", "bytes", "newest", "levels"]
            )
            #expect(status["txid"] as? String == "0000000000000002")
            let levels = try #require(status["levels"] as? [[String: Any]])
            #expect(levels.count == 1)
            #expect(
                Set(levels[0].keys) == ["level", "files", "bytes", "min_txid", "max_txid"]
            )
            #expect(levels[0]["files"] as? Int == 2)
            let text = try await succeed("status", scratch.bucket)
            #expect(text.contains("0000000000000001  0000000000000002"))
            try app.close()
        }
    }

    @Test("a push that failed is there, with what it left to do")
    func failure() async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase()
            try Data().write(to: URL(filePath: scratch.bucket))
            _ = try await dormouse(["push", scratch.database, "--to", scratch.bucket])
            let status = try await json(["status", scratch.database])
            let last = try #require(status["last_push"] as? [String: Any])
            #expect(last["outcome"] as? String == "unavailable")
            #expect(last["reason"] as? String == "not-a-bucket")
            #expect(last["backlog_files"] as? Int == 1)
            #expect(status["txid"] as? String == "0000000000000001")
            try app.close()
        }
    }
}
