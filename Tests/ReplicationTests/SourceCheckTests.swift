import Bucket
import Foundation
import LTXCodec
import Replica
import Replication
import SQLiteBridge
import TestSupport
import Testing

@Suite("Compare a database with its bucket")
struct SourceCheckTests {
    @Test("full and fast agree that all is there, beside a resident replicator")
    func agrees() async throws {
        try await withSource { source in
            try source.insert(200)
            let replicator = source.replicator()
            #expect(await replicator.push().outcome == .pushed)
            let full = try await SourceCheck.run(database: source.path, bucket: source.bucket)
            #expect(full.verification.isEqual && full.isAtPlace && full.commitsBehind == 0)
            let fast = try await SourceCheck.runFast(database: source.path, bucket: source.bucket)
            #expect(fast.isEqual && fast.pagesCompared == full.verification.pagesCompared)
            await replicator.close()
        }
    }

    @Test("commits that are not pushed yet are left out and counted")
    func leavesOutNewCommits() async throws {
        try await withSource { source in
            try source.insert(200)
            let replicator = source.replicator()
            #expect(await replicator.push().outcome == .pushed)
            try source.insert(7)
            let full = try await SourceCheck.run(database: source.path, bucket: source.bucket)
            #expect(full.verification.isEqual && full.isAtPlace && full.commitsBehind == 7)
            let fast = try await SourceCheck.runFast(database: source.path, bucket: source.bucket)
            #expect(fast.isEqual && fast.commitsBehind == 7)
            await replicator.close()
        }
    }

    @Test("commits behind a database that was at rest are left out and counted, too")
    func leavesOutCommitsBehindRest() async throws {
        try await withSource { source in
            try source.insert(200)
            _ = try source.app.checkpoint(.truncate)
            let replicator = source.replicator()
            _ = await replicator.push()
            await replicator.close()
            try source.insert(2)
            let full = try await SourceCheck.run(database: source.path, bucket: source.bucket)
            #expect(full.verification.isEqual && full.isAtPlace)
            #expect(full.commitsBehind == 2)
            let fast = try await SourceCheck.runFast(database: source.path, bucket: source.bucket)
            #expect(fast.isEqual)
            #expect(fast.commitsBehind == 2)
        }
    }

    @Test("a page that changed behind SQLite's back is named by both")
    func namesDamage() async throws {
        try await withSource { source in
            try source.insert(200)
            let replicator = source.replicator()
            #expect(await replicator.push().outcome == .pushed)
            #expect(try await replicator.checkpoint().result.isComplete)
            try source.insert(1)
            #expect(await replicator.push().outcome == .pushed)
            // Written through the application's own raw bytes: nobody's locks are dropped.
            try damage(source.path, page: 5)
            let full = try await SourceCheck.run(database: source.path, bucket: source.bucket)
            #expect(full.verification.differing == [5])
            let fast = try await SourceCheck.runFast(database: source.path, bucket: source.bucket)
            #expect(fast.differing == [5] && fast.differingCount == 1)
            await replicator.close()
        }
    }

    @Test("the fast check is refused where it could not be trusted")
    func fastIsRefused() async throws {
        try await withSource { source in
            try source.insert(20)
            await #expect(throws: SourceCheck.FastCheckUnavailable.placeNotVisible) {
                try await SourceCheck.runFast(database: source.path, bucket: source.bucket)
            }
            let replicator = source.replicator()
            #expect(await replicator.push().outcome == .pushed)
            let other = source.directory.appending(path: "other").path
            try FileManager.default.copyItem(atPath: source.bucketPath, toPath: other)
            let newest = source.bucketPath + "/ltx/0/0000000000000002-0000000000000002.ltx"
            try FileManager.default.copyItem(
                atPath: source.bucketPath + "/ltx/0/0000000000000001-0000000000000001.ltx",
                toPath: newest
            )
            await #expect(
                throws: SourceCheck.FastCheckUnavailable.headDiffers(
                    acknowledged: TXID(1),
                    head: TXID(2)
                )
            ) {
                try await SourceCheck.runFast(database: source.path, bucket: source.bucket)
            }
            await replicator.close()
        }
    }

    @Test("the replicator's own verify pushes first and finds nothing that differs")
    func verifies() async throws {
        try await withSource { source in
            let replicator = source.replicator { $0.pin = .yield }
            for _ in 0..<3 {
                try source.insert(50)
                let (push, report) = try await replicator.verify()
                #expect(push.outcome == .pushed)
                #expect(report?.isEqual == true)
            }
            let (push, report) = try await replicator.verify()
            #expect(push.outcome == .inSync(verified: true))
            #expect(report?.isEqual == true && report?.pagesCompared ?? 0 > 0)
            await replicator.close()
        }
    }

    /// In a child process: closing a descriptor here would drop the locks of this process.
    private func damage(_ path: String, page: Int) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/dd")
        process.arguments = [
            "if=/dev/zero", "of=\(path)", "bs=64", "count=1", "seek=\((page - 1) * 64 + 8)",
            "conv=notrunc",
        ]
        process.standardError = FileHandle.nullDevice
        try process.runWithSignalsUnblocked()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }
}

@Suite("Several databases and pools in one process")
struct SharedProcessTests {
    // External checkpointing is the opener's default, not something to remember.
    @Test("two pools that forgot every setting never checkpoint, over their last close too")
    func poolsNeverCheckpoint() async throws {
        try await withSource { one in
            try await withSource { other in
                let replicators = [one.replicator(), other.replicator()]
                for replicator in replicators {
                    #expect(await replicator.push().outcome == .pushed)
                }
                for source in [one, other] {
                    var pool = try (0..<3).map { _ in try Connection(path: source.path) }
                    for connection in pool {
                        for _ in 0..<500 {
                            try connection.execute("INSERT INTO t(v) VALUES (randomblob(3000))")
                        }
                    }
                    pool.removeAll()
                }
                for (replicator, source) in zip(replicators, [one, other]) {
                    let push = await replicator.push()
                    #expect(push.outcome == .pushed)
                    // All of it was still in the WAL, far above SQLite's own threshold.
                    #expect(push.kinds.allSatisfy { $0 == .wal } && push.pages > 1500)
                    #expect(push.walBytes > 1500 * 4120)
                    let (_, report) = try await replicator.verify()
                    #expect(report?.isEqual == true)
                    await replicator.close()
                    _ = source
                }
            }
        }
    }

    @Test("a second replicator of one database is refused, naming the first")
    func refusesSecond() async throws {
        try await withSource { source in
            let first = source.replicator()
            #expect(await first.push().outcome == .pushed)
            let second = source.replicator()
            let push = await second.push()
            guard case .unavailable(.databaseClaimed, let detail) = push.outcome else {
                Issue.record("\(push.outcome)")
                return
            }
            #expect(detail.contains("process \(getpid())"))
            await first.close()
            #expect(await second.push().outcome == .inSync(verified: true))
            await second.close()
        }
    }
}
