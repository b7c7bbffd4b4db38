/// A clock that stands still until a test moves it.
///
/// `nextDeadline` waits for somebody to sleep, so a test follows a loop from one wait to the next
/// without sleeping itself.
public final class ManualClock: Clock, Sendable {
    public struct Instant: InstantProtocol {
        /// Time since the clock was made.
        public var offset: Duration

        public init(offset: Duration) {
            self.offset = offset
        }

        public func advanced(by duration: Duration) -> Instant {
            Instant(offset: offset + duration)
        }

        public func duration(to other: Instant) -> Duration {
            other.offset - offset
        }

        public static func < (one: Instant, other: Instant) -> Bool {
            one.offset < other.offset
        }
    }

    private typealias Watcher = CheckedContinuation<Instant?, Never>

    private struct State {
        var now = Instant(offset: .zero)
        var isFinished = false
        var nextID: UInt64 = 0
        var sleepers:
            [UInt64: (deadline: Instant, continuation: CheckedContinuation<Bool, Never>)] =
                [:]
        var cancelled: Set<UInt64> = []
        var watchers: [Watcher] = []

        var earliest: Instant? { sleepers.values.map(\.deadline).min() }
    }

    private let state = Locked(State())

    public init() {}

    public var now: Instant { state.withLock { $0.now } }
    public var minimumResolution: Duration { .nanoseconds(1) }

    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let isCancelled = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (result, watchers) = state.withLock { state -> (Bool?, [Watcher]) in
                    if state.cancelled.remove(id) != nil || Task.isCancelled { return (true, []) }
                    if deadline <= state.now { return (false, []) }
                    state.sleepers[id] = (deadline, continuation)
                    defer { state.watchers = [] }
                    return (nil, state.watchers)
                }
                if let result { continuation.resume(returning: result) }
                for watcher in watchers { watcher.resume(returning: deadline) }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: id)
                if sleeper == nil { state.cancelled.insert(id) }
                return sleeper
            }
            sleeper?.continuation.resume(returning: true)
        }
        if isCancelled { throw CancellationError() }
    }

    /// Moves on, and wakes whoever sleeps until then.
    public func advance(to instant: Instant) {
        let due = state.withLock { state in
            state.now = max(state.now, instant)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due
        }
        for sleeper in due.values { sleeper.continuation.resume(returning: false) }
    }

    public func advance(by duration: Duration) {
        advance(to: now.advanced(by: duration))
    }

    /// The earliest deadline somebody sleeps until.
    ///
    /// - Returns: The deadline, once there is one; `nil` when nobody will sleep any more.
    public func nextDeadline() async -> Instant? {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> Instant?? in
                if let earliest = state.earliest { return .some(earliest) }
                if state.isFinished { return .some(nil) }
                state.watchers.append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// Moves from one deadline to the next, up to an instant or until nobody sleeps any more.
    public func run(until end: Instant) async {
        while let deadline = await nextDeadline(), deadline <= end { advance(to: deadline) }
        advance(to: end)
    }

    /// Says that nobody will sleep any more: what was tested has returned.
    public func finish() {
        let watchers = state.withLock { state in
            defer { state.watchers = [] }
            state.isFinished = true
            return state.watchers
        }
        for watcher in watchers { watcher.resume(returning: nil) }
    }
}
