import Foundation
import TestSupport
import Testing

/// The team's box with a real systemd in it.
private enum Box {
    static let tool = Shared.root.appending(path: "tools/systemd-box")

    static func isUsable() async -> Bool {
        guard FileManager.default.isExecutableFile(atPath: tool.path) else { return false }
        return (try? await runProcess(tool, ["check"]))?.status == 0
    }

    static let missing: Comment =
        "no box with a systemd: run ../shared/tools/systemd-box check, it says what is missing"
}

extension ChaosTests {
    @Suite("A scenario for a systemd unit")
    struct UnitScenarioTests {
        @Test(
            "stops, kills and starves the unit, and reads its records from the journal",
            .enabled(Box.missing) { await Box.isUsable() },
            .timeLimit(.minutes(5))
        )
        func unit() async throws {
            let outcome = try await runProcess(
                Box.tool,
                [
                    "run", "--project", Shared.project.path, "--", "sh", "-ec", Self.script, "sh",
                    Dormouse.binary.path,
                ],
                timeout: .seconds(200)
            )
            let json = try? JSONSerialization.jsonObject(with: outcome.stdoutBytes)
            let report = json as? [String: Any] ?? [:]
            #expect(
                outcome.status == 0,
                "\(report["checks"] ?? outcome.stdout) \(outcome.stderr.suffix(2_000))"
            )
            let values = report["values"] as? [String: Any] ?? [:]
            #expect(values["launches"] as? Int == 4)
            #expect((report["rows_restored"] as? Int ?? 0) > 0)
            #expect(report["rows_mirror"] as? Int == report["rows_restored"] as? Int)
        }

        /// A sink on loopback, a unit that pushes to it through the bench's proxy, and its life.
        private static let script = """
            dormouse=$1
            mkdir -p /var/lib/device /var/lib/sink
            "$dormouse" sink --data /var/lib/sink --listen 127.0.0.1:9736 2>/var/lib/sink.log &
            cat >/var/lib/device/agent.yml <<'YAML'
            database: /var/lib/device/health.db
            destination: http://127.0.0.1:9737/db/health
            push: { interval: 1s }
            collector: { flush-interval: 1s, speed: 60 }
            lifecycle: { background-budget: 5s }
            log: { level: debug }
            YAML
            cat >/etc/systemd/system/under-test.service <<UNIT
            [Service]
            Type=notify
            ExecStart=$dormouse agent --config /var/lib/device/agent.yml
            Restart=on-failure
            UNIT
            cat >/var/lib/device/life.yml <<'YAML'
            about: The life of a unit.
            steps:
              - foreground: 2s
              - background: 1s
              - suspend: 1s
              - foreground: 1s
              - network: off
                for: 4s
              - kill: 1s
              - foreground: 2s
              - memory-kill: 1s
              - terminate: 1s
              - foreground: 2s
            expect: { snapshots: 1, launches: 4, suspensions: 1, windows: 2, retryable: 1.. }
            YAML
            systemctl daemon-reload
            "$dormouse" chaos run /var/lib/device/life.yml --json --unit under-test \\
                --config /var/lib/device/agent.yml --proxy 9737:9736 \\
                --mirror /var/lib/sink/health/mirror.sqlite
            # By the kill and by the kill for memory; the others ended in peace.
            killed=$(journalctl --unit under-test --output cat | grep --count 'code=killed, status=9')
            [ "$killed" = 2 ] || { echo "$killed processes were killed" >&2; exit 1; }
            """
    }
}
