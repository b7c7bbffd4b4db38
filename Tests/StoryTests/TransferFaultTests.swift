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

    @Test("the same with a disk that fails or is full at that step", arguments: ["EIO", "ENOSPC"])
    func failing(error: String) async throws {
        // As many steps as the kills have found, and some more.
        for step in stride(from: 1, to: 70, by: Self.isFull ? 1 : 6) {
            try await withScene { scene, bucket in
                _ = try await scene.handOver(fault: "\(step):\(error)")
                try await expectRecovery(scene, bucket, "DORMOUSE_FAULT=\(step):\(error)")
            }
        }
        for step in stride(from: 1, to: 30, by: Self.isFull ? 1 : 4) {
            try await withScene { scene, bucket in
                _ = try await scene.handOver()
                let run = try await scene.transfer(fault: "\(step):\(error)")
                #expect([0, 1, 75].contains(run.status), "\(step): \(run.status)")
                try await expectRecovery(scene, bucket, "DORMOUSE_FAULT=\(step):\(error)")
            }
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

    @Test("the transfer service before a sink")
    func overHTTP() async throws {
        try await withTemporaryDirectory { directory in
            try await withSink(data: directory.appending(path: "sink")) { sink in
                var step = 1
                var status = 128 + SIGKILL
                while status == 128 + SIGKILL {
                    // A database of its own for each step.
                    let name = "step\(step)"
                    let comment: Comment = "DORMOUSE_FAULT=\(step):kill"
                    let scene = try TransferScene(
                        directory.appending(path: name),
                        url: sink.url(name)
                    )
                    try scene.device.write(rows: 200)
                    #expect(try await scene.device.push(to: scene.url).outcome == "pushed")
                    // Large enough to be uploaded in parts.
                    try scene.device.write(rows: 100, bytes: 4000)
                    _ = try await scene.handOver()
                    status = try await scene.transfer(fault: "\(step):kill").status
                    try scene.device.write(rows: 2)
                    let next = try await scene.handOver()
                    #expect(next.kind != "snapshot", comment)
                    #expect(try await scene.transfer().status == 0, comment)
                    let last = try await scene.handOver()
                    #expect(last.fields["remote_txid"] as? String == next.txid, comment)
                    try scene.expectEmptySpool()
                    try await scene.expectRestorable(sink.bucket(name), comment)
                    step += Self.isFull ? 1 : 3
                }
                #expect(step > 10)
            }
        }
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
