import Foundation
import SQLiteBridge
import TestSupport
import Testing

@Suite("dormouse replicate", .timeLimit(.minutes(2)))
struct ReplicateTests {
    @Test(
        "ships each change, and a signal ends it with nothing owed",
        arguments: [SIGTERM, SIGINT]
    )
    func runs(signal: Int32) async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase(rows: 10)
            try await withRunning(
                ["replicate", scratch.database, "--to", scratch.bucket, "--interval", "50ms"]
            ) { running in
                try await running.line(with: "kind=push", "outcome=pushed", "sync_kind=snapshot")
                for number in 2...4 {
                    try scratch.insert(1, into: app)
                    try await running.line(
                        with: "outcome=pushed",
                        "sync_kind=wal",
                        "txid=000000000000000\(number)"
                    )
                }
                running.signal(signal)
                try await running.line(with: "kind=stop")
                #expect(await running.status() == 0)
            }
            try await succeed("verify", scratch.database, scratch.bucket)
            try app.close()
        }
    }

    @Test("the last push before the end takes what was written meanwhile")
    func lastPush() async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase(rows: 10)
            try await withRunning(
                ["replicate", scratch.database, "--to", scratch.bucket, "--interval", "1h"]
            ) { running in
                try await running.line(with: "outcome=pushed")
                try scratch.insert(5, into: app)
                running.signal(SIGTERM)
                try await running.line(with: "outcome=pushed", "sync_kind=wal")
                #expect(await running.status() == 0)
            }
            let out = scratch.path("out.db")
            try await succeed("restore", scratch.bucket, "-o", out)
            #expect(try scratch.count(in: out) == 15)
            try app.close()
        }
    }

    @Test("waits for a database that is not there yet, and takes it when it appears")
    func appears() async throws {
        try await withScratch { scratch in
            try await withRunning(
                ["replicate", scratch.database, "--to", scratch.bucket, "--interval", "50ms"]
            ) { running in
                try await running.line(with: "outcome=unavailable", "reason=database-missing")
                let app = try scratch.makeDatabase(rows: 10)
                try await running.line(with: "outcome=pushed")
                running.signal(SIGTERM)
                #expect(await running.status() == 0)
                try app.close()
            }
        }
    }

    @Test("what is still owed at the end is a failure")
    func owed() async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase(rows: 10)
            try Data().write(to: URL(filePath: scratch.bucket))
            try await withRunning(
                ["replicate", scratch.database, "--to", scratch.bucket]
            ) { running in
                try await running.line(with: "outcome=unavailable", "reason=not-a-bucket")
                running.signal(SIGTERM)
                #expect(await running.status() == 1)
            }
            try app.close()
        }
    }

    @Test("suspended and continued, it says so and looks again")
    func suspended() async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase(rows: 10)
            try await withRunning(
                ["replicate", scratch.database, "--to", scratch.bucket, "--interval", "50ms"]
            ) { running in
                try await running.line(with: "outcome=pushed")
                running.signal(SIGSTOP)
                running.signal(SIGCONT)
                try await running.line(with: "kind=resume")
                try scratch.insert(1, into: app)
                try await running.line(with: "outcome=pushed", "sync_kind=wal")
                running.signal(SIGTERM)
                #expect(await running.status() == 0)
            }
            try app.close()
        }
    }
}

@Suite("dormouse agent", .timeLimit(.minutes(2)))
struct AgentTests {
    static let recording = Shared.project.appending(path: "config/samples/recorded-1hz.csv").path

    private func config(_ scratch: Scratch, _ more: String = "") throws -> String {
        let path = scratch.path("agent.yml")
        let text = """
            database: \(scratch.database)
            destination: \(scratch.bucket)
            device: watch-1
            push: { interval: 1s }
            collector: { flush-interval: 100ms, speed: 600 }
            streams:
              - name: recorded
                columns: [{ name: heart_rate_bpm, type: integer }, altitude_m]
                source: { kind: csv, file: "\(Self.recording)" }
            log: { level: debug, format: logfmt }
            \(more)
            """
        try Data(text.utf8).write(to: URL(filePath: path))
        return path
    }

    @Test("collects and ships from a config file, until SIGTERM")
    func configured() async throws {
        try await withScratch { scratch in
            try await withRunning(["agent", "--config", try config(scratch)]) { running in
                try await running.line(with: "kind=start")
                try await running.line(with: "outcome=pushed", "sync_kind=snapshot")
                try await running.line(with: "kind=flush", "rows=")
                try await running.line(with: "outcome=pushed", "sync_kind=wal")
                running.signal(SIGTERM)
                try await running.line(with: "kind=stop")
                #expect(await running.status() == 0)
            }
            try await expectCollected(scratch)
        }
    }

    @Test("collects and ships in one line")
    func oneLine() async throws {
        try await withScratch { scratch in
            let words = [
                "agent", "--database", scratch.database, "--to", scratch.bucket, "--source",
                Self.recording, "--speed", "600", "--flush-interval", "100ms", "--interval", "1s",
                "--log-level", "debug", "--on-conflict", "stop", "--pin", "yield",
            ]
            try await withRunning(words) { running in
                try await running.line(with: "outcome=pushed", "sync_kind=wal")
                running.signal(SIGINT)
                #expect(await running.status() == 0)
            }
            try await expectCollected(scratch)
        }
    }

    /// What was flushed is in the bucket, row for row.
    private func expectCollected(_ scratch: Scratch) async throws {
        try await succeed("verify", scratch.database, scratch.bucket)
        let out = scratch.path("out.db")
        try await succeed("restore", scratch.bucket, "-o", out)
        let rows = "SELECT count(*) FROM sample_recorded"
        let restored = try #require(try scratch.count(rows, in: out))
        #expect(restored > 50)
        try await succeed("restore", scratch.bucket, "-o", scratch.path("all.db"), "--force")
        let source = try Connection(path: scratch.database)
        #expect(try source.value(rows)?.integer == restored)
        try source.close()
    }

    @Test("simulates the strap unless told otherwise, and keeps all three streams")
    func simulated() async throws {
        try await withScratch { scratch in
            let words = [
                "agent", "--database", scratch.database, "--to", scratch.bucket, "--speed", "600",
                "--flush-interval", "100ms", "--interval", "1s", "--log-level", "debug",
            ]
            try await withRunning(words) { running in
                try await running.line(with: "outcome=pushed", "sync_kind=wal")
                running.signal(SIGTERM)
                #expect(await running.status() == 0)
            }
            let source = try Connection(path: scratch.database)
            for stream in ["heart_rate", "rr_interval", "gravity"] {
                let rows = try source.value("SELECT count(*) FROM sample_\(stream)")?.integer ?? 0
                #expect(rows > 50, "\(stream)")
            }
            try source.close()
        }
    }

    @Test("on-conflict of the config file is obeyed")
    func onConflict() async throws {
        try await withScratch { scratch in
            let path = try config(scratch)
            try await withRunning(["agent", "--config", path]) { running in
                try await running.line(with: "outcome=pushed", "sync_kind=wal")
                running.signal(SIGTERM)
                #expect(await running.status() == 0)
            }
            try FileManager.default.removeItem(atPath: scratch.bucket)
            let text = try String(contentsOfFile: path, encoding: .utf8)
                .replacing("interval: 1s }", with: "interval: 1s, on-conflict: stop }")
            try Data(text.utf8).write(to: URL(filePath: path))
            try await withRunning(["agent", "--config", path]) { running in
                try await running.line(with: "outcome=unavailable", "reason=lineage-conflict")
                running.signal(SIGTERM)
                #expect(await running.status() == 1)
            }
            #expect(!FileManager.default.fileExists(atPath: scratch.bucket))
        }
    }

    @Test("a config file with mistakes: every one of them by its line, status 2, nothing made")
    func badConfig() async throws {
        try await withScratch { scratch in
            let path = try config(scratch, "spede: 7\nlog: { level: loud }")
            let before = try scratch.contents()
            let outcome = try await dormouse(["agent", "--config", path])
            #expect(outcome.status == 2)
            #expect(outcome.stdout == "")
            #expect(outcome.stderr.contains("agent.yml:11: "))
            #expect(outcome.stderr.contains("agent.yml:12: "))
            #expect(try scratch.contents() == before)
        }
    }

    @Test(
        "wrong usage ends with 2",
        arguments: [
            (["agent"], "give --config, or --database and --to"),
            (["agent", "--database", "a.db"], "give --config, or --database and --to"),
            (["agent", "--config", "a.yml", "--pin", "hold"], "--config excludes --pin"),
            (["agent", "--database", "a", "--to", "b", "--speed", "0"], "0.001 to 1000000"),
            (["agent", "--database", "a", "--to", "b", "--interval", "1 hour"], "--interval"),
            (["agent", "--config", "/nonexistent.yml"], "/nonexistent.yml"),
        ]
    )
    func usage(words: [String], text: String) async throws {
        try await expectRefusal(words, status: 2, saying: text)
    }

    @Test("a recording that is not there or no recording is a failure with one line")
    func badRecording() async throws {
        try await withScratch { scratch in
            let bad = scratch.path("bad.csv")
            try Data("time,bpm\n1,2\n".utf8).write(to: URL(filePath: bad))
            for (file, text) in [("/nonexistent.csv", "No such file"), (bad, "offset_s")] {
                try await expectRefusal(
                    [
                        "agent", "--database", scratch.database, "--to", scratch.bucket,
                        "--source", file,
                    ],
                    status: 1,
                    saying: text
                )
            }
            #expect(try scratch.names() == ["bad.csv"])
        }
    }
}
