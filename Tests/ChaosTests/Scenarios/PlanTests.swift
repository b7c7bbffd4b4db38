import Chaos
import Configuration
import Foundation
import TestSupport
import Testing

@Suite("The plan of a scenario")
struct PlanTests {
    private static let text = """
        about: x
        seed: 7
        full: { repeat: 40 }
        steps:
          - foreground: 1s..100s
          - repeat: 10..20
            steps:
              - choose:
                  - weight: 3
                    steps: [{ suspend: 1s..1h }]
                  - steps: [{ kill: 5s }, { clock: +1h }]
                  - wait: 1s
        """

    private func scenario() throws -> Scenario { try ScenarioTests.parse(Self.text) }

    @Test("is the same for the same seed, and another for another")
    func reproducible() throws {
        let scenario = try scenario()
        #expect(Plan(scenario) == Plan(scenario, seed: 7))
        #expect(Plan(scenario, seed: 8) == Plan(scenario, seed: 8))
        #expect(Plan(scenario, seed: 7).items != Plan(scenario, seed: 8).items)
        #expect(Set((1...50).map { Plan(scenario, seed: $0).items }).count == 50)
    }

    @Test("is on every machine and in every version what it was when the seed was told")
    func pinned() throws {
        let scenario = try ScenarioTests.parse(
            """
            about: x
            steps:
              - repeat: 2..4
                steps: [{ choose: [{ wait: 1s..9s }, { kill: 1s..9s }, { suspend: 1s..9s }] }]
            """
        )
        #expect(
            Plan(scenario, seed: 2_605).text == """
                seed 2605, 2 events
                0:00  suspended, 3s243ms
                0:03  suspended, 8s674ms

                """
        )
    }

    @Test("goes round as often as a full run asks for, at the outermost level")
    func full() throws {
        let scenario = try scenario()
        let usual = Plan(scenario)
        let full = Plan(scenario, isFull: true)
        #expect(full.items.count > usual.items.count)
        #expect(Array(full.items.prefix(usual.items.count)) == usual.items)
    }

    @Test("draws within the bounds, and every choice is met")
    func bounds() throws {
        let scenario = try scenario()
        var kills = 0
        var suspensions = 0
        for seed in 1...100 as ClosedRange<UInt64> {
            for item in Plan(scenario, seed: seed).items {
                switch item.action {
                case .foreground: #expect((.seconds(1)...(.seconds(100))).contains(item.lasts))
                case .suspend:
                    suspensions += 1
                    #expect((.seconds(1)...(.seconds(3_600))).contains(item.lasts))
                case .end:
                    kills += 1
                    #expect(item.lasts == .seconds(5))
                default: break
                }
            }
        }
        // Three of five by their weights; far from it would be no choice by weight.
        #expect(kills > 0 && suspensions > 2 * kills && suspensions < 4 * kills)
    }

    @Test("every shipped scenario has one", arguments: Shipped.names)
    func shipped(name: String) throws {
        let scenario = try Scenario.load(path: Shipped.path(of: name))
        let plan = Plan(scenario)
        #expect(!plan.items.isEmpty)
        // A minute of plan at most; what the machine adds comes on top.
        #expect(
            scenario.pace.real(plan.length) < .seconds(60),
            "\(scenario.pace.real(plan.length))"
        )
    }
}

/// The scenarios that come with the project.
enum Shipped {
    static let directory = Shared.project.appending(path: "scenarios")

    static func path(of name: String) -> String {
        directory.appending(path: "\(name).yml").path
    }

    static let names = [
        "airplane-week", "bad-proxy", "commute", "full-disk", "jetsam-storm", "month", "overnight",
        "two-pools", "update-install",
    ]
}
