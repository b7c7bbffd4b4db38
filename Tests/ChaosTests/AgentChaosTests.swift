import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

extension ChaosTests {
    /// Issue 2, proof 5: collector and replicator in one process, ended and suspended at random.
    @Suite("An agent that is killed, stopped and suspended at random moments")
    struct AgentChaosTests {
        private static let counting = """
            SELECT (SELECT count(*) FROM sample_heart_rate)
                + (SELECT count(*) FROM sample_rr_interval) + (SELECT count(*) FROM sample_gravity)
            """

        private func launch(_ scene: Scene) throws -> Child {
            try Child(
                Dormouse.binary,
                [
                    "agent", "--database", scene.database, "--to", scene.bucket,
                    "--source", "simulated", "--speed", "300",
                    "--flush-interval", "100ms", "--interval", "100ms",
                    "--checkpoint-pages", "40", "--log-level", "debug",
                ]
            )
        }

        @Test(
            "loses no flushed row and never ships the whole database again",
            .timeLimit(.minutes(Chance.isFull ? 30 : 3))
        )
        func killedStoppedSuspended() async throws {
            var chance = Chance("agent chaos", seed: 2_605)
            let cycles = Chance.isFull ? 500 : 50
            try await withTemporaryDirectory { directory in
                let scene = Scene(directory)
                var tally = Tally()
                var agent: Child?
                do {
                    for cycle in 1...cycles {
                        let running = try agent ?? launch(scene)
                        agent = running
                        if try await disturb(running, scene, &tally, &chance, cycle) { agent = nil }
                        if agent == nil, cycle % 5 == 0 || cycle == cycles {
                            try await check(scene, "cycle \(cycle) of seed \(chance.seed)")
                        }
                    }
                } catch {
                    agent?.send(SIGKILL)
                    throw error
                }
                if let agent {
                    agent.send(SIGTERM)
                    #expect(try await agent.end() == 0)
                    scene.note(agent.records)
                    try tally.settle(agent, rows: scene.number(Self.counting))
                }
                try await check(scene, "the end of seed \(chance.seed)", integrity: true)
                try await scene.expectVerified()
                // After a kill right behind a sealed checkpoint a restart is proved by what is left
                // of the old generation. Where the file ends at the cursor nothing is left; and of a
                // generation that was killed before its first commit SQLite keeps not even the salts:
                // the next begins with random ones; and on a slow machine the samples may have grown
                // past the cursor before the next sync. Then pages are compared, no more, and seldom.
                #expect(
                    Set(scene.rescanReasons.keys)
                        .isSubset(
                            of: ["wal-truncated", "restarted-repeatedly", "restarted-past-cursor"]
                        ),
                    "\(scene.rescans.map(\.line))"
                )
                #expect(scene.rescans.count <= max(5, cycles / 25))
                print(
                    """
                    agent chaos: \(cycles) cycles (\(tally.kills) kills, \(tally.stops) stops, \
                    \(tally.suspensions) suspensions), \(tally.rows) rows, \(scene.pushes.count) \
                    pushes, \(scene.checkpoints) sealed checkpoints, longest lock \
                    \(scene.longestLock) µs, \(scene.snapshots.count) snapshot, \
                    \(scene.rescans.count) rescans \(scene.rescanReasons)
                    """
                )
            }
        }

        /// One disturbance at a random moment.
        ///
        /// - Returns: Whether the agent has ended.
        private func disturb(
            _ agent: Child,
            _ scene: Scene,
            _ tally: inout Tally,
            _ chance: inout Chance,
            _ cycle: Int
        ) async throws -> Bool {
            let how = chance.element(of: [SIGKILL, SIGTERM, SIGSTOP])
            let events = chance.number(in: 0...4)
            let moment = chance.moment()
            let seen = agent.records.count
            // From the first instant of a launch on: with no event to wait for, its start is hit.
            if events > 0 {
                try await agent.wait(for: events, from: seen) { $0.isFlush || $0.isPush }
            }
            try await pass(moment)
            switch how {
            case SIGSTOP:
                tally.suspensions += 1
                agent.send(SIGSTOP)
                try await pass(.microseconds(chance.number(in: 0...60_000)))
                let before = agent.records.count
                agent.send(SIGCONT)
                try await agent.wait(from: before) { $0.isPush && $0.isSuccess }
                return false
            case SIGTERM:
                tally.stops += 1
                agent.send(SIGTERM)
                let status = try await agent.end()
                // A signal that comes before the program listens ends it as it does any program.
                let hasStarted = agent.records.contains { $0.kind == "start" }
                #expect(status == 0 || !hasStarted && status == 128 + SIGTERM, "cycle \(cycle)")
            default:
                tally.kills += 1
                try await agent.kill()
            }
            scene.note(agent.records)
            if FileManager.default.fileExists(atPath: scene.database) {
                try tally.settle(agent, rows: rows(scene), "cycle \(cycle)")
            }
            return true
        }

        private func rows(_ scene: Scene) throws -> Int {
            // Killed before its first migration had committed.
            let tables = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'sample_%'"
            return try scene.number(tables) == 0 ? 0 : scene.number(Self.counting)
        }

        private func check(_ scene: Scene, _ comment: Comment, integrity: Bool = false) async throws
        {
            guard try rows(scene) > 0 else { return }
            try await scene.push()
            try await scene.expectRestored(counting: Self.counting, integrity: integrity, comment)
            try await scene.expectValidChain(comment)
            scene.expectNoSnapshotAfterTheFirst(comment)
        }
    }
}

/// What was acknowledged, against what is there.
private struct Tally {
    var kills = 0
    var stops = 0
    var suspensions = 0
    /// Rows in the database when no process had it open last.
    var rows = 0

    /// Compares the rows with what an ended agent had acknowledged.
    ///
    /// More than acknowledged may be there: one flush, committed by a process that was killed
    /// before it could say so.
    mutating func settle(_ agent: Child, rows now: Int, _ comment: Comment? = nil) throws {
        let flushes = agent.records.filter(\.isFlush).map { $0.number("rows") }
        let acknowledged = flushes.reduce(0, +)
        #expect(now >= rows + acknowledged, "rows were lost; \(comment?.rawValue ?? "")")
        let unsaid = now - rows - acknowledged
        #expect(unsaid <= 4_096, "\(unsaid) rows nobody wrote; \(comment?.rawValue ?? "")")
        rows = now
    }
}
