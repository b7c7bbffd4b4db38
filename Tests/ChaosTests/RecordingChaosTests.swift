import Foundation
import SQLiteBridge
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

extension ChaosTests {
    /// Issue 2, proof 6: a recording goes in whole, through any number of kills.
    @Suite("An agent that is killed while it replays a recording")
    struct RecordingChaosTests {
        private static let recording = Shared.project
            .appending(path: "config/samples/recorded-1hz.csv")

        @Test(
            "takes up where it stopped: every record once, each gap where it was",
            .timeLimit(.minutes(3))
        )
        func killed() async throws {
            var chance = Chance("recording chaos", seed: 2_606)
            // Seconds since the first record, from the file itself.
            let text = try String(contentsOf: Self.recording, encoding: .utf8)
            let lines = text.split(separator: "\n").dropFirst()
            let offsets = lines.compactMap { Int($0.prefix { $0 != "," }) }
            #expect(offsets.count == 24_232)

            try await withTemporaryDirectory { directory in
                let scene = Scene(directory)
                var kills = 0
                var settled = 0
                var ended = false
                while !ended {
                    let agent = try Child(
                        Dormouse.binary,
                        [
                            "agent", "--database", scene.database, "--to", scene.bucket,
                            "--source", Self.recording.path,
                            "--speed", Chance.isFull ? "1000" : "4000",
                            "--flush-interval", "100ms", "--interval", "100ms",
                            "--checkpoint-pages", "60", "--log-level", "debug",
                        ]
                    )
                    try await withChild(agent) { agent in
                        let flushes = chance.number(in: 1...5)
                        let moment = chance.moment()
                        let end: @Sendable (LogRecord) -> Bool = { $0["stream"] != nil }
                        try await agent.wait(for: flushes) { $0.isFlush || end($0) }
                        try await pass(moment)
                        ended = agent.records.contains(where: end)
                        if ended {
                            // Its rows are flushed by the stop at the latest.
                            agent.send(SIGTERM)
                            #expect(try await agent.end() == 0)
                        } else {
                            kills += 1
                            try await agent.kill()
                        }
                    }
                    scene.note(agent.records)
                    let flushed = agent.records.filter(\.isFlush).reduce(0) {
                        $0 + $1.number("rows")
                    }
                    let rows = try scene.number("SELECT count(*) FROM sample_recorded")
                    #expect(rows >= settled + flushed, "seed \(chance.seed), kill \(kills)")
                    settled = rows
                }
                #expect(kills > 0)

                try await scene.push()
                let rows = try await scene.expectRestored(
                    counting: "SELECT count(*) FROM sample_recorded",
                    integrity: true
                )
                #expect(rows == offsets.count)
                let restored = try await scene.restored()
                #expect(try Self.offsets(in: restored) == offsets)
                try await scene.expectValidChain()
                scene.expectNoSnapshotAfterTheFirst()
                // See the other agent chaos.
                #expect(
                    Set(scene.rescanReasons.keys)
                        .isSubset(
                            of: ["wal-truncated", "restarted-repeatedly", "restarted-past-cursor"]
                        ),
                    "\(scene.rescans.map(\.line))"
                )
                print(
                    """
                    recording chaos: \(kills) kills, \(rows) rows of \(offsets.count), \
                    \(scene.pushes.count) pushes, \(scene.checkpoints) sealed checkpoints, \
                    \(scene.rescans.count) rescans
                    """
                )
            }
        }

        /// The time of each row in seconds since the first, in order.
        private static func offsets(in path: String) throws -> [Int] {
            let connection = try Connection(path: path, checkpointing: .automatic)
            defer { try? connection.close() }
            let statement = try connection.prepare(
                """
                SELECT (time_ms - (SELECT min(time_ms) FROM sample_recorded)) / 1000
                FROM sample_recorded ORDER BY time_ms
                """
            )
            var offsets: [Int] = []
            while try statement.step() { offsets.append(Int(statement.column(0).integer ?? -1)) }
            return offsets
        }
    }
}
