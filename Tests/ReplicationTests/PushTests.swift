import Bucket
import Foundation
import LTXCodec
import Replication
import SQLiteBridge
import TestSupport
import Testing

@Suite("Push into a directory", .enabled(if: Peers.areInstalled, Peers.missing))
struct PushTests {
    @Test("the first push is a snapshot, the next ones are deltas, and Litestream restores each")
    func pushes() async throws {
        try await withSource { source in
            let replicator = source.replicator()
            try source.insert(50)
            let first = await replicator.push()
            #expect(first.outcome == .pushed)
            #expect(first.kinds == [.snapshot(.first)])
            #expect(first.txid == TXID(1) && first.remoteTXID == TXID(1))
            try await source.expectRestorable()

            for round in 2...5 {
                try source.insert(20)
                let push = await replicator.push()
                #expect(push.outcome == .pushed)
                #expect(push.kinds == [.wal])
                #expect(push.txid == TXID(UInt64(round)))
                try await source.expectRestorable()
            }
            await replicator.close()
        }
    }

    @Test("a push of nothing makes no file and is verified against the bucket")
    func pushesNothing() async throws {
        try await withSource { source in
            let replicator = source.replicator()
            _ = await replicator.push()
            for _ in 0..<3 {
                let push = await replicator.push()
                #expect(push.outcome == .inSync(verified: true))
                #expect(push.files == 0 && push.bytes == 0)
                #expect(push.txid == TXID(1))
            }
            await replicator.close()
        }
    }

    @Test("a relaunch goes on where the last process stopped")
    func relaunches() async throws {
        try await withSource { source in
            for round in 1...6 {
                let replicator = source.replicator()
                try source.insert(30)
                let push = await replicator.push()
                #expect(push.outcome == .pushed)
                #expect(push.kinds == [round == 1 ? .snapshot(.first) : .wal])
                await replicator.close()
            }
            try await source.expectRestorable()
        }
    }

    @Test("checkpoints restart the WAL and cost no snapshot", arguments: PinMode.allCases)
    func checkpoints(pin: PinMode) async throws {
        try await withSource { source in
            let replicator = source.replicator {
                $0.pin = pin
                $0.checkpointFrames = 50
            }
            var kinds: [SyncKind] = []
            var walBytes: Int64 = 0
            for _ in 0..<30 {
                try source.insert(60, bytes: 2000)
                let push = await replicator.push()
                #expect(push.outcome == .pushed)
                #expect(push.checkpoint?.result.isComplete == true)
                kinds += push.kinds
                walBytes = max(walBytes, push.walBytes)
            }
            #expect(kinds.dropFirst().allSatisfy { $0 == .wal }, "\(kinds)")
            #expect(walBytes < 400 * 4120)
            try await source.expectRestorable()
            await replicator.close()
        }
    }
}

@Suite("What happens before and without a push")
struct UnopenedTests {
    @Test("a push that cannot open the database counts, and the count outlives it")
    func countsUnopened() async throws {
        try await withSource { source in
            let replicator = source.replicator()
            #expect(await replicator.push().outcome == .pushed)
            await replicator.close()
            // Exclusive mode keeps every other connection out of a WAL-mode database.
            try source.app.close()
            let owner = try Connection(path: source.path)
            try owner.execute("PRAGMA locking_mode=EXCLUSIVE; INSERT INTO t(v) VALUES (1)")
            for count in 1...3 {
                let push = await source.replicator().push()
                guard case .retryable(.lockBusy, _) = push.outcome else {
                    Issue.record("\(push.outcome)")
                    return
                }
                #expect(push.streak.count == UInt32(count))
            }
            try owner.close()
            let last = source.replicator()
            let push = await last.push()
            #expect(push.outcome == .pushed && push.streak.count == 0)
            await last.close()
        }
    }

    @Test("a sync and a checkpoint without a bucket get over a lost place and a lost ledger")
    func syncsAlone() async throws {
        try await withSource { source in
            let first = source.replicator()
            #expect(await first.push().outcome == .pushed)
            await first.close()
            let meta = ReplicatorStatus.directory(of: source.path)
            for name in ["dormouse-ledger", "dormouse-state"] {
                try FileManager.default.removeItem(atPath: "\(meta)/\(name)")
            }
            try source.insert(3)
            let second = source.replicator()
            let sync = try await second.sync()
            #expect(sync.kind == .snapshot(.noLedger), "\(sync)")
            #expect(try await second.checkpoint().result.isComplete)
            #expect(await second.push().outcome == .pushed)
            await second.close()
        }
    }
}
