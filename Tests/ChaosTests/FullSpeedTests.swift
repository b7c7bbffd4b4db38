import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

extension ChaosTests {
    /// Issue 2, proof 4: sealed checkpoints under a writer that does not pause.
    @Suite("200 sealed checkpoints under a writer at full speed")
    struct FullSpeedTests {
        @Test(
            "cost no place, keep the WAL bounded and hold writers up for moments",
            .timeLimit(.minutes(3)),
            arguments: Chance.isFull ? ["hold", "yield"] : ["hold"]
        )
        func sealedCheckpoints(pin: String) async throws {
            try await withTemporaryDirectory { directory in
                let scene = Scene(directory)
                let writer = try await Writer(
                    database: scene.database,
                    settings: .external,
                    pause: .zero,
                    every: 1000,
                    rows: 1
                ).launched()
                try await withChild(writer) { writer in
                    // What it writes before there is a replicator would set the size of the WAL.
                    try await writer.hold()
                    let replicator = try Child(
                        Dormouse.binary,
                        [
                            "replicate", scene.database, "--to", scene.bucket, "--pin", pin,
                            "--interval", "10ms", "--checkpoint-pages", "100",
                        ]
                    )
                    try await withChild(replicator) { replicator in
                        try await replicator.wait { $0.isPush && $0.isSuccess }
                        try await writer.proceed()
                        try await replicator.wait(for: 200, within: .seconds(120)) {
                            $0.isPush && $0["lock_usec"] != nil
                        }
                        try await writer.finish()
                        replicator.send(SIGTERM)
                        #expect(try await replicator.end() == 0)
                    }
                    let pushes = replicator.records.filter(\.isPush)
                    scene.note(replicator.records)
                    #expect(pushes.first?["sync_kind"] == "snapshot")
                    let odd = pushes.dropFirst().filter {
                        !["wal", "none"].contains($0["sync_kind"])
                    }
                    #expect(odd.isEmpty, "\(odd.map(\.line))")
                    let commits = try await scene.expectRestored(
                        counting: Writer.counting,
                        integrity: true
                    )
                    #expect(commits == writer.acknowledged)
                    // How large the WAL gets between two checkpoints is up to the writer and to the
                    // machine; one that is never restarted would be as large as all commits, of which
                    // each has at least two frames.
                    let largest = pushes.map { $0.number("wal_bytes") }.max() ?? 0
                    #expect(largest < commits * 2 * 4120 / 8)
                    try await scene.expectValidChain()
                    print(
                        """
                        full speed, pin \(pin): \(commits) commits, \(pushes.count) pushes, \
                        \(scene.checkpoints) sealed checkpoints, longest lock \
                        \(scene.longestLock) µs, median lock \(scene.medianLock) µs, largest WAL \
                        \(largest >> 10) KiB
                        """
                    )
                }
            }
        }
    }
}
