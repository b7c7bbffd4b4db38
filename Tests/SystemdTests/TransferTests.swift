import Foundation
import Telemetry
import TestSupport
import Testing

extension SystemdTests {
    @Suite("the transfer service")
    struct TransferTests {
        /// How the agent comes to be away in the middle of an upload that it has handed over.
        enum Absence: String, CaseIterable, CustomTestStringConvertible {
            case stopped, dead
            var testDescription: String { rawValue }

            /// What makes it so, after it has come to rest.
            var begin: String {
                switch self {
                case .stopped: "systemctl kill --signal=SIGSTOP dormouse-agent"
                case .dead: "systemctl kill --signal=SIGKILL dormouse-agent"
                }
            }

            var end: String {
                switch self {
                case .stopped: "systemctl kill --signal=SIGCONT dormouse-agent"
                case .dead: "systemctl start dormouse-agent"
                }
            }
        }

        private static let unit = "dormouse-transfer.service"

        @Test("finishes an upload while the agent is away", arguments: Absence.allCases)
        func finishes(absence: Absence) async throws {
            let stage = try await Stage.shared()
            let config = Stage.agentConfig.replacing("interval: 1s", with: "interval: 1h")
            try await stage.box.write(
                config + "transfer: { spool: /var/lib/dormouse/spool }\n",
                to: "/etc/dormouse/agent.yml"
            )
            try await stage.dropIn("stopped", "WatchdogSec=0\nRestart=no")
            try await stage.box.run("systemctl start dormouse-transfer.path")
            let mark = try await stage.box.mark()
            try await stage.box.run("systemctl start dormouse-agent")
            // The next one would come after an hour.
            try await stage.box.entry(
                after: mark,
                ["MESSAGE_ID": RecordKind.push.messageID.description]
            )

            let handOver = "dormouse ctl --config /etc/dormouse/agent.yml background"
            try await stage.duringUpload(begunBy: handOver) {
                try await stage.box.run(absence.begin)
                let stop = try await stage.box.entry(
                    after: mark,
                    [
                        "MESSAGE_ID": RecordKind.stop.messageID.description,
                        "_SYSTEMD_UNIT": Self.unit,
                    ]
                )
                #expect(stop["DORMOUSE_REASON"] == "the spool is empty")
                #expect(try await stage.property("Result", of: Self.unit) == "success")
            }
            let handed = try await stage.box.entries(
                after: mark,
                ["MESSAGE_ID": RecordKind.handover.messageID.description]
            )
            #expect(!handed.isEmpty)

            let back = try await stage.box.mark()
            try await stage.box.run(absence.end)
            try await stage.box.entry(
                after: back,
                [
                    "MESSAGE_ID": RecordKind.receipt.messageID.description,
                    "_SYSTEMD_UNIT": Stage.agent,
                ]
            )
            try await stage.box.run("systemctl stop dormouse-transfer.path dormouse-agent")
            try await stage.removeDropIn("stopped")
            try await stage.box.write(Stage.agentConfig, to: "/etc/dormouse/agent.yml")
            try await stage.expectNothingLost()
        }
    }
}
