import Foundation
import TestSupport
import Testing

/// What `dormouse chaos run --json` said.
struct ScenarioOutcome {
    let status: Int32
    let json: [String: Any]
    let stderr: String

    func value(_ metric: String) -> Int {
        (json["values"] as? [String: Any])?[metric] as? Int ?? -1
    }

    var pushes: [[String: Any]] { json["pushes"] as? [[String: Any]] ?? [] }

    /// What was not as expected, for a failing test's message.
    var failures: String {
        let checks = json["checks"] as? [[String: Any]] ?? []
        let failed = checks.filter { $0["holds"] as? Bool == false }
        return "\(failed) \(json["counts"] ?? "") \(stderr)"
    }

    static func run(_ arguments: [String]) async throws -> ScenarioOutcome {
        let outcome = try await runProcess(
            Dormouse.binary,
            ["chaos", "run", "--json", "--quiet"] + arguments
                + (Chance.isFull ? ["--full"] : []),
            timeout: .seconds(Chance.isFull ? 7_200 : 300)
        )
        let json = try? JSONSerialization.jsonObject(with: outcome.stdoutBytes)
        return ScenarioOutcome(
            status: outcome.status,
            json: json as? [String: Any] ?? [:],
            stderr: outcome.stderr
        )
    }

    /// Runs a scenario that is written here.
    static func run(text: String, _ arguments: [String] = []) async throws -> ScenarioOutcome {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "made.yml")
            try Data(text.utf8).write(to: file)
            return try await run([file.path] + arguments)
        }
    }
}

extension ChaosTests {
    @Suite("Scenarios")
    struct ScenarioRunTests {
        @Test("the list of the shipped ones is complete")
        func complete() throws {
            let files = try FileManager.default.contentsOfDirectory(atPath: Shipped.directory.path)
            #expect(files.sorted() == Shipped.names.map { "\($0).yml" })
        }

        /// Most of their time is waiting, so a few of them share the machine.
        @Test(
            "each shipped one ends in its expected verdict",
            .enabled(if: TemporaryFileSystem.isPossible, TemporaryFileSystem.missing),
            .timeLimit(.minutes(Chance.isFull ? 120 : 6))
        )
        func shipped() async throws {
            // This one has a test of its own.
            var waiting = Shipped.names.filter { $0 != "bad-proxy" }[...]
            try await withThrowingTaskGroup { group in
                for _ in 1...3 {
                    if let name = waiting.popFirst() {
                        group.addTask { try await Self.run(shipped: name) }
                    }
                }
                while try await group.next() != nil {
                    if let name = waiting.popFirst() {
                        group.addTask { try await Self.run(shipped: name) }
                    }
                }
            }
        }

        private static func run(shipped name: String) async throws {
            let outcome = try await ScenarioOutcome.run([Shipped.path(of: name)])
            #expect(outcome.status == 0, "\(name): \(outcome.failures)")
            let length = (outcome.json["duration_usec"] as? Int ?? 0) / 1_000_000
            print("scenario \(name): \(length) s, \(outcome.value("pushes")) pushes")
        }

        @Test(
            "a gateway that answers 408 costs one line a failure, and the upload goes on",
            .timeLimit(.minutes(Chance.isFull ? 60 : 5))
        )
        func badProxy() async throws {
            let outcome = try await ScenarioOutcome.run([Shipped.path(of: "bad-proxy")])
            #expect(outcome.status == 0, "\(outcome.failures)")
            let failed = outcome.pushes.filter { $0["outcome"] as? String == "retryable" }
            // One by one, and the push that got through ends the streak.
            #expect(failed.compactMap { $0["streak"] as? Int } == Array(1...failed.count))
            #expect(failed.allSatisfy { $0["reason"] as? String == "timeout" }, "\(failed)")
            #expect(outcome.pushes.last?["streak"] as? Int == 0)
        }

        @Test(
            "random lifecycles lose no row and force no snapshot",
            .timeLimit(.minutes(Chance.isFull ? 120 : 6))
        )
        func lifecycles() async throws {
            let seed = Chance("random lifecycles", seed: 2_605).seed
            let outcome = try await ScenarioOutcome.run(
                text: Self.lifecycles(Chance.isFull ? 2_000 : 100),
                ["--seed", "\(seed)"]
            )
            #expect(outcome.status == 0, "seed \(seed): \(outcome.failures)")
            #expect(outcome.value("launches") > (Chance.isFull ? 2_000 : 100))
            print(
                "random lifecycles: \(outcome.value("launches")) launches, "
                    + "\(outcome.value("suspensions")) suspensions, "
                    + "\(outcome.value("pushes")) pushes, \(outcome.value("rescans")) rescans"
            )
        }

        /// One device all along; each lifecycle is some trouble and an end of the process.
        static func lifecycles(_ count: Int) -> String {
            """
            about: A device whose process comes and goes.
            speed: 200
            agent:
              push: { interval: 20s }
              collector: { flush-interval: 20s, speed: 3 }
              checkpoint: { pages: 150 }
            steps:
              - foreground: 30s
              - repeat: \(count)
                steps:
                  - choose:
                      - weight: 4
                        steps: [{ wait: 10s }]
                      - weight: 2
                        steps: [{ background: 1s..20s }, { suspend: 1s..30s }]
                      - weight: 2
                        steps: [{ suspend: 1s..30s }]
                      - network: off
                      - network: slow
                        rate: 50kB
                      - weight: 3
                        steps: [{ network: on }]
                      - network: flapping
                        up: 10s
                        down: 10s
                      - checkpoint: truncate
                      - checkpoint: restart
                      - checkpoint: passive
                      - write: 200kB
                      - write: 100kB
                        pool: automatic
                      - clock: +1h
                      - clock: -1h
                      - busy: 10s
                      - sink: kill
                        for: 5s
                      - sink: terminate
                        for: 5s
                      - proxy: answer
                        status: 408
                        after: 1kB
                        times: 2
                      - proxy: reset
                        after: 1kB
                        times: 2
                      - proxy: corrupt
                        after: 200
                        times: 1
                      - proxy: duplicate
                        times: 2
                  - foreground: 5s..40s
                  - choose:
                      - weight: 2
                        steps: [{ kill: 0s..5s }]
                      - memory-kill: 0s..5s
                      - terminate: 0s..5s
            expect:
              # A process can be killed between the first one and its record.
              snapshots: ..1
            """
        }

        @Test(
            "an upload that does not fit into one window goes on in the next where it stopped",
            .timeLimit(.minutes(Chance.isFull ? 20 : 3))
        )
        func windows() async throws {
            let outcome = try await ScenarioOutcome.run(text: Self.windows)
            #expect(outcome.status == 0, "\(outcome.failures)")
            // All of it got through before anything was healed.
            let spans = outcome.json["spans"] as? [[String: Any]] ?? []
            let slowUntil = spans.first { ($0["label"] as? String)?.hasSuffix("/s") == true }
            let end = try #require(slowUntil?["to_usec"] as? Int)
            let cut = try #require(
                outcome.pushes.lastIndex { $0["reason"] as? String == "window-expired" }
            )
            // The last byte may have got through in the window before, and its answer not.
            let whole = try #require(
                outcome.pushes[(cut + 1)...].first {
                    ["pushed", "in-sync"].contains($0["outcome"] as? String)
                }
            )
            #expect(try #require(whole["at_usec"] as? Int) < end)
            // Each part begins where the sink had got to, which is where the one before had ended
            // but for what was on its way.
            let uploads = (outcome.json["uploads"] as? [[String: Any]] ?? []).filter {
                ($0["length"] as? Int ?? 0) > 1_000_000
            }
            let offsets = uploads.map { $0["offset"] as? Int ?? 0 }
            #expect(offsets == offsets.sorted() && Set(offsets).count >= 3, "\(offsets)")
            for (part, next) in zip(uploads, offsets.dropFirst()) {
                let sent = (part["offset"] as? Int ?? 0) + (part["bytes"] as? Int ?? 0)
                #expect(next <= sent && next > sent - 1_000_000, "\(part), then \(next)")
            }
        }

        /// Issue 5, proof 4: windows of 30 s, a link of 1 MB/s, 100 MB; ten times smaller and
        /// faster.
        static let windows = """
            about: A hundred megabytes in windows of half a minute.
            speed: 10
            scale: 10
            full: { speed: 1, scale: 1 }
            agent:
              push: { interval: 60s }
              lifecycle: { background-budget: 30s }
            steps:
              - foreground: 20s
              - settle: 10m
              - network: slow
                rate: 1MB
              - write: 100MB
              - background: 1s
              - repeat: 7
                steps:
                  - suspend: 10s
                  - background: 1s
              - suspend: 1s
            expect:
              windows: 8..9
              late-suspensions: 0
              snapshots: 1
              resumed-uploads: 2..
              overhead: ..1.1
            """

        @Test(
            "an agent without its lock guard is killed with the lock named",
            .timeLimit(.minutes(3))
        )
        func guardOff() async throws {
            let outcome = try await ScenarioOutcome.run(
                text: Self.locks(guarded: false, suspensions: 3, "locks-held: 3..")
            )
            #expect(outcome.status == 0, "\(outcome.failures)")
            let locks = outcome.json["locks"] as? [String] ?? []
            #expect(locks.contains { $0.contains("lock on health.db-shm") }, "\(locks)")
            #expect(outcome.value("launches") == 5)
        }

        @Test(
            "an agent with its lock guard holds none, and loses its place never",
            .timeLimit(.minutes(Chance.isFull ? 20 : 3))
        )
        func guardOn() async throws {
            let count = Chance.isFull ? 500 : 40
            let outcome = try await ScenarioOutcome.run(
                text: Self.locks(guarded: true, suspensions: count, "locks-held: 0")
            )
            #expect(outcome.status == 0, "\(outcome.failures)")
            #expect(outcome.value("suspensions") == count)
            #expect(outcome.value("launches") == 2)
        }

        static func locks(guarded: Bool, suspensions: Int, _ expected: String) -> String {
            """
            about: Suspended in a shared container.
            speed: 100
            shared-container: true
            agent:
              push: { interval: 10s }
              collector: { flush-interval: 10s }
              checkpoint: { pages: 100 }
              lifecycle: { shared-container: \(guarded) }
            steps:
              - foreground: 20s
              - repeat: \(suspensions)
                steps:
                  - foreground: 1s..15s
                  - background: 1s
                  - suspend: 1s..5s
              - kill: 1s
              - foreground: 20s
            expect:
              \(expected)
              snapshots: 1
              rescans: 0
              launches: \(guarded ? 2 : suspensions + 2)
            """
        }
    }
}
