import Lifecycle
import Testing

@Suite("When a resident replicator pushes")
struct PushScheduleTests {
    private let start = ContinuousClock.now

    private func schedule() -> PushSchedule {
        PushSchedule(interval: .seconds(10), retryCap: .seconds(60), now: start)
    }

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    @Test("the first push is due at once, and after a success only a change makes the next")
    func waitsForChange() {
        var schedule = schedule()
        #expect(schedule.next(at: start) == nil)
        schedule.pushed(.succeeded, start: start, now: at(1), jitter: 0)
        #expect(schedule.next(at: at(1)) == .init(forChange: true, until: nil))
        #expect(schedule.next(at: at(9999)) == .init(forChange: true, until: nil))
    }

    @Test("a change soon after a push waits for the interval, a later one does not")
    func keepsInterval() {
        var schedule = schedule()
        schedule.pushed(.succeeded, start: start, now: at(1), jitter: 0)
        schedule.changed(at: at(2))
        #expect(schedule.next(at: at(2)) == .init(forChange: false, until: at(10)))
        #expect(schedule.next(at: at(10)) == nil)
        schedule.pushed(.succeeded, start: at(10), now: at(11), jitter: 0)
        schedule.changed(at: at(30))
        #expect(schedule.next(at: at(30)) == nil)
    }

    // BUGS B73: never zero attempts, and the first success ends the delays.
    @Test("retries back off to a cap, go on for ever, and a success ends them")
    func backsOff() {
        var schedule = schedule()
        var now = 0.0
        var delays: [Double] = []
        for _ in 0..<40 {
            schedule.pushed(.retryable(after: nil), start: at(now), now: at(now), jitter: 1)
            guard let wait = schedule.next(at: at(now)), let until = wait.until else {
                Issue.record("no delay")
                return
            }
            #expect(!wait.forChange)
            let delay = (until - at(now)) / .seconds(1)
            delays.append(delay)
            now += delay
            #expect(schedule.next(at: at(now)) == nil)
        }
        #expect(delays.prefix(4) == [10, 20, 40, 60])
        #expect(delays.dropFirst(4).allSatisfy { $0 == 60 })
        schedule.pushed(.succeeded, start: at(now), now: at(now), jitter: 1)
        schedule.pushed(.retryable(after: nil), start: at(now), now: at(now), jitter: 1)
        #expect(schedule.next(at: at(now))?.until == at(now + 10))
    }

    @Test("a server that names a time is not asked before it, nor trusted beyond an hour")
    func obeysRetryAfter() {
        var schedule = schedule()
        schedule.pushed(.retryable(after: .seconds(120)), start: start, now: start, jitter: 0)
        #expect(schedule.next(at: start)?.until == at(120))
        schedule.pushed(.retryable(after: .seconds(86_400)), start: start, now: start, jitter: 0)
        #expect(schedule.next(at: start)?.until == at(3600))
        schedule.pushed(.retryable(after: .seconds(-5)), start: start, now: start, jitter: 1)
        #expect(schedule.next(at: start)?.until == at(40))
    }

    @Test("jitter spreads a retry over the second half of its delay", arguments: [0, 0.5, 1])
    func jitters(jitter: Double) {
        var schedule = schedule()
        schedule.pushed(.retryable(after: nil), start: start, now: start, jitter: jitter)
        #expect(schedule.next(at: start)?.until == at(5 + 5 * jitter))
    }

    @Test("what a person must change is looked at again on a change, or at the cap")
    func looksAgain() {
        var schedule = schedule()
        schedule.pushed(.unavailable, start: start, now: start, jitter: 0)
        #expect(schedule.next(at: at(1)) == .init(forChange: true, until: at(60)))
        schedule.changed(at: at(20))
        #expect(schedule.next(at: at(20)) == nil)
    }

    @Test("a commit that is on its way is looked at again, soon and then once a second")
    func commitPending() {
        var schedule = schedule()
        schedule.pushed(.succeeded, start: at(-20), now: at(-20), jitter: 0)
        schedule.changed(at: start)
        var now = start
        var delays: [Duration] = []
        for _ in 0..<12 {
            schedule.pushed(.commitPending(shipped: false), start: now, now: now, jitter: 0)
            guard let until = schedule.next(at: now)?.until else {
                Issue.record("no delay")
                return
            }
            delays.append(until - now)
            now = until
        }
        #expect(delays.first == .milliseconds(2))
        #expect(delays.dropFirst(9).allSatisfy { $0 == .seconds(1) })
        // What ships at last was due all the time; the interval counts from there.
        schedule.pushed(.succeeded, start: now, now: now, jitter: 0)
        schedule.changed(at: now + .seconds(1))
        #expect(schedule.next(at: now + .seconds(1))?.until == now + .seconds(10))
    }

    @Test("a commit that came behind what was shipped waits for the interval")
    func commitPendingBehind() {
        var schedule = schedule()
        schedule.pushed(.commitPending(shipped: true), start: start, now: at(1), jitter: 0)
        #expect(schedule.next(at: at(1)) == .init(forChange: false, until: at(10)))
    }

    @Test("a request pushes at once, whatever was being waited for")
    func requested() {
        var schedule = schedule()
        schedule.pushed(.retryable(after: nil), start: start, now: start, jitter: 1)
        schedule.requested(at: at(1))
        #expect(schedule.next(at: at(1)) == nil)
    }
}
