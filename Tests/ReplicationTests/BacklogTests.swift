import Bucket
import Foundation
import LTXCodec
import Replication
import SQLiteBridge
import TestSupport
import Testing

@Suite("What waits for a bucket: the rule")
struct BacklogPolicyTests {
    private static let rows: [(String, [Int64], BacklogPolicy.Action)] = [
        ("nothing", [], .keep),
        ("within the budget", [50, 49], .keep),
        ("exactly the budget", [100], .keep),
        ("above it, and enough came since the first", [80, 25], .merge),
        ("above it, but hardly anything came since", [100, 24], .keep),
        ("one file cannot be merged", [150], .keep),
        ("above the limit, several are merged first, however small the rest", [400, 1], .merge),
        ("above the limit, one is given up", [401], .giveUp),
        ("exactly the limit", [400], .keep),
    ]

    @Test("sizes decide", arguments: rows)
    func decides(_ row: (name: String, sizes: [Int64], action: BacklogPolicy.Action)) {
        let policy = BacklogPolicy(budget: 100, limit: 400)
        #expect(policy.action(sizes: row.sizes) == row.action, "\(row.name)")
    }

    @Test("a limit below the budget is the budget")
    func limitIsNotBelowBudget() {
        #expect(BacklogPolicy(budget: 10, limit: 1).limit == 10)
    }
}

@Suite("What waits for a bucket", .enabled(if: Peers.areInstalled, Peers.missing))
struct BacklogTests {
    /// A replicator whose bucket's parent directory can be taken away.
    private func withDetachableBucket(
        _ backlog: BacklogPolicy,
        _ body: (Source, Replicator, _ detach: () throws -> Void, _ attach: () throws -> Void)
            async throws -> Void
    ) async throws {
        try await withSource { source in
            let mount = source.directory.appending(path: "mount")
            try FileManager.default.createDirectory(at: mount, withIntermediateDirectories: true)
            let away = source.directory.appending(path: "away")
            source.bucketPath = mount.appending(path: "bucket").path
            let replicator = source.replicator {
                $0.backlog = backlog
                $0.checkpointFrames = 100
            }
            try await body(
                source,
                replicator,
                { try FileManager.default.moveItem(at: mount, to: away) },
                { try FileManager.default.moveItem(at: away, to: mount) }
            )
            await replicator.close()
        }
    }

    @Test("offline, deltas are made and the WAL is checkpointed; online, all of it is shipped")
    func offlineConverts() async throws {
        try await withDetachableBucket(BacklogPolicy()) { source, replicator, detach, attach in
            #expect(await replicator.push().outcome == .pushed)
            try detach()
            var walBytes: Int64 = 0
            for round in 1...10 {
                try source.insert(60, bytes: 1000)
                let push = await replicator.push()
                guard case .unavailable(.notABucket, _) = push.outcome else {
                    Issue.record("\(push.outcome)")
                    return
                }
                #expect(push.kinds.allSatisfy { $0 == .wal })
                #expect(push.backlogFiles >= round)
                walBytes = max(walBytes, push.walBytes)
            }
            #expect(walBytes < 600 * 4120)
            try attach()
            let push = await replicator.push()
            #expect(push.outcome == .pushed && push.files >= 10 && push.backlogFiles == 0)
            try await source.expectRestorable()
        }
    }

    @Test("past the budget, waiting files become one, and a relaunch ships it")
    func merges() async throws {
        let policy = BacklogPolicy(budget: 100_000, limit: 1 << 30)
        try await withDetachableBucket(policy) { source, replicator, detach, attach in
            #expect(await replicator.push().outcome == .pushed)
            try detach()
            var events: [BacklogEvent] = []
            for _ in 0..<12 {
                try source.app.execute("DELETE FROM t")
                try source.insert(40, bytes: 1000)
                events += await replicator.push().backlogEvents
            }
            #expect(!events.isEmpty)
            for event in events {
                guard case .merged(let files, let bytes, let size) = event else {
                    Issue.record("\(event)")
                    return
                }
                #expect(files > 1 && size < bytes)
            }
            await replicator.close()
            try attach()
            let relaunched = source.replicator()
            let push = await relaunched.push()
            #expect(push.outcome == .pushed && push.kinds.isEmpty && push.files < 12)
            try await source.expectRestorable()
            try source.insert(5)
            #expect(await relaunched.push().kinds == [.wal])
            try await source.expectRestorable()
            await relaunched.close()
        }
    }

    @Test("past the limit it is given up, and the next push that gets through is one delta")
    func givesUp() async throws {
        let policy = BacklogPolicy(budget: 20_000, limit: 60_000)
        try await withDetachableBucket(policy) { source, replicator, detach, attach in
            try source.insert(400, bytes: 1000)
            let first = await replicator.push()
            #expect(first.outcome == .pushed)
            try detach()
            var gaveUp = 0
            var walBytes: Int64 = 0
            for _ in 0..<20 {
                try source.insert(20, bytes: 1000)
                let push = await replicator.push()
                for case .gaveUp in push.backlogEvents { gaveUp += 1 }
                walBytes = max(walBytes, push.walBytes)
            }
            #expect(gaveUp == 1)
            // 400 commits of some pages each wrote more than twice that.
            #expect(
                walBytes < first.walBytes + 250 * 4120,
                "\(walBytes), at first \(first.walBytes)"
            )
            try attach()
            let push = await replicator.push()
            #expect(push.outcome == .pushed)
            #expect(push.kinds == [.rescan(.backlogGivenUp)])
            #expect(push.pages < 200)
            try await source.expectRestorable()
            try source.insert(5)
            #expect(await replicator.push().kinds == [.wal])
            try await source.expectRestorable()
        }
    }

    @Test("given up stays given up over a relaunch")
    func relaunchKeepsGivenUp() async throws {
        let policy = BacklogPolicy(budget: 20_000, limit: 40_000)
        try await withDetachableBucket(policy) { source, replicator, detach, attach in
            #expect(await replicator.push().outcome == .pushed)
            try detach()
            try source.insert(100, bytes: 1000)
            let push = await replicator.push()
            #expect(push.backlogEvents.count == 1 && push.backlogFiles == 0)
            await replicator.close()
            let relaunched = source.replicator { $0.backlog = policy }
            try source.insert(10)
            let offline = await relaunched.push()
            #expect(offline.kinds.isEmpty && offline.backlogFiles == 0)
            try attach()
            #expect(await relaunched.push().kinds == [.rescan(.backlogGivenUp)])
            try await source.expectRestorable()
            await relaunched.close()
        }
    }

    @Test("a never-pushed database that is given up begins with a snapshot when there is a bucket")
    func givesUpFirstSnapshot() async throws {
        let policy = BacklogPolicy(budget: 10_000, limit: 20_000)
        try await withDetachableBucket(policy) { source, replicator, detach, attach in
            try source.insert(100, bytes: 1000)
            try detach()
            #expect(await replicator.push().backlogEvents.count == 1)
            #expect(await replicator.push().kinds.isEmpty)
            try attach()
            #expect(await replicator.push().kinds == [.snapshot(.first)])
            try await source.expectRestorable()
        }
    }
}
