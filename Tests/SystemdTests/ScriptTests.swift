import Foundation
import Telemetry
import TestSupport
import Testing

extension SystemdTests {
    @Suite("the scripts beside the service")
    struct ScriptTests {
        private static let chaos = "/usr/local/share/dormouse/chaos"
        private static let journal = "/usr/local/share/dormouse/journal"

        // MARK: scripts/chaos

        @Test("suspend.sh stops the service for so long, and it goes on")
        func suspend() async throws {
            let stage = try await Stage.shared()
            let mark = try await stage.start()
            let said = try await stage.box.run("\(Self.chaos)/suspend.sh 1.5")
            #expect(said.contains("stopped for 1.5 s"))
            try await stage.box.entry(
                after: mark,
                ["MESSAGE_ID": RecordKind.resume.messageID.description]
            )
            #expect(try await stage.property("NRestarts") == "0")
            try await stage.expectNothingLost()
        }

        @Test("suspend.sh that is interrupted lets the service go on all the same")
        func interruptedSuspend() async throws {
            let stage = try await Stage.shared()
            let mark = try await stage.start()
            let outcome = try await stage.box.outcome(
                of: "timeout --signal=TERM 1 \(Self.chaos)/suspend.sh 600"
            )
            #expect(outcome.status == 124)
            try await stage.box.entry(after: mark, Stage.pushed)
            try await stage.expectNothingLost()
        }

        @Test("kill-mid-push.sh kills it in a push and waits for its relaunch")
        func killMidPush() async throws {
            let stage = try await Stage.shared()
            try await stage.start()
            let said = try await stage.box.run("\(Self.chaos)/kill-mid-push.sh --times 2")
            #expect(said.matches(of: /killed process \d+ by SIGKILL in a push/).count == 2)
            #expect(try await stage.property("NRestarts") == "2")
            #expect(try await stage.property("IPAddressDeny") == "")
            try await stage.expectNothingLost()
        }

        @Test("flap-network.sh takes the service's packets away and gives them back")
        func flapPackets() async throws {
            let stage = try await Stage.shared()
            let mark = try await stage.start()
            try await stage.box.run("\(Self.chaos)/flap-network.sh --times 2 --down 1 --up 1")
            #expect(try await stage.property("IPAddressDeny") == "")
            try await stage.box.entry(after: mark, Stage.pushed)
            #expect(try await stage.property("NRestarts") == "0")
            try await stage.expectNothingLost()
        }

        @Test("flap-network.sh --link refuses this machine's links, and flaps a namespace's")
        func flapLink() async throws {
            let stage = try await Stage.shared()
            try await stage.start()
            let flap = "\(Self.chaos)/flap-network.sh --link lo --times 2 --down 1 --up 1"
            let refused = try await stage.box.outcome(of: flap)
            #expect(refused.status == 1)
            #expect(refused.stderr.contains("no network namespace of its own"))

            // Agent and sink, together in one.
            let units = ["dormouse-agent", "dormouse-sink"]
            try await stage.box.run("ip netns add flapping; ip -n flapping link set lo up")
            for unit in units {
                try await stage.dropIn(
                    "namespace",
                    "NetworkNamespacePath=/run/netns/flapping",
                    unit
                )
            }
            try await stage.box.run(
                """
                systemctl restart dormouse-sink dormouse-agent
                \(flap) &
                until ip -n flapping -brief link show lo | grep -w DOWN; do sleep 0.02; done
                wait $!
                ! ip -n flapping -brief link show lo | grep -w DOWN
                """
            )
            let end = try await stage.box.mark()
            try await stage.box.entry(after: end, Stage.pushed)
            for unit in units { try await stage.removeDropIn("namespace", unit) }
            try await stage.box.run(
                """
                systemctl restart dormouse-sink dormouse-agent
                ip netns delete flapping
                """
            )
            try await stage.expectNothingLost()
        }

        @Test("fill-disk.sh leaves no room for some seconds; what waits is written afterwards")
        func fillDisk() async throws {
            let stage = try await Stage.shared()
            let mark = try await stage.start()
            let said = try await stage.box.run("\(Self.chaos)/fill-disk.sh 3")
            #expect(said.contains("filled /var/lib/dormouse, 0 bytes left"))
            try await stage.box.entry(
                after: mark,
                [
                    "MESSAGE_ID": RecordKind.push.messageID.description,
                    "DORMOUSE_REASON": "device-full",
                ]
            )
            let end = try await stage.box.mark()
            try await stage.box.entry(after: end, Stage.pushed)
            try await stage.box.run("test ! -e /var/lib/dormouse/.dormouse-chaos-filler")
            try await stage.expectNothingLost()
        }

        // MARK: scripts/journal

        @Test("the journal answers what happened, by its fields")
        func answers() async throws {
            let stage = try await Stage.shared()
            try await stage.start()
            // A streak, and an upload with a reason to be large.
            try await stage.box.run("systemctl stop dormouse-sink")
            let mark = try await stage.box.mark()
            try await stage.insert(megabytes: 2)
            try await stage.box.entry(
                after: mark,
                [
                    "MESSAGE_ID": RecordKind.push.messageID.description, "DORMOUSE_STREAK": "2",
                ]
            )
            try await stage.box.run("systemctl start dormouse-sink")
            let upload = try await stage.box.entry(after: mark, Stage.pushed)
            let id = try #require(upload["DORMOUSE_PUSH_ID"])

            let outcomes = try await ask(stage, "outcomes.sh -n 5")
            #expect(outcomes.first?.hasPrefix("time") == true)
            #expect(outcomes.count == 6)
            #expect(outcomes.contains { $0.contains("pushed") })

            let streaks = try await ask(stage, "streaks.sh -u dormouse-agent")
            #expect(streaks.last?.contains("network") == true)
            #expect(streaks.last?.contains("wal, ") == true)

            let days = try await ask(stage, "bytes.sh --since today")
            #expect(days.count >= 2)
            #expect(days.last?.contains(" MB") == true)

            let snapshots = try await ask(stage, "snapshots.sh")
            #expect(snapshots.count == 2, "\(snapshots)")
            #expect(snapshots.last?.contains(Stage.database) == true)

            let suspensions = try await ask(stage, "suspensions.sh")
            #expect(suspensions.first?.hasPrefix("time") == true)

            let why = try await ask(stage, "why-so-big.sh --push \(id)").joined(separator: "\n")
            #expect(why.contains(id))
            #expect(why.contains("had failed (network)"))
            #expect(why.contains("files with "))
            try await stage.expectNothingLost()
        }

        private func ask(_ stage: Stage, _ words: String) async throws -> [String] {
            try await stage.box.run("\(Self.journal)/\(words)").split(separator: "\n")
                .map(String.init)
        }

        @Test("each of them explains itself")
        func help() async throws {
            let box = try await Stage.shared().box
            let text = try await box.run(
                """
                for script in \(Self.journal)/*.sh \(Self.chaos)/*.sh; do
                    case $script in */lib.sh) continue ;; esac
                    "$script" --help | grep -c "^Usage: ${script##*/} " || echo "$script: no help"
                done
                """
            )
            #expect(Set(text.split(separator: "\n")) == ["1"])
        }

        @Test("the kinds that scripts/journal asks for are those that are written")
        func kinds() throws {
            let file = Shared.project.appending(path: "scripts/journal/lib.sh")
            let text = try String(contentsOf: file, encoding: .utf8)
            let known = Set(RecordKind.allCases.map(\.messageID.description))
            let asked = text.matches(of: /(?m)^kind_[a-z_]+=([0-9a-f]{32})$/)
                .map { String($0.output.1) }
            #expect(asked.count > 5)
            #expect(Set(asked).isSubset(of: known))
        }
    }
}
