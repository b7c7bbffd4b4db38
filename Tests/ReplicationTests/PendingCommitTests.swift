import Foundation
import Replication
import SQLiteBridge
import TestSupport
import Testing

@Suite("A commit between the WAL and its index")
struct PendingCommitTests {
    /// Copies the header of the wal-index, as another process: a descriptor of ours that is closed
    /// would drop SQLite's locks on the file.
    private func copyIndex(_ from: String, _ to: String) async throws {
        let copied = try await runProcess(
            URL(filePath: "/bin/dd"),
            ["if=\(from)", "of=\(to)", "bs=96", "count=1", "conv=notrunc", "status=none"]
        )
        try #require(copied.status == 0, "\(copied.stderr)")
    }

    // A writer writes its frames, which wakes whoever watches the file, and counts them in the
    // index only then, which wakes nobody.
    @Test("is not shipped, and the record says that it is on its way")
    func isPending() async throws {
        try await withSource { source in
            let replicator = source.replicator()
            try source.insert()
            #expect(await replicator.push().outcome == .pushed)
            let index = source.path + "-shm"
            let before = source.directory.appending(path: "index-before").path
            let after = source.directory.appending(path: "index-after").path
            try await copyIndex(index, before)
            try source.insert()
            try await copyIndex(index, after)

            try await copyIndex(before, index)
            let early = await replicator.push()
            #expect(early.outcome == .inSync(verified: true))
            #expect(early.isCommitPending)

            try await copyIndex(after, index)
            let late = await replicator.push()
            #expect(late.outcome == .pushed)
            #expect(late.kinds == [.wal])
            #expect(!late.isCommitPending)
            await replicator.close()
        }
    }

    @Test("is no matter where nothing follows the place")
    func isNot() async throws {
        try await withSource { source in
            let replicator = source.replicator()
            try source.insert()
            #expect(await !replicator.push().isCommitPending)
            // Frames without a commit frame: a transaction too big for the cache, open.
            try source.app.execute(
                "PRAGMA cache_size=1; BEGIN; "
                    + "INSERT INTO t(v) WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 "
                    + "FROM n LIMIT 2000) SELECT randomblob(500) FROM n"
            )
            let record = await replicator.push()
            #expect(record.outcome == .inSync(verified: true))
            #expect(!record.isCommitPending)
            try source.app.execute("ROLLBACK")
            await replicator.close()
        }
    }
}
