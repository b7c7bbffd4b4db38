import Foundation
import SQLiteBridge
import TestSupport
import Testing

@Suite("The life of an agent", .serialized, .timeLimit(.minutes(5)))
struct PhaseStories {
    /// Everything that was collected is in the bucket, and only the first file was a snapshot.
    private func expectWhole(_ agent: Agent, _ children: [Child], rescans: Int = 0) async throws {
        let records = children.flatMap(\.records)
        let out = agent.directory.appending(path: "out-\(UUID().uuidString).db").path
        let restored = try await runProcess(
            Dormouse.binary,
            ["restore", agent.destination, "-o", out]
        )
        #expect(restored.status == 0, "\(restored.stderr)")
        #expect(try Self.rows(in: out) == Self.rows(in: agent.database))
        let flushed = records.filter(\.isFlush).reduce(0) { $0 + $1.number("rows") }
        #expect(try Self.rows(in: out) >= flushed)
        #expect(records.filter { $0.kind == "snapshot" }.count == 1)
        #expect(records.filter { $0.kind == "custody-lost" }.count == rescans)
    }

    private static func rows(in path: String) throws -> Int {
        let connection = try Connection(path: path, mode: .readOnly)
        defer { try? connection.close() }
        return try ["heart_rate", "rr_interval", "gravity"].reduce(0) { sum, table in
            try sum + Int(connection.value("SELECT count(*) FROM sample_\(table)")?.integer ?? 0)
        }
    }

    /// Runs a body while an agent's first push hangs: the server takes the request and never answers.
    private func withHangingPush(
        lifecycle: [String] = [],
        _ body: (Agent, Child) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let silent = try RawServer { connection in while connection.readHead() != nil {} }
            defer { silent.stop() }
            let agent = try Agent(
                directory,
                destination: silent.origin + "/db/health",
                interval: "1h",
                lifecycle: lifecycle
            )
            try await withChild(agent.launched()) { child in
                try await eventually("a connection") { silent.accepted > 0 }
                try await body(agent, child)
            }
        }
    }

    @Test("signals lead from phase to phase, and each is a record")
    func signals() async throws {
        try await withTemporaryDirectory { directory in
            let agent = try Agent(directory, interval: "1h")
            try await withChild(agent.launched()) { child in
                try await child.wait { $0.isPush }
                var seen = child.records.count
                child.send(SIGUSR1)
                seen = try await child.wait(from: seen) { $0.entered("background") }
                // What was collected is pushed, whatever the interval says.
                seen = try await child.wait(from: seen) { $0.isPush && $0.isSuccess }
                seen = try await child.wait(from: seen) { $0.entered("suspended") }
                child.send(SIGSTOP)
                child.send(SIGCONT)
                seen = try await child.wait(from: seen) { $0.kind == "resume" }
                seen = try await child.wait(from: seen) { $0.entered("background") }
                seen = try await child.wait(from: seen) { $0.entered("suspended") }
                child.send(SIGUSR2)
                seen = try await child.wait(from: seen) { $0.entered("foreground") }
                #expect(try await agent.stop(child) == 0)
                #expect(child.records.contains { $0.entered("terminating") })
                #expect(child.records.filter(\.isError).isEmpty)
                try await expectWhole(agent, [child])
            }
        }
    }

    @Test("the control socket answers, and says why not")
    func control() async throws {
        try await withTemporaryDirectory { directory in
            let agent = try Agent(
                directory,
                interval: "1h",
                lifecycle: ["extension: 5s", "extensions: 1"]
            )
            try await withChild(agent.launched()) { child in
                let status = try await agent.ctl("status")
                #expect(status.ok && status.phase == "foreground" && status.status == 0)
                let sentence = status.fields["sentence"] as? String ?? ""
                #expect(sentence.hasSuffix("foreground"))
                let push = try await agent.ctl("push")
                let record = push.fields["push"] as? [String: Any]
                #expect(push.ok && record?["remote_txid"] as? String == record?["txid"] as? String)
                #expect(try await agent.ctl("checkpoint").ok)
                let early = try await agent.ctl("extend")
                #expect(!early.ok && early.status == 1 && early.error.contains("background"))

                let background = try await agent.ctl("background")
                #expect(background.ok && background.phase == "suspended")
                for words in ["push", "checkpoint"] {
                    let refused = try await agent.ctl(words)
                    #expect(!refused.ok && refused.error.contains("at rest"))
                }
                #expect(try await agent.ctl("background").ok)
                #expect(try await agent.ctl("foreground").phase == "foreground")
                #expect(try await agent.ctl("foreground").ok)

                // The file may say other things by now.
                try agent.write(interval: "2s", more: ["device: other"])
                let reloaded = try await agent.ctl("reload")
                #expect(reloaded.ok)
                #expect(reloaded.fields["needs_restart"] as? [String] == ["device"])
                try agent.write(interval: "never")
                let broken = try await agent.ctlAtDatabase("reload")
                #expect(!broken.ok && broken.error.contains("interval"))
                #expect(child.records.contains { $0.kind == "reload" && $0.isError })
                #expect(try await agent.stop(child) == 0)
                try await expectWhole(agent, [child])
            }
        }
    }

    @Test("with nobody at the socket, or words that are no request, ctl says what to do")
    func nobody() async throws {
        try await withTemporaryDirectory { directory in
            let agent = try Agent(directory)
            let alone = try await runProcess(
                Dormouse.binary,
                ["ctl", "--config", agent.config, "status"]
            )
            #expect(alone.status == 1)
            #expect(alone.stderr.contains("no process listens"))
            for words in [["jump"], ["low-power"], []] {
                let wrong = try await runProcess(
                    Dormouse.binary,
                    ["ctl", "--config", agent.config] + words
                )
                #expect(wrong.status == 2, "\(words)")
            }
            let nowhere = try await runProcess(Dormouse.binary, ["ctl", "status"])
            #expect(nowhere.status == 2)
            #expect(nowhere.stderr.contains("--socket"))
        }
    }

    @Test("a metered network postpones the first snapshot, keeps the WAL small, and no delta waits")
    func metered() async throws {
        try await withTemporaryDirectory { directory in
            // Nothing may have been shipped before the flag is set.
            let agent = try Agent(directory, interval: "1h, on-start: false")
            try await withChild(agent.launched()) { child in
                #expect(try await agent.ctl("metered", "on").ok)
                try await child.wait { $0.isFlush }
                let postponed = try await agent.ctl("push")
                #expect(!postponed.ok && postponed.error.contains("postponed"))
                #expect(postponed.error.contains("metered"))
                // A checkpoint goes on while nothing is read of the WAL.
                #expect(try await agent.ctl("checkpoint").ok)
                #expect(try await agent.ctl("metered", "off").ok)
                #expect(try await agent.ctl("push").ok)
                #expect(try await agent.ctl("low-power", "on").ok)
                try await child.wait(from: child.records.count) { $0.isFlush }
                #expect(try await agent.ctl("push").ok)
                #expect(try await agent.stop(child) == 0)
                try await expectWhole(agent, [child])
            }
        }
    }

    // 0xdead10cc: a system kills who is suspended with a lock.
    @Test("at rest in a shared container no lock is held, time after time, and no snapshot follows")
    func lockGuard() async throws {
        try await withTemporaryDirectory { directory in
            let agent = try Agent(
                directory,
                interval: "1h",
                lifecycle: ["shared-container: true"]
            )
            let rounds = ProcessInfo.processInfo.environment["DORMOUSE_FULL"] == nil ? 50 : 500
            try await withChild(agent.launched()) { child in
                try await child.wait { $0.isPush }
                #expect(try !agent.locks(of: child).isEmpty)
                for round in 1...rounds {
                    #expect(try await agent.ctl("background").ok)
                    let held = try agent.locks(of: child)
                    #expect(held.isEmpty, "round \(round)")
                    child.send(SIGSTOP)
                    let seen = child.records.count
                    child.send(SIGCONT)
                    try await child.wait(from: seen) { $0.entered("background") }
                }
                #expect(try await agent.stop(child) == 0)
                #expect(child.records.filter { $0.kind == "lock-guard" }.isEmpty)
                try await expectWhole(agent, [child])
            }
        }
    }

    @Test("without the guard the locks of the pin stay, which is what the bench looks for")
    func withoutGuard() async throws {
        try await withTemporaryDirectory { directory in
            let agent = try Agent(directory, interval: "1h")
            try await withChild(agent.launched()) { child in
                let answer = try await agent.ctl("background")
                #expect(answer.ok)
                let locks = try agent.locks(of: child)
                #expect(locks.contains { $0.contains("POSIX") })
                #expect(try await agent.stop(child) == 0)
            }
        }
    }

    @Test("killed at rest, the relaunch reads on: no snapshot, no rescan")
    func killedAtRest() async throws {
        try await withTemporaryDirectory { directory in
            let agent = try Agent(
                directory,
                interval: "1h",
                lifecycle: ["shared-container: true"]
            )
            var children: [Child] = []
            for _ in 1...5 {
                try await withChild(agent.launched()) { child in
                    try await child.wait { $0.isPush }
                    try await child.wait(from: child.records.count) { $0.isFlush }
                    #expect(try await agent.ctl("background").ok)
                    try await child.kill()
                    children.append(child)
                }
            }
            try await withChild(agent.launched()) { child in
                try await child.wait { $0.isPush }
                #expect(try await agent.stop(child) == 0)
                children.append(child)
            }
            try await expectWhole(agent, children)
        }
    }

    @Test("the end of a window cuts what is going on, and is no reason for a whole database")
    func windows() async throws {
        try await withHangingPush(lifecycle: ["background-budget: 1s"]) { agent, child in
            let seen = child.records.count
            child.send(SIGUSR1)
            let cut = try await child.wait(from: seen) { $0.isPush }
            #expect(child.records[cut - 1]["reason"] == "window-expired")
            try await child.wait(from: seen) { $0.entered("suspended") }
            #expect(child.records.filter { $0.kind == "ingest" }.isEmpty)
            child.send(SIGTERM)
            child.send(SIGTERM)
            #expect(try await child.end() == 1)
        }
    }

    @Test("the second SIGTERM cuts the last push short, and the next launch ships what is owed")
    func secondSignal() async throws {
        try await withHangingPush { agent, child in
            child.send(SIGTERM)
            try await child.wait { $0.entered("terminating") }
            child.send(SIGTERM)
            #expect(try await child.end(within: .seconds(8)) == 1)
        }
    }

    @Test("a reload and the flags of the network are answered while a push hangs")
    func reloadBesidePush() async throws {
        try await withHangingPush(lifecycle: ["background-budget: 1s"]) { agent, child in
            try agent.write(interval: "2s", lifecycle: ["background-budget: 2s"])
            #expect(try await agent.ctl("reload").ok)
            #expect(try await agent.ctl("metered", "on").ok)
            let status = try await agent.ctl("status")
            #expect(status.fields["pushing"] as? Bool == true)
            #expect(status.fields["metered"] as? Bool == true)
            #expect(child.records.filter { $0.isPush }.isEmpty)
            // The new budget is in force.
            child.send(SIGUSR1)
            try await child.wait { $0.entered("suspended") }
            let entered = child.records.first { $0.entered("background") }
            let budget = entered?["budget_usec"].flatMap { Int($0) } ?? 0
            #expect((1_500_000...2_000_000).contains(budget))
            child.send(SIGTERM)
            child.send(SIGTERM)
            #expect(try await child.end() == 1)
        }
    }

    @Test(
        "an actor that hangs is named, and moves on when it can",
        arguments: ["replicator", "collector"]
    )
    func wedged(actor: String) async throws {
        try await withTemporaryDirectory { directory in
            let agent = try Agent(directory, interval: "1s")
            let wedge = directory.appending(path: "wedge").path
            let manager = try NotifySocket(directory.appending(path: "notify").path)
            let environment = [
                "NOTIFY_SOCKET": manager.path,
                "WATCHDOG_USEC": "1000000",
                "DORMOUSE_WEDGE": actor,
                "DORMOUSE_WEDGE_FILE": wedge,
            ]
            try await withChild(agent.launched(environment)) { child in
                try manager.wait(for: "READY=1")
                try manager.wait(for: "WATCHDOG=1")
                try Data().write(to: URL(filePath: wedge))
                try await child.wait { $0.kind == "watchdog" }
                let record = child.records.first { $0.kind == "watchdog" }
                #expect(record?["actor"] == actor)
                #expect(record?["operation"] != nil)
                try manager.wait(for: "STATUS=\(actor) does not get on")
                manager.drain()
                try FileManager.default.removeItem(atPath: wedge)
                try manager.wait(for: "WATCHDOG=1")
                #expect(try await agent.stop(child) == 0)
                try manager.wait(for: "STOPPING=1")
                try await expectWhole(agent, [child])
            }
        }
    }

    @Test("after a suspension the watchdog is told first, and the gap is measured")
    func suspended() async throws {
        try await withTemporaryDirectory { directory in
            let agent = try Agent(directory, interval: "1s")
            try await withChild(agent.launched()) { child in
                try await child.wait { $0.isPush && $0.isSuccess }
                child.send(SIGSTOP)
                let stopped = ContinuousClock.now
                // What is measured is time, so time has to pass.
                try await Task.sleep(for: .seconds(6))
                let gap = ContinuousClock.now - stopped
                let seen = child.records.count
                child.send(SIGCONT)
                let index = try await child.wait(from: seen) { $0.kind == "resume" }
                let measured = child.records[index - 1].number("gap_usec")
                #expect(measured >= Int(gap / .microseconds(1)) - 100_000)
                try await child.wait(from: seen) { $0.kind == "gap" }
                try await child.wait(from: seen) { $0.entered("foreground") }
                #expect(try await agent.stop(child) == 0)
                try await expectWhole(agent, [child])
            }
        }
    }
}
