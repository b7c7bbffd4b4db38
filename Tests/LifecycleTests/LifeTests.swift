import Lifecycle
import TestSupport
import Testing

@Suite("The phases of a process")
struct LifeTests {
    private static let start = ContinuousClock.now

    private static var budgets: Life.Budgets {
        var budgets = Life.Budgets()
        budgets.background = .seconds(30)
        budgets.extending = .seconds(10)
        budgets.extensions = 2
        budgets.termination = .seconds(5)
        return budgets
    }

    private static func at(_ seconds: Double) -> ContinuousClock.Instant {
        start + .seconds(seconds)
    }

    /// A life that went through events, one a second from second 0 on.
    private static func life(_ events: [Life.Event]) -> Life {
        var life = Life(budgets)
        for (second, event) in events.enumerated() {
            life.handle(event, at: at(Double(second)))
        }
        return life
    }

    /// Ways through life, and where they lead.
    private static let ways: [([Life.Event], Phase)] = [
        ([], .launching),
        ([.established], .foreground),
        ([.atRest], .launching),
        ([.woke], .launching),
        ([.enterBackground, .established], .background(until: at(31))),
        ([.enterBackground, .enterForeground, .established], .foreground),
        ([.established, .enterForeground], .foreground),
        ([.established, .atRest], .foreground),
        ([.established, .enterBackground], .background(until: at(31))),
        // Asked again, the system grants nothing more.
        ([.established, .enterBackground, .enterBackground], .background(until: at(31))),
        ([.established, .enterBackground, .enterForeground], .foreground),
        ([.established, .enterBackground, .atRest], .suspended),
        ([.established, .enterBackground, .atRest, .established], .suspended),
        ([.established, .enterBackground, .atRest, .woke], .resuming(.background)),
        (
            [.established, .enterBackground, .atRest, .woke, .established],
            .background(until: at(34))
        ),
        (
            [.established, .enterBackground, .atRest, .enterBackground, .established],
            .background(until: at(34))
        ),
        ([.established, .enterBackground, .atRest, .enterForeground], .resuming(.foreground)),
        (
            [.established, .enterBackground, .atRest, .enterForeground, .established],
            .foreground
        ),
        // Stopped without having been told that it may be.
        ([.established, .woke], .resuming(.foreground)),
        ([.established, .woke, .established], .foreground),
        ([.established, .enterBackground, .woke], .resuming(.background)),
        (
            [.established, .enterBackground, .woke, .established],
            .background(until: at(33))
        ),
        ([.established, .woke, .woke, .established], .foreground),
        ([.established, .woke, .enterBackground, .established], .background(until: at(33))),
        (
            [.established, .enterBackground, .woke, .enterForeground, .established],
            .foreground
        ),
        ([.terminate], .terminating(until: at(5))),
        ([.established, .terminate], .terminating(until: at(6))),
        ([.established, .enterBackground, .terminate], .terminating(until: at(7))),
        ([.established, .enterBackground, .atRest, .terminate], .terminating(until: at(8))),
        ([.established, .woke, .terminate], .terminating(until: at(7))),
        // Asked twice it is cut short; slept through, it has its time again.
        ([.established, .terminate, .terminate], .terminating(until: at(2))),
        ([.established, .terminate, .woke], .terminating(until: at(7))),
        (
            [.established, .terminate, .enterForeground, .enterBackground],
            .terminating(until: at(6))
        ),
    ]

    @Test("each way leads to its phase", arguments: ways.indices)
    func leads(index: Int) {
        let (events, phase) = Self.ways[index]
        #expect(Self.life(events).phase == phase, "\(events)")
    }

    @Test("whatever happens, it comes to an end when it is told to", arguments: 0..<200)
    func ends(seed: UInt64) {
        var chance = SeededGenerator(seed: seed)
        let all: [Life.Event] = [
            .established, .enterBackground, .enterForeground, .atRest, .woke,
        ]
        var life = Life(Self.budgets)
        for second in 0..<20 {
            let event = all[Int(chance.next() % UInt64(all.count))]
            life.handle(event, at: Self.at(Double(second)))
            if let deadline = life.phase.deadline { #expect(deadline >= Self.at(Double(second))) }
        }
        life.handle(.terminate, at: Self.at(20))
        #expect(life.phase == .terminating(until: Self.at(25)))
    }

    @Test("work in the background is cut before its deadline, at the end at the deadline")
    func cutoff() {
        #expect(Self.life([.established]).cutoff == nil)
        #expect(Self.life([.established, .enterBackground]).cutoff == Self.at(29))
        #expect(Self.life([.established, .terminate]).cutoff == Self.at(6))
        var short = Life.Budgets()
        short.background = .milliseconds(500)
        #expect(short.margin == .milliseconds(100))
    }

    @Test("extensions are granted as often as configured, in the background, while there is time")
    func extends() throws {
        var life = Self.life([.established, .enterBackground])
        #expect(try life.extend(at: Self.at(2)) == .seconds(10))
        #expect(life.phase == .background(until: Self.at(41)))
        #expect(try life.extend(at: Self.at(40)) == .seconds(10))
        #expect(throws: Life.RefusedExtension(reason: .exhausted)) {
            try life.extend(at: Self.at(41))
        }
        // Each background has its own.
        life.handle(.atRest, at: Self.at(42))
        #expect(throws: Life.RefusedExtension(reason: .notInBackground)) {
            try life.extend(at: Self.at(43))
        }
        life.handle(.woke, at: Self.at(50))
        life.handle(.established, at: Self.at(51))
        #expect(try life.extend(at: Self.at(52)) == .seconds(10))

        var late = Self.life([.established, .enterBackground])
        #expect(throws: Life.RefusedExtension(reason: .late)) { try late.extend(at: Self.at(31)) }
        var without = Life()
        without.handle(.established, at: Self.at(0))
        without.handle(.enterBackground, at: Self.at(1))
        #expect(throws: Life.RefusedExtension(reason: .notAllowed)) {
            try without.extend(at: Self.at(2))
        }
    }
}
