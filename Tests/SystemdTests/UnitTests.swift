import Foundation
import Telemetry
import TestSupport
import Testing

extension SystemdTests {
    @Suite("the units")
    struct UnitTests {
        static let services = ["dormouse-agent", "dormouse-sink", "dormouse-transfer"]

        @Test("systemd has nothing to say against them")
        func verify() async throws {
            let box = try await Stage.shared().box
            let outcome = try await box.outcome(
                of: """
                    cd /usr/local/lib/systemd/system
                    systemd-analyze verify dormouse*
                    """
            )
            #expect(outcome.status == 0)
            #expect(outcome.stderr == "")
        }

        @Test("their exposure is 2.0 or less", arguments: services)
        func exposure(service: String) async throws {
            let box = try await Stage.shared().box
            let outcome = try await box.outcome(
                of: "systemd-analyze security --no-pager --threshold=20 \(service).service"
            )
            #expect(outcome.status == 0, "\(outcome.stdout.suffix(200))")
        }

        @Test("a start blocks until the agent has its place in the WAL, and no longer")
        func ready() async throws {
            let stage = try await Stage.shared()
            try await stage.start()
            try await stage.box.run("systemctl stop dormouse-agent; touch \(Stage.wedge)")
            let mark = try await stage.box.mark()
            try await stage.box.run("systemctl start --no-block dormouse-agent")
            try await stage.box.entry(
                after: mark,
                ["MESSAGE_ID": RecordKind.start.messageID.description]
            )
            #expect(try await stage.property("ActiveState") == "activating")
            try await stage.box.run("rm \(Stage.wedge); systemctl start dormouse-agent")
            #expect(try await stage.property("ActiveState") == "active")
            #expect(try await stage.property("StatusText").contains("foreground"))
            try await stage.expectNothingLost()
        }

        @Test("records carry their fields, and journalctl -x explains them with those filled in")
        func records() async throws {
            let stage = try await Stage.shared()
            let mark = try await stage.box.mark()
            try await stage.start()
            let push = try await stage.box.entry(after: mark, Stage.pushed)
            #expect(push["DORMOUSE_DATABASE"] == Stage.database)
            #expect(push["DORMOUSE_DESTINATION"] == Stage.destination)
            #expect(push["_SYSTEMD_UNIT"] == Stage.agent)
            #expect(push["SYSLOG_IDENTIFIER"] == "dormouse")
            #expect(push["PRIORITY"] == "6")
            #expect(push["DORMOUSE_PHASE"] == "foreground")
            for name in ["TXID", "BYTES", "BACKLOG_BYTES", "WAL_BYTES", "DURATION_USEC", "PUSH_ID"]
            {
                #expect(push["DORMOUSE_\(name)"] != nil, "\(name)")
            }
            let id = try #require(push["DORMOUSE_PUSH_ID"])
            let text = try await stage.box.run("journalctl -x DORMOUSE_PUSH_ID=\(id)")
            #expect(text.contains("Subject: Push ended: pushed"))
            #expect(text.contains("A push of \(Stage.database) to \(Stage.destination) ended."))
            try await stage.expectNothingLost()
        }

        @Test("a reload puts what can change in force, and a mistake changes nothing")
        func reload() async throws {
            let stage = try await Stage.shared()
            let mark = try await stage.start()
            let reloaded = RecordKind.reload.messageID.description
            let before = try await stage.property("MainPID")

            try await stage.box.run(
                """
                sed -i 's/interval: 1s/interval: 1h/' /etc/dormouse/agent.yml
                systemctl reload dormouse-agent
                """
            )
            let first = try await stage.box.entry(after: mark, ["MESSAGE_ID": reloaded])
            #expect(first["PRIORITY"] == "5")

            try await stage.box.run(
                """
                echo 'spede: 7' >>/etc/dormouse/agent.yml
                systemctl reload dormouse-agent
                """
            )
            let second = try await stage.box.entry(
                after: mark,
                ["MESSAGE_ID": reloaded, "PRIORITY": "3"]
            )
            #expect(second["DORMOUSE_DETAIL"]?.contains("spede") == true)

            try await stage.box.write(Stage.agentConfig, to: "/etc/dormouse/agent.yml")
            let last = try await stage.box.mark()
            try await stage.box.run("systemctl reload dormouse-agent")
            try await stage.box.entry(after: last, Stage.pushed)
            #expect(try await stage.property("MainPID") == before)
            try await stage.expectNothingLost()
        }
    }
}
