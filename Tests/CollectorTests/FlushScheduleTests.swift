import Collector
import Testing

@Suite("Flush schedule")
struct FlushScheduleTests {
    private static func state(
        rows: Int = 0,
        due: Duration?,
        isFull: Bool = false,
        wantsFlush: Bool = false
    ) -> PullReport {
        PullReport(bufferedRows: rows, nextDue: due, isFull: isFull, wantsFlush: wantsFlush)
    }

    struct Rule: Sendable, CustomTestStringConvertible {
        let name: String
        let now: Int
        let state: PullReport
        let action: FlushSchedule.Action

        var testDescription: String { name }
    }

    static let rules: [Rule] = [
        Rule(
            name: "nothing buffered, a sample is due soon: taken with those that follow it",
            now: 3,
            state: state(due: .seconds(4)),
            action: .wait(until: .seconds(18))
        ),
        Rule(
            name: "the flush comes before the next sample",
            now: 3,
            state: state(rows: 5, due: .seconds(90)),
            action: .wait(until: .seconds(30))
        ),
        Rule(
            name: "more is due already",
            now: 3,
            state: state(rows: 5, due: .seconds(2)),
            action: .pull
        ),
        Rule(
            name: "it is time",
            now: 30,
            state: state(rows: 1, due: .seconds(31)),
            action: .flush
        ),
        Rule(
            name: "it is long past time",
            now: 9_000,
            state: state(rows: 1, due: .seconds(31)),
            action: .flush
        ),
        Rule(
            name: "it is time, and there is nothing to write",
            now: 30,
            state: state(due: .seconds(31)),
            action: .wait(until: .seconds(45))
        ),
        Rule(
            name: "enough is buffered",
            now: 3,
            state: state(rows: 500, due: .seconds(2), wantsFlush: true),
            action: .flush
        ),
        Rule(
            name: "every source is closed, rows are left",
            now: 3,
            state: state(rows: 1, due: nil),
            action: .flush
        ),
        Rule(name: "every source is closed", now: 3, state: state(due: nil), action: .stop),
    ]

    @Test("each situation has its action", arguments: rules)
    func action(rule: Rule) {
        var schedule = FlushSchedule(interval: .seconds(30))
        #expect(schedule.next(at: .seconds(rule.now), rule.state) == rule.action)
    }

    @Test("flushes keep their beat, and a suspension costs one, not a burst")
    func beat() {
        var schedule = FlushSchedule(interval: .seconds(30))
        let waiting = Self.state(rows: 1, due: .seconds(1_000_000))
        schedule.flushed(at: .seconds(31))
        #expect(schedule.next(at: .seconds(31), waiting) == .wait(until: .seconds(60)))
        // One for its number of rows leaves the beat alone.
        schedule.flushed(at: .seconds(40))
        #expect(schedule.next(at: .seconds(40), waiting) == .wait(until: .seconds(60)))
        schedule.flushed(at: .seconds(5_000))
        #expect(schedule.next(at: .seconds(5_000), waiting) == .wait(until: .seconds(5_030)))
    }

    @Test("a failed flush is tried again after 1, 2, 4 … seconds, at most an interval")
    func retries() {
        var schedule = FlushSchedule(interval: .seconds(10))
        let full = Self.state(rows: 9, due: .zero, isFull: true, wantsFlush: true)
        var now = Duration.seconds(10)
        for wait in [1, 2, 4, 8, 10, 10] {
            #expect(schedule.next(at: now, full) == .flush)
            schedule.failed(at: now)
            // Being full makes no haste while the database refuses.
            #expect(schedule.next(at: now, full) == .wait(until: now + .seconds(wait)))
            now += .seconds(wait)
        }
        schedule.flushed(at: now)
        let waiting = Self.state(rows: 1, due: .seconds(1_000))
        #expect(schedule.next(at: now, waiting) == .wait(until: now + .seconds(10)))
        #expect(schedule.next(at: now, full) == .flush)
    }

    @Test("while flushes fail, samples are taken until the buffer is full")
    func takesWhileFailing() {
        var schedule = FlushSchedule(interval: .seconds(30))
        schedule.failed(at: .seconds(30))
        let some = Self.state(rows: 9, due: .seconds(30), wantsFlush: true)
        #expect(schedule.next(at: .seconds(30), some) == .pull)
        let drained = Self.state(rows: 9, due: nil, wantsFlush: true)
        #expect(schedule.next(at: .seconds(30), drained) == .wait(until: .seconds(31)))
    }
}
