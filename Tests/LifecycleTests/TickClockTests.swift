import Lifecycle
import Testing

@Suite("Suspensions, found in the gaps between ticks")
struct TickClockTests {
    private func reading(_ monotonic: Double, slept: Double = 0) -> ClockReading {
        ClockReading(monotonic: .seconds(monotonic), boottime: .seconds(monotonic + slept))
    }

    struct Case: Sendable {
        var name: String
        /// Seconds that pass, of which the machine slept.
        var passes: Double
        var slept: Double = 0
        var due: Double?
        var wasContinued = false
        var found: Suspension?
    }

    static let cases = [
        Case(name: "in time", passes: 1, due: 1),
        Case(name: "late as on a busy machine", passes: 2.9, due: 1),
        Case(name: "nothing was due", passes: 3_600),
        Case(
            name: "stopped and continued",
            passes: 4.5,
            due: 1,
            wasContinued: true,
            found: Suspension(gap: .seconds(4.5))
        ),
        Case(
            name: "stopped for less than a tick",
            passes: 0.25,
            due: 1,
            wasContinued: true,
            found: Suspension(gap: .seconds(0.25))
        ),
        Case(
            name: "frozen: nobody sends SIGCONT",
            passes: 8,
            due: 1,
            found: Suspension(gap: .seconds(8))
        ),
        Case(
            name: "the machine slept, and nothing was due",
            passes: 600,
            slept: 590,
            found: Suspension(gap: .seconds(600), slept: .seconds(590))
        ),
        Case(
            name: "stopped, and the machine slept meanwhile",
            passes: 30,
            slept: 20,
            due: 1,
            wasContinued: true,
            found: Suspension(gap: .seconds(30), slept: .seconds(20))
        ),
        Case(name: "the clocks are read one after the other", passes: 1, slept: 0.001, due: 1),
    ]

    @Test("each gap is what it is", arguments: cases)
    func tick(_ test: Case) {
        var clock = TickClock(at: reading(100))
        let now = ClockReading(
            monotonic: .seconds(100 + test.passes - test.slept),
            boottime: .seconds(100 + test.passes)
        )
        let found = clock.tick(
            at: now,
            due: test.due.map { .seconds($0) },
            wasContinued: test.wasContinued
        )
        #expect(found?.gap.milliseconds == test.found?.gap.milliseconds, "\(test.name)")
        #expect(found?.slept.milliseconds == test.found?.slept.milliseconds, "\(test.name)")
    }

    @Test("the next tick counts from the last one, found or not")
    func countsOn() {
        var clock = TickClock(at: reading(0))
        #expect(clock.tick(at: reading(10), due: .seconds(1), wasContinued: false) != nil)
        #expect(clock.tick(at: reading(11), due: .seconds(1), wasContinued: false) == nil)
    }

    @Test("both clocks of this machine go forward")
    func real() {
        let first = ClockReading.now()
        let second = ClockReading.now()
        #expect(second.monotonic >= first.monotonic)
        #expect(second.boottime >= first.boottime)
        #expect(first.boottime >= first.monotonic - .seconds(1))
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 { Int64((self / .milliseconds(1)).rounded()) }
}
