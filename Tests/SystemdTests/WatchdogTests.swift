import Foundation
import Telemetry
import TestSupport
import Testing

extension SystemdTests {
    @Suite("the watchdog")
    struct WatchdogTests {
        /// Records of systemd itself.
        ///
        /// Source: sd-messages.h.
        static let killedByWatchdog: KeyValuePairs = [
            "MESSAGE_ID": "d9b373ed55a64feb8242e02dbe79a49c", "UNIT": Stage.agent,
            "UNIT_RESULT": "watchdog",
        ]
        static let started: KeyValuePairs = [
            "MESSAGE_ID": "39f53479d3a045ac8e11786248231fbf", "UNIT": Stage.agent,
        ]

        @Test("a wedged replicator is named with what it is in, killed, and started again")
        func wedged() async throws {
            let stage = try await Stage.shared()
            let mark = try await stage.start()
            try await stage.box.run("touch \(Stage.wedge)")
            let record = try await stage.box.entry(
                after: mark,
                [
                    "MESSAGE_ID": RecordKind.watchdog.messageID.description,
                    "DORMOUSE_ACTOR": "replicator",
                ]
            )
            #expect(record["DORMOUSE_OPERATION"]?.isEmpty == false)
            #expect(record["PRIORITY"] == "3")
            try await stage.box.entry(after: mark, Self.killedByWatchdog)
            try await stage.box.run("rm \(Stage.wedge)")
            try await stage.box.entry(after: mark, Self.started)
            try await stage.expectNothingLost()
        }

        @Test("a process that is stopped for less than WatchdogSec goes on as it is")
        func shortStop() async throws {
            let stage = try await Stage.shared()
            let mark = try await stage.start()
            let before = try await stage.property("MainPID")
            try await stage.box.run(
                """
                systemctl kill --signal=SIGSTOP dormouse-agent
                sleep 1.5
                systemctl kill --signal=SIGCONT dormouse-agent
                """
            )
            let resumed = try await stage.box.entry(
                after: mark,
                ["MESSAGE_ID": RecordKind.resume.messageID.description]
            )
            let gap = try #require(resumed["DORMOUSE_GAP_USEC"].flatMap { Int($0) })
            #expect(gap >= 1_000_000)
            let after = try await stage.box.mark()
            try await stage.box.entry(after: after, Stage.pushed)
            #expect(try await stage.property("MainPID") == before)
            #expect(try await stage.property("NRestarts") == "0")
            try await stage.expectNothingLost()
        }

        @Test("one that is stopped for longer is shot, and its relaunch costs no snapshot")
        func longStop() async throws {
            let stage = try await Stage.shared()
            let mark = try await stage.start()
            try await stage.box.run("systemctl kill --signal=SIGSTOP dormouse-agent")
            try await stage.box.entry(after: mark, Self.killedByWatchdog)
            let shot = try await stage.box.mark()
            try await stage.box.entry(after: mark, Self.started)
            try await stage.box.entry(after: shot, Stage.pushed)
            #expect(try await stage.property("NRestarts") == "1")
            try await stage.expectNothingLost()
        }
    }
}
