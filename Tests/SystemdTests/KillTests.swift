import Foundation
import Telemetry
import TestSupport
import Testing

extension SystemdTests {
    @Suite("kills and stops")
    struct KillTests {
        private static let ended = "98e322203f7a4ed290d09fe03c09fe15"

        @Test(
            "killed in the middle of a push, the next one is a delta",
            arguments: ["KILL", "ABRT"]
        )
        func midPush(signal: String) async throws {
            let stage = try await Stage.shared()
            let mark = try await stage.start()
            try await stage.duringUpload {
                try await stage.box.run("systemctl kill --signal=SIG\(signal) dormouse-agent")
                try await stage.box.entry(after: mark, WatchdogTests.started)
            }
            #expect(try await stage.property("NRestarts") == "1")
            try await stage.expectNothingLost()
        }

        @Test("a kill for memory under MemoryMax is one restart and a delta")
        func outOfMemory() async throws {
            let stage = try await Stage.shared()
            let mark = try await stage.start()
            let used = try #require(Int(try await stage.property("MemoryCurrent")))
            try await stage.box.run(
                "systemctl set-property --runtime dormouse-agent MemoryMax=\(used + (4 << 20))"
            )
            // What a push writes is memory here: its database lies on a tmpfs.
            try await stage.insert(megabytes: 12)
            try await stage.box.entry(
                after: mark,
                ["MESSAGE_ID": Self.ended, "UNIT": Stage.agent, "EXIT_CODE": "killed"]
            )
            try await stage.box.run(
                "systemctl set-property --runtime dormouse-agent MemoryMax=256M"
            )
            let end = try await stage.box.mark()
            try await stage.box.entry(after: end, Stage.pushed)
            try await stage.expectNothingLost()
        }

        @Test("stopped during an upload it ends in time, and a second SIGTERM cuts it short")
        func secondSignal() async throws {
            let stage = try await Stage.shared()
            let mark = try await stage.start()
            try await stage.duringUpload {
                try await stage.box.run("systemctl stop --no-block dormouse-agent")
                try await stage.box.entry(
                    after: mark,
                    [
                        "MESSAGE_ID": RecordKind.phase.messageID.description,
                        "DORMOUSE_PHASE": "terminating",
                    ]
                )
                #expect(try await stage.property("ActiveState") == "deactivating")
                try await stage.box.run(
                    """
                    systemctl kill --signal=SIGTERM dormouse-agent
                    systemctl stop dormouse-agent
                    """
                )
                let push = try await stage.box.entry(
                    after: mark,
                    [
                        "MESSAGE_ID": RecordKind.push.messageID.description,
                        "DORMOUSE_OUTCOME": "retryable",
                    ]
                )
                #expect(push["DORMOUSE_BACKLOG_FILES"] != "0")
            }
            try await stage.expectNothingLost()
        }

        @Test("a storm of restarts and kills: longer and longer waits, no snapshot")
        func storm() async throws {
            let stage = try await Stage.shared()
            try await stage.start()
            for _ in 1...5 { try await stage.box.run("systemctl restart dormouse-agent") }
            for _ in 1...3 {
                let mark = try await stage.box.mark()
                try await stage.box.run("systemctl kill --signal=SIGKILL dormouse-agent")
                try await stage.box.entry(after: mark, WatchdogTests.started)
            }
            let waits = try await stage.box.entries([
                "MESSAGE": "failed 3 times in a row: waiting 2 s before the next start"
            ])
            #expect(waits.count == 1)
            #expect(try await stage.property("NRestarts") == "3")
            try await stage.expectNothingLost()
        }
    }
}
