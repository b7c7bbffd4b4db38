import Chaos
import Configuration
import Foundation
import Lifecycle
import SQLiteBridge
import TestSupport
import Testing

@Suite("A scenario file")
struct ScenarioTests {
    static func parse(_ text: String) throws(ConfigurationError) -> Scenario {
        try Scenario.parse(Array(text.utf8), file: "s.yml")
    }

    @Test("has its defaults filled in")
    func defaults() throws {
        let scenario = try Self.parse("about: nothing happens\nsteps: [{ wait: 1s }]")
        #expect(scenario.name == "s")
        #expect(scenario.about == "nothing happens")
        #expect(scenario.seed == 1)
        #expect(scenario.pace == Scenario.Pace(speed: 1, scale: 1))
        #expect(scenario.fullPace == scenario.pace)
        #expect(scenario.fullRepeat == nil)
        #expect(!scenario.isContainerShared)
        #expect(scenario.steps == [.event(.wait, .init(.seconds(1)))])
        #expect(scenario.agent.push.interval == .seconds(900))
    }

    struct Step: Sendable, CustomTestStringConvertible {
        let text: String
        let action: Action
        var lasts = Scenario.Drawn.instant
        var testDescription: String { text }
    }

    static let steps = [
        Step(text: "wait: 5s", action: .wait, lasts: .init(.seconds(5))),
        Step(
            text: "foreground: 1m..2m",
            action: .foreground,
            lasts: .init(.seconds(60), .seconds(120))
        ),
        Step(text: "background: 30s", action: .background, lasts: .init(.seconds(30))),
        Step(text: "suspend: 1h", action: .suspend, lasts: .init(.seconds(3_600))),
        Step(text: "busy: 2s", action: .busy, lasts: .init(.seconds(2))),
        Step(text: "settle: 2s", action: .settle, lasts: .init(.seconds(2))),
        Step(text: "kill: 0s", action: .end(.kill, when: .now)),
        Step(
            text: "memory-kill: 1s, when: uploading",
            action: .end(.memoryKill, when: .uploading),
            lasts: .init(.seconds(1))
        ),
        Step(
            text: "terminate: 1s, when: now",
            action: .end(.terminate, when: .now),
            lasts: .init(.seconds(1))
        ),
        Step(text: "network: on", action: .network(.on)),
        Step(text: "network: off, for: 3s", action: .network(.off), lasts: .init(.seconds(3))),
        Step(text: "network: slow, rate: 1MB", action: .network(.slow(rate: 1_000_000))),
        Step(
            text: "network: flapping, up: 1s, down: 2s",
            action: .network(.flapping(up: .seconds(1), down: .seconds(2)))
        ),
        Step(
            text: "proxy: answer, status: 408, after: 1kB, times: 3",
            action: .proxy(.answer(status: 408, afterBytes: 1_000), times: 3)
        ),
        Step(
            text: "proxy: reset, after: 10",
            action: .proxy(.resetUpload(afterBytes: 10), times: nil)
        ),
        Step(
            text: "proxy: reset-answer, after: 10",
            action: .proxy(.resetDownload(afterBytes: 10), times: nil)
        ),
        Step(text: "proxy: stall", action: .proxy(.stall(afterBytes: 0), times: nil)),
        Step(text: "proxy: duplicate", action: .proxy(.duplicate, times: nil)),
        Step(text: "proxy: corrupt, after: 7", action: .proxy(.corrupt(atByte: 7), times: nil)),
        Step(text: "proxy: refuse, times: 1", action: .proxy(.refuse, times: 1)),
        Step(text: "proxy: none", action: .proxy(.none, times: nil)),
        Step(text: "disk: full", action: .disk(.device, .full(free: 0))),
        Step(
            text: "disk: small, of: sink, free: 1MiB",
            action: .disk(.sink, .full(free: 1 << 20))
        ),
        Step(
            text: "disk: slow, delay: 5ms",
            action: .disk(.device, .slow(delay: .milliseconds(5)))
        ),
        Step(text: "disk: ok", action: .disk(.device, .ok)),
        Step(text: "clock: +1h", action: .clock(.seconds(3_600))),
        Step(text: "clock: -5m", action: .clock(.seconds(-300))),
        Step(text: "checkpoint: truncate", action: .checkpoint(.truncate, times: 1)),
        Step(text: "checkpoint: passive, times: 4", action: .checkpoint(.passive, times: 4)),
        Step(text: "sink: kill, for: 2s", action: .sink(.kill), lasts: .init(.seconds(2))),
        Step(text: "write: 4MB", action: .write(4_000_000, .external)),
        Step(text: "write: 4MB, pool: automatic", action: .write(4_000_000, .automatic)),
        Step(text: "control: low-power on", action: .control(.lowPower(true))),
    ]

    @Test("has one event a step", arguments: steps)
    func step(step: Step) throws {
        let scenario = try Self.parse("about: x\nsteps: [{ \(step.text) }]")
        #expect(scenario.steps == [.event(step.action, step.lasts)])
    }

    @Test("repeats and chooses")
    func nesting() throws {
        let scenario = try Self.parse(
            """
            about: x
            speed: 60
            scale: 4
            full: { speed: 6, scale: 1, repeat: 9, expect: { rescans: ..30 } }
            shared-container: true
            content: 1MiB
            agent: { push: { interval: 5m }, checkpoint: { pin: yield } }
            steps:
              - repeat: 2..5
                steps:
                  - choose:
                      - weight: 3
                        steps: [{ wait: 1s }, { kill: 1s }]
                      - suspend: 1s
            expect: { snapshots: 1, rescans: ..3, retryable: 2.., overhead: ..1.5, worst-wal: ..1MiB }
            """
        )
        #expect(
            scenario.steps == [
                .times(
                    2...5,
                    [
                        .choice([
                            .init(
                                weight: 3,
                                steps: [
                                    .event(.wait, .init(.seconds(1))),
                                    .event(.end(.kill, when: .now), .init(.seconds(1))),
                                ]
                            ),
                            .init(weight: 1, steps: [.event(.suspend, .init(.seconds(1)))]),
                        ])
                    ]
                )
            ]
        )
        #expect(scenario.fullPace == Scenario.Pace(speed: 6, scale: 1))
        #expect(scenario.fullRepeat == 9)
        #expect(scenario.isContainerShared)
        #expect(scenario.content == 1 << 20)
        #expect(scenario.agent.push.interval == .seconds(300))
        #expect(
            Set(scenario.expectations) == [
                Allowance(.snapshots, 1, 1), Allowance(.rescans, nil, 3),
                Allowance(.retryable, 2, nil), Allowance(.overhead, nil, 1_500),
                Allowance(.worstWAL, nil, 1 << 20),
            ]
        )
        #expect(scenario.expectations(isFull: false) == scenario.expectations)
        #expect(
            Set(scenario.expectations(isFull: true)) == [
                Allowance(.snapshots, 1, 1), Allowance(.rescans, nil, 30),
                Allowance(.retryable, 2, nil), Allowance(.overhead, nil, 1_500),
                Allowance(.worstWAL, nil, 1 << 20),
            ]
        )
    }

    struct Refused: Sendable, CustomTestStringConvertible {
        let text: String
        let lines: [String]
        var testDescription: String { text }

        init(_ text: String, _ lines: String...) {
            self.text = text
            self.lines = lines
        }
    }

    static let refused = [
        Refused(
            "seed: 1",
            "s.yml: about: is required and not set",
            "s.yml: steps: is required and not set"
        ),
        Refused("about: x\nsteps: []", "s.yml:2: steps: is empty"),
        Refused(
            "about: x\nsteps: { wait: 1s }",
            "s.yml:2: steps: must be a list, not a group of settings"
        ),
        Refused(
            "about: x\nsteps:\n  - forground: 1s",
            "s.yml:3: steps[0].forground: unknown key: did you mean \"foreground\"?"
        ),
        Refused("about: x\nsteps:\n  - {}", "s.yml:3: steps[0]: has no event"),
        Refused(
            "about: x\nsteps:\n  - kill: 1s\n    suspend: 1s",
            "s.yml:3: steps[0]: has two events, suspend and kill: make two steps"
        ),
        Refused(
            "about: x\nsteps:\n  - kill: 1s\n    wen: now",
            "s.yml:4: steps[0].wen: unknown key: did you mean \"when\"?"
        ),
        Refused(
            "about: x\nsteps:\n  - wait: 5",
            "s.yml:3: steps[0].wait: \"5\" has no unit: write 5s for seconds"
        ),
        Refused(
            "about: x\nsteps:\n  - wait: 5s..1s",
            "s.yml:3: steps[0].wait: \"5s..1s\" ends before it begins"
        ),
        Refused(
            "about: x\nsteps:\n  - wait: ..1s",
            "s.yml:3: steps[0].wait: \"..1s\" needs both ends"
        ),
        Refused(
            "about: x\nsteps:\n  - network: slow",
            "s.yml:3: steps[0].rate: is required and not set"
        ),
        Refused(
            "about: x\nsteps:\n  - network: slwo",
            "s.yml:3: steps[0].network: \"slwo\" is not known: did you mean \"slow\"?"
        ),
        Refused(
            "about: x\nsteps:\n  - proxy: answer",
            "s.yml:3: steps[0].status: is required and not set"
        ),
        Refused(
            "about: x\nsteps:\n  - proxy: duplicate\n    after: 5",
            "s.yml:4: steps[0].after: says nothing about this event: it has times, for"
        ),
        Refused(
            "about: x\nsteps:\n  - checkpoint: trunctae",
            "s.yml:3: steps[0].checkpoint: \"trunctae\" is not known: did you mean \"truncate\"?"
        ),
        Refused(
            "about: x\nsteps:\n  - control: dance",
            "s.yml:3: steps[0].control: \"dance\" is no request: use one of status, push, "
                + "checkpoint, foreground, background, extend, low-power on|off, metered on|off, reload"
        ),
        Refused(
            "about: x\nsteps:\n  - repeat: 0\n    steps: [{ wait: 1s }]",
            "s.yml:3: steps[0].repeat: \"0\" is out of range: 1 to 100000"
        ),
        Refused(
            "about: x\nsteps:\n  - repeat: 3",
            "s.yml:3: steps[0].steps: is required and not set"
        ),
        Refused(
            "about: x\nsteps:\n  - repeat: 100000\n    steps: [{ wait: 1s }, { wait: 1s }]",
            "s.yml:2: steps: make up to 200000 events; at most 100000 are allowed"
        ),
        Refused(
            "about: x\nsteps:\n  - choose: 3",
            "s.yml:3: steps[0].choose: must be a list of steps to choose from"
        ),
        Refused(
            "about: x\nsteps: [{ wait: 1s }]\nexpect: { snapshot: 1 }",
            "s.yml:3: expect.snapshot: unknown key: did you mean \"snapshots\"?"
        ),
        Refused(
            "about: x\nsteps: [{ wait: 1s }]\nexpect: { snapshots: few, worst-wal: 3.., writer-stall: 3 }",
            "s.yml:3: expect.snapshots: \"few\" is not a whole number, nor a range such as 1..5 or 1..",
            "s.yml:3: expect.writer-stall: \"3\" has no unit: write 3s for seconds"
        ),
        Refused(
            "about: x\nsteps: [{ wait: 1s }]\nagent: { database: /d }",
            "s.yml:3: agent.database: is chosen by whoever runs this"
        ),
        Refused(
            "about: x\nsteps: [{ wait: 1s }]\nagent: { push: { intervall: 1m } }",
            "s.yml:3: agent.push.intervall: unknown key: did you mean \"interval\"?"
        ),
        Refused(
            "about: x\nspeed: 0\nscale: 0\nsteps: [{ wait: 1s }]",
            "s.yml:2: speed: \"0\" is out of range: 0.001 to 1000000",
            "s.yml:3: scale: \"0\" is out of range: 1 to 10000"
        ),
    ]

    @Test("is refused with the line and what would be right", arguments: refused)
    func refusal(refused: Refused) {
        let error = #expect(throws: ConfigurationError.self) { try Self.parse(refused.text) }
        #expect(error?.lines == refused.lines)
    }

    @Test("reading asks for exactly the keys that there are")
    func keys() throws {
        var all: Set<String> = []
        let texts =
            Self.steps.map { "about: x\nsteps: [{ \($0.text) }]" } + [
                """
                about: x
                full: { repeat: 1, expect: { snapshots: 1 } }
                steps: [{ choose: [{ weight: 1, steps: [{ repeat: 1, steps: [{ wait: 1s }] }] }] }]
                expect: { snapshots: 1 }
                """
            ]
        for text in texts {
            var asked: Set<String> = []
            _ = try Scenario.parse(Array(text.utf8), file: "s.yml", asked: &asked)
            all.formUnion(asked)
        }
        #expect(all == Set(Scenario.knownPaths))
    }
}
