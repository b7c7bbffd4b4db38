/// When to flush, when to wait and when to stop: the rules of the collector's loop, and no more.
///
/// Times are counted from when the loop began.
package struct FlushSchedule: Sendable {
    package enum Action: Hashable, Sendable {
        case flush
        /// Take more at once.
        case pull
        case wait(until: Duration)
        /// Every source is closed and every row is durable.
        case stop
    }

    /// Wait after the first failed flush; it doubles from one to the next, up to the interval.
    package static let firstRetry = Duration.seconds(1)

    private let interval: Duration
    private var nextFlush: Duration
    private var retry: Duration?

    package init(interval: Duration) {
        precondition(interval > .zero)
        self.interval = interval
        nextFlush = interval
    }

    /// What to do, given what a pull has just found.
    package mutating func next(at now: Duration, _ state: PullReport) -> Action {
        let isExhausted = state.nextDue == nil
        if state.bufferedRows == 0 {
            if isExhausted { return .stop }
            // The beat goes on without rows; how often it was missed does not matter.
            if now >= nextFlush { beat(at: now) }
        } else if now >= nextFlush {
            return .flush
        } else if retry == nil, state.wantsFlush || isExhausted {
            return .flush
        }
        guard !state.isFull, let due = state.nextDue else { return .wait(until: nextFlush) }
        if due <= now { return .pull }
        // What is due is taken a few times in each interval: nobody is served by a wake-up for
        // every sample.
        return .wait(until: min(max(due, now + interval / 2), nextFlush))
    }

    package mutating func flushed(at now: Duration) {
        if retry != nil {
            retry = nil
            nextFlush = now + interval
        } else if now >= nextFlush {
            beat(at: now)
        }
    }

    package mutating func failed(at now: Duration) {
        let wait = min(retry.map { $0 * 2 } ?? Self.firstRetry, interval)
        retry = wait
        nextFlush = now + wait
    }

    /// The next multiple of the interval, unless so much was missed that it would come too soon.
    private mutating func beat(at now: Duration) {
        nextFlush += interval
        if nextFlush <= now { nextFlush = now + interval }
    }
}
