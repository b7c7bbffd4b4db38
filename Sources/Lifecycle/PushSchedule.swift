/// When a resident replicator pushes next: plain rules, told what happened and when.
///
/// After a success the next push waits for a change, and for the interval since the last push to
/// be over. A failure that can pass by itself is tried again with growing, jittered delays, up
/// to a cap; what a person must change is looked at again at the cap or on a change.
public struct PushSchedule: Equatable, Sendable {
    public typealias Instant = ContinuousClock.Instant

    /// What to wait for.
    public struct Wait: Equatable, Sendable {
        /// A change of the database ends the wait.
        public var forChange: Bool
        /// When to stop waiting; `nil` for never.
        public var until: Instant?

        public init(forChange: Bool, until: Instant?) {
            self.forChange = forChange
            self.until = until
        }
    }

    public enum Result: Sendable {
        case succeeded, unavailable
        /// It failed and can pass by itself; not before a time that the server named.
        case retryable(after: Duration?)
        /// A success, but a commit was on its way whose end no event will tell.
        case commitPending(shipped: Bool)
    }

    private enum State: Equatable {
        /// All is pushed as far as known.
        case idle
        /// Something is new; not before that instant.
        case due(Instant)
        case failed(retryAt: Instant, wakesOnChange: Bool)
    }

    public let interval: Duration
    public let retryCap: Duration
    private var state: State
    private var lastStart: Instant?
    /// Retryable failures in a row.
    private var failures = 0
    /// Looks in vain at a pending commit, in a row.
    private var looks = 0

    /// Starts with a push that is due at once.
    public init(interval: Duration, retryCap: Duration = .seconds(60), now: Instant) {
        self.interval = interval
        self.retryCap = max(retryCap, interval)
        state = .due(now)
    }

    /// Whether to push now, or what to wait for.
    public func next(at now: Instant) -> Wait? {
        switch state {
        case .idle:
            return Wait(forChange: true, until: nil)
        case .due(let instant):
            return now >= instant ? nil : Wait(forChange: false, until: instant)
        case .failed(let retryAt, let wakesOnChange):
            return now >= retryAt ? nil : Wait(forChange: wakesOnChange, until: retryAt)
        }
    }

    /// The database changed.
    public mutating func changed(at now: Instant) {
        switch state {
        case .idle, .failed(_, wakesOnChange: true):
            state = .due(lastStart.map { max(now, $0 + interval) } ?? now)
        case .due, .failed: break
        }
    }

    /// Somebody asks for a push now; also the end of a suspension, which resets all delays.
    public mutating func requested(at now: Instant) {
        state = .due(now)
    }

    /// A push that began at `start` ended.
    ///
    /// - Parameters:
    ///   - result: How.
    ///   - start: When it began; the interval counts from there.
    ///   - now: When it ended.
    ///   - jitter: 0…1; spreads retries over the second half of their delay.
    public mutating func pushed(
        _ result: Result,
        start: Instant,
        now: Instant,
        jitter: Double
    ) {
        if case .commitPending(shipped: false) = result {
            // The push that was due is not over: what it is for has not come yet.
        } else {
            lastStart = start
            looks = 0
        }
        switch result {
        case .commitPending:
            failures = 0
            looks += 1
            // The writer needs microseconds, unless it is suspended between the two.
            let delay = min(.seconds(1), .milliseconds(1) * (1 << min(looks, 16)))
            state = .due(max(now + delay, lastStart.map { $0 + interval } ?? now))
        case .succeeded:
            failures = 0
            state = .idle
        case .retryable(let after):
            failures += 1
            let base = min(retryCap, max(interval, .seconds(1)) * (1 << min(failures - 1, 16)))
            let delay = base * (0.5 + 0.5 * min(max(jitter, 0), 1))
            // A server that asks for more than an hour is not obeyed to the end.
            let asked = min(max(after ?? .zero, .zero), .seconds(3600))
            state = .failed(retryAt: now + max(delay, asked), wakesOnChange: false)
        case .unavailable:
            failures = 0
            state = .failed(retryAt: now + retryCap, wakesOnChange: true)
        }
    }
}
