import Bucket
import Foundation
import Handover
import LTXCodec
import Replication
import TestSupport
import Testing

@Suite("How long the transfer service waits")
struct BackoffTests {
    @Test("the delays grow to a minute, half of each is chance, and a success begins anew")
    func grows() {
        for (jitter, factor) in [(0.0, 0.5), (1.0, 1.0), (7.0, 1.0), (-1.0, 0.5)] {
            var backoff = Backoff()
            for seconds in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
                let delay = backoff.failed(asked: nil, moved: false, jitter: jitter)
                #expect(delay == .seconds(seconds) * factor)
            }
            backoff.succeeded()
            #expect(backoff.failed(asked: nil, moved: false, jitter: 1) == .seconds(1))
        }
    }

    @Test("an upload that moved has not failed as far as the delay is concerned")
    func moved() {
        var backoff = Backoff()
        for _ in 0..<5 { _ = backoff.failed(asked: nil, moved: false, jitter: 1) }
        #expect(backoff.failed(asked: nil, moved: true, jitter: 1) == .seconds(1))
        #expect(backoff.failed(asked: nil, moved: false, jitter: 1) == .seconds(2))
    }

    @Test("a server is obeyed, up to an hour, and never asked sooner than by oneself")
    func asked() {
        for (asked, delay) in [(30, 30), (7200, 3600), (0, 1), (-5, 1)] {
            var backoff = Backoff()
            let result = backoff.failed(asked: .seconds(asked), moved: false, jitter: 1)
            #expect(result == .seconds(delay))
        }
    }
}

@Suite("What is handed over and nobody comes for", .enabled(if: Peers.areInstalled, Peers.missing))
struct HandingOverTests {
    private func withSpool(
        _ backlog: BacklogPolicy = BacklogPolicy(),
        _ body: (Source, Replicator, Spool) async throws -> Void
    ) async throws {
        try await withSource { source in
            let spool = Spool(source.directory.appending(path: "spool").path)
            let replicator = source.replicator {
                $0.spool = spool.path
                $0.backlog = backlog
            }
            try await body(source, replicator, spool)
            await replicator.close()
        }
    }

    private func serve(_ source: Source, _ spool: Spool) async throws -> TransferEnding {
        try await TransferService(spool: spool, bucket: source.bucket, once: true) { _ in }.run()
    }

    @Test("past its limit the backlog is given up, and leaves the spool with it")
    func givenUp() async throws {
        try await withSpool(BacklogPolicy(budget: 8000, limit: 20_000)) {
            source,
            replicator,
            spool in
            try source.insert(3)
            #expect(await replicator.push().outcome == .pushed)
            var events: [BacklogEvent] = []
            var pushes = 0
            while events.isEmpty, pushes < 100 {
                pushes += 1
                try source.insert(10)
                let push = await replicator.push(handOver: true)
                #expect(push.outcome == .inSync(verified: false))
                events = push.backlogEvents
            }
            // What is in the spool is not merged: it would be shipped twice.
            guard case .gaveUp(let files, _)? = events.first else {
                Issue.record("\(events)")
                return
            }
            #expect(files == pushes)
            #expect(try spool.entries().isEmpty)
            try source.insert(1)
            let next = await replicator.push()
            #expect(next.outcome == .pushed)
            #expect(next.kind == .rescan(.backlogGivenUp))
            try await source.expectRestorable("after a backlog was given up")
        }
    }

    @Test("a snapshot that is postponed gets neither into the spool nor into the bucket")
    func postponed() async throws {
        try await withSpool { source, replicator, spool in
            try source.insert(3)
            replicator.postponeSnapshots(true)
            let push = await replicator.push(handOver: true)
            #expect(push.outcome.reason == "postponed")
            #expect(try spool.entries().isEmpty)
            replicator.postponeSnapshots(false)
            #expect(await replicator.push(handOver: true).handover?.files == 1)
        }
    }

    @Test("a push in the foreground sends what was handed over, and takes it out")
    func takenBack() async throws {
        try await withSpool { source, replicator, spool in
            for _ in 0..<3 {
                try source.insert(3)
                #expect(await replicator.push(handOver: true).handover?.files == 1)
            }
            #expect(try spool.entries().count == 3)
            let push = await replicator.push()
            #expect(push.outcome == .pushed)
            #expect(push.files == 3)
            #expect(try !spool.isInUse)
            try await source.expectRestorable("sent by the agent")
        }
    }

    @Test("what was at rest when it was converted is handed over too")
    func atRest() async throws {
        try await withSpool { source, replicator, spool in
            try source.insert(3)
            #expect(await replicator.push().outcome == .pushed)
            try source.insert(3)
            try await replicator.convert()
            #expect(try spool.entries().count == 1)
            let findings = await replicator.takeFindings()
            #expect(findings.syncs.map(\.kind) == [.wal])
            #expect(findings.handover?.files == 1)
            #expect(findings.txid == TXID(2))
            #expect(await replicator.takeFindings().syncs.isEmpty)
            #expect(try await serve(source, spool) == .empty)
            let push = await replicator.push(handOver: true)
            #expect(push.receipts.map(\.isConfirmed) == [true])
            #expect(push.remoteTXID == TXID(2))
            try await source.expectRestorable("converted at rest")
        }
    }

    @Test("a receipt is not believed: the bucket was set back meanwhile, and that is found out")
    func untrueReceipt() async throws {
        try await withSpool { source, replicator, spool in
            try source.insert(3)
            #expect(await replicator.push().outcome == .pushed)
            for _ in 0..<2 {
                try source.insert(3)
                #expect(await replicator.push(handOver: true).handover?.files == 1)
            }
            #expect(try await serve(source, spool) == .empty)
            let files = try await source.bucket.list(level: 0)
            try await source.bucket.delete(Array(files.suffix(1)))
            let push = await replicator.push()
            #expect(push.receipts.map(\.isConfirmed) == [false, false])
            #expect(push.outcome == .pushed)
            #expect(push.remoteTXID >= TXID(3))
            try await source.expectRestorable("set back under a receipt")
        }
    }

    @Test("another lineage's manifests leave the spool when the agent comes by")
    func lostState() async throws {
        try await withSpool { source, replicator, spool in
            try source.insert(3)
            #expect(await replicator.push().outcome == .pushed)
            try source.insert(3)
            #expect(await replicator.push(handOver: true).handover?.files == 1)
            await replicator.close()
            try FileManager.default.removeItem(atPath: source.metaPath + "/dormouse-state")
            let again = await replicator.push(handOver: true)
            #expect(again.outcome == .inSync(verified: false), "\(again.outcome)")
            if case .snapshot = again.kind { Issue.record("\(again.kind)") }
            #expect(try await serve(source, spool) == .empty)
            #expect(await replicator.push().outcome == .inSync(verified: true))
            #expect(try !spool.isInUse)
            try await source.expectRestorable("after the state was lost")
        }
    }
}
