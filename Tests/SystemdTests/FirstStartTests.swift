import Foundation
import Telemetry
import TestSupport
import Testing

extension SystemdTests {
    @Suite("a fresh machine")
    struct FirstStartTests {
        @Test("stopped during the upload of its snapshot, it goes on with that one later")
        func snapshot() async throws {
            let stage = try await Stage()
            let config = Stage.agentConfig
                .replacing("interval: 1s", with: "interval: 1h, on-start: false")
            try await stage.box.write(config, to: "/etc/dormouse/agent.yml")
            try await stage.box.run("systemctl start dormouse-agent")
            let mark = try await stage.box.mark()
            try await stage.duringUpload(begunBy: "systemctl stop --no-block dormouse-agent") {
                try await stage.box.run(
                    """
                    systemctl kill --signal=SIGTERM dormouse-agent
                    systemctl stop dormouse-agent
                    """
                )
            }
            let pushed = try await stage.box.entries(after: mark, Stage.pushed)
            #expect(pushed.isEmpty)
            try await stage.box.write(Stage.agentConfig, to: "/etc/dormouse/agent.yml")
            try await stage.expectNothingLost()
        }

        @Test("tokens come as credentials; one that is missing or wrong is said")
        func credentials() async throws {
            let stage = try await Stage()
            let status = "curl -s -o /dev/null -w '%{http_code}' \(Stage.destination)/freshness"
            #expect(try await stage.box.run(status) == "401")

            // The credential is named and missing: nothing can be pushed, so it does not start.
            try await stage.box.run("mv /etc/credstore/dormouse.sink-token /root/kept")
            let start = try await stage.box.outcome(of: "systemctl start dormouse-agent")
            #expect(start.status != 0)
            try await stage.box.run("systemctl stop dormouse-agent")
            let text = try await stage.box.run("journalctl -u dormouse-agent -o cat")
            #expect(text.contains("credential sink-token"))

            // It is not named: that it is missing keeps nobody from starting.
            try await stage.box.run(
                """
                sed -i '/^http:/d' /etc/dormouse/agent.yml
                systemctl start dormouse-agent
                """
            )
            try await stage.box.entry(
                after: 0,
                [
                    "MESSAGE_ID": RecordKind.push.messageID.description,
                    "DORMOUSE_OUTCOME": "unavailable", "DORMOUSE_REASON": "unauthorized",
                ]
            )
            try await stage.box.run(
                """
                systemctl stop dormouse-agent
                mv /root/kept /etc/credstore/dormouse.sink-token
                """
            )
            try await stage.box.write(Stage.agentConfig, to: "/etc/dormouse/agent.yml")
            try await stage.expectNothingLost()
        }
    }
}
