import Foundation
import TestSupport
import Testing

/// Kills at each step of handing over and of the transfer service.
@Suite(
    "A kill at each step of a hand-over",
    .enabled(if: Peers.areInstalled, Peers.missing),
    .timeLimit(.minutes(5))
)
struct TransferFaultTests {
    private static let isFull = ProcessInfo.processInfo.environment["DORMOUSE_FULL"] != nil

    /// A bucket that holds the base, and a device with something new.
    private func withScene(
        _ body: (TransferScene, _ bucket: String) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let bucket = directory.appending(path: "bucket").path
            let scene = try TransferScene(directory.appending(path: "d"), url: bucket)
            try scene.device.write(rows: 200)
            #expect(try await scene.device.push(to: bucket).outcome == "pushed")
            try scene.device.write(rows: 5)
            try await body(scene, bucket)
        }
    }

    /// Whatever happened: all arrives, as deltas, and nothing is left behind.
    private func expectRecovery(
        _ scene: TransferScene,
        _ bucket: String,
        _ comment: Comment
    ) async throws {
        try scene.device.write(rows: 2)
        let next = try await scene.handOver()
        #expect(next.outcome == "in-sync", comment)
        #expect(next.kind != "snapshot", comment)
        #expect(next.finding ?? "" != "ahead", comment)
        let run = try await scene.transfer()
        #expect(run.status == 0, comment)
        let last = try await scene.handOver()
        #expect(last.fields["remote_txid"] as? String == next.txid, comment)
        #expect(last.fields["backlog_files"] as? Int == 0, comment)
        try scene.expectEmptySpool()
        // One base, and everything after it in its place.
        let levels = try FileManager.default.contentsOfDirectory(atPath: "\(bucket)/ltx")
        #expect(levels == ["0"], comment)
        try await scene.expectRestorable(bucket, comment)
    }

    private func everyStep(
        stride: Int,
        _ run: (TransferScene, _ fault: String) async throws -> Int32
    ) async throws -> Int {
        var step = 1
        while true {
            var status: Int32 = 0
            try await withScene { scene, bucket in
                status = try await run(scene, "\(step):kill")
                try await expectRecovery(scene, bucket, "DORMOUSE_FAULT=\(step):kill")
            }
            guard status == 128 + SIGKILL else { return step }
            step += stride
        }
    }

    @Test("the push that hands over")
    func handingOver() async throws {
        let steps = try await everyStep(stride: Self.isFull ? 1 : 3) { scene, fault in
            try await scene.handOver(fault: fault)
        }
        #expect(steps > 20)
    }

    @Test("the transfer service, its receipts included")
    func transferring() async throws {
        let steps = try await everyStep(stride: Self.isFull ? 1 : 2) { scene, fault in
            _ = try await scene.handOver()
            return try await scene.transfer(fault: fault).status
        }
        #expect(steps > 10)
    }

    @Test("the push that reads the receipts")
    func reconciling() async throws {
        let steps = try await everyStep(stride: Self.isFull ? 1 : 3) { scene, fault in
            _ = try await scene.handOver()
            _ = try await scene.transfer()
            try scene.device.write(rows: 1)
            return try await scene.handOver(fault: fault)
        }
        #expect(steps > 20)
    }
}
