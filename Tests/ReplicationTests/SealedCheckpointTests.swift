import Bucket
import Foundation
import LTXCodec
import Replication
import SQLiteBridge
import TestSupport
import Testing

@Suite("Sealed checkpoints", .serialized, .enabled(if: Peers.areInstalled, Peers.missing))
struct SealedCheckpointTests {
    /// In each mode; the long run makes twice as many.
    private static let rounds =
        ProcessInfo.processInfo.environment["DORMOUSE_FULL"] == nil ? 100 : 200

    @Test("200 of them under a writer at full speed cost no commit", arguments: PinMode.allCases)
    func underLoad(pin: PinMode) async throws {
        try await withSource { source in
            let foreign = try ForeignProcess(source.path)
            try foreign.open()
            try foreign.sql("PRAGMA wal_autocheckpoint=0")
            try foreign.sql("PRAGMA synchronous=NORMAL")
            let replicator = source.replicator {
                $0.pin = pin
                $0.checkpointFrames = 1
            }
            #expect(await replicator.push().outcome == .pushed)
            let stop = source.directory.appending(path: "stop").path
            try foreign.startLoad(until: stop)
            var checkpoints = 0
            var complete = 0
            var kinds: [SyncKind: Int] = [:]
            var proofs: [String: Int] = [:]
            var (held, waited) = (Duration.zero, Duration.zero)
            var wal: Int64 = 0
            while checkpoints < Self.rounds {
                let push = await replicator.push()
                #expect(push.outcome.isSuccess, "\(push.outcome)")
                guard push.outcome.isSuccess else { break }
                for report in push.syncs {
                    kinds[report.kind, default: 0] += 1
                    if let proof = report.proof { proofs[proof.rawValue, default: 0] += 1 }
                }
                wal = max(wal, push.walBytes)
                guard let checkpoint = push.checkpoint else { continue }
                checkpoints += 1
                complete += checkpoint.result.isComplete ? 1 : 0
                held = max(held, checkpoint.lockHeld)
                waited = max(waited, checkpoint.lockWait)
            }
            #expect(FileManager.default.createFile(atPath: stop, contents: nil))
            let commits = try foreign.finishLoad()
            #expect(await replicator.push().outcome.isSuccess)
            print(
                "pin \(pin.rawValue): \(checkpoints) checkpoints, \(complete) complete, "
                    + "\(commits) commits, a writer held for at most \(held), "
                    + "waited for \(waited), WAL at most \(wal) bytes, \(kinds), \(proofs)"
            )
            #expect(Set(kinds.keys).isSubset(of: [.wal, .nothing]), "\(kinds)")
            #expect(complete >= Self.rounds * 9 / 10)
            // The file keeps the length of the longest generation, which depends on how busy the
            // machine is; without checkpoints it would hold a frame or more for each commit.
            #expect(wal < Int64(commits) * 4120 / 2)
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("a reader of another process keeps the generation and costs nothing else (B21)")
    func longReader() async throws {
        try await withSource { source in
            let replicator = source.replicator { $0.checkpointFrames = 20 }
            try source.insert(30)
            #expect(await replicator.push().outcome == .pushed)
            let foreign = try ForeignProcess(source.path)
            try foreign.open()
            try foreign.sql("BEGIN")
            _ = try foreign.sql("SELECT count(*) FROM t")
            var attempts = 0
            for _ in 0..<20 {
                try source.insert(1)
                let push = await replicator.push()
                #expect(push.kinds == [.wal])
                attempts += push.checkpoint == nil ? 0 : 1
            }
            #expect(attempts < 20)
            try foreign.sql("ROLLBACK")
            try source.insert(1)
            let freed = await replicator.push()
            #expect(freed.checkpoint?.result.isComplete == true)
            try source.insert(1)
            #expect(await replicator.push().kinds == [.wal])
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("a writer that does not let go puts a checkpoint off, not the push")
    func longWriter() async throws {
        try await withSource { source in
            let replicator = source.replicator {
                $0.checkpointFrames = 5
                $0.checkpointLimits.lockWait = .milliseconds(20)
            }
            try source.insert(30)
            let foreign = try ForeignProcess(source.path)
            try foreign.open()
            try foreign.sql("BEGIN IMMEDIATE")
            try foreign.insert()
            let push = await replicator.push()
            #expect(push.outcome == .pushed, "\(push.outcome)")
            #expect(push.checkpoint == nil)
            #expect(!push.notes.isEmpty)
            try foreign.sql("COMMIT")
            #expect(await replicator.push().outcome == .pushed)
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("an idle database makes no file and no second checkpoint (B17)")
    func idle() async throws {
        try await withSource { source in
            let replicator = source.replicator { $0.checkpointFrames = 10 }
            try source.insert(100)
            let first = await replicator.push()
            #expect(first.checkpoint != nil)
            for _ in 0..<10 {
                let push = await replicator.push()
                #expect(push.outcome == .inSync(verified: true))
                #expect(push.checkpoint == nil && push.txid == first.txid)
            }
            await replicator.close()
        }
    }

    @Test("frames of a running transaction are left alone until it commits (B12)")
    func runningTransaction() async throws {
        try await withSource { source in
            let replicator = source.replicator()
            try source.insert(400, bytes: 1000)
            #expect(await replicator.push().outcome == .pushed)
            let foreign = try ForeignProcess(source.path)
            try foreign.open()
            try foreign.sql("PRAGMA cache_size=10")
            try foreign.sql("BEGIN")
            for _ in 0..<2 {
                try foreign.sql("UPDATE t SET v = randomblob(1000)")
                let push = await replicator.push()
                #expect(push.outcome == .inSync(verified: true))
            }
            try foreign.sql("COMMIT")
            #expect(await replicator.push().kinds == [.wal])
            try await source.expectRestorable()
            // And one that is rolled back after it was spilled.
            try foreign.sql("BEGIN")
            try foreign.sql("UPDATE t SET v = randomblob(1000)")
            #expect(await replicator.push().outcome == .inSync(verified: true))
            try foreign.sql("ROLLBACK")
            #expect(await replicator.push().outcome == .inSync(verified: true))
            try foreign.insert(3)
            #expect(await replicator.push().kinds == [.wal])
            try await source.expectRestorable()
            await replicator.close()
        }
    }
}
