#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The continuous clock, with sleepers that wait on one thread of ours.
///
/// The runtime's own timers are libdispatch's, whose threads wake up once a second for as long as
/// the process lives. A process that hardly does anything shall hardly wake.
public struct ThreadClock: Clock {
    public typealias Instant = ContinuousClock.Instant
    public typealias Duration = Swift.Duration

    public init() {}

    public var now: Instant { ContinuousClock.now }
    public var minimumResolution: Duration { .milliseconds(1) }

    /// Waits; a tolerance is not used.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try await Sleepers.shared.sleep(until: deadline)
    }
}

/// Who sleeps, and the thread that wakes them.
private final class Sleepers: Sendable {
    static let shared = Sleepers()

    private struct Sleeper {
        var deadline: ContinuousClock.Instant
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var sleepers: [UInt64: Sleeper] = [:]
        /// Cancelled before they lay down.
        var cancelled: Set<UInt64> = []
        var next: UInt64 = 0
    }

    private let state = Lock(State())
    /// A byte in it makes the thread look at the deadlines again.
    private let wakeUp: (read: Int32, write: Int32)

    private init() {
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0, "no pipe: \(String(cString: strerror(errno)))")
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        wakeUp = (ends[0], ends[1])
        // It lives as long as the process.
        OwnThread.required { self.run() }
    }

    func sleep(until deadline: ContinuousClock.Instant) async throws {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return true }
                    state.sleepers[id] = Sleeper(deadline: deadline, continuation: continuation)
                    return false
                }
                if isCancelled {
                    continuation.resume(throwing: CancellationError())
                } else {
                    look()
                }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: id)
                if sleeper == nil { state.cancelled.insert(id) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
        // Cancelled after it was woken: nobody asks for it again.
        state.withLock { _ = $0.cancelled.remove(id) }
    }

    private func look() {
        var byte: UInt8 = 0
        // A full pipe wakes, too.
        _ = write(wakeUp.write, &byte, 1)
    }

    private func run() {
        while true {
            let now = ContinuousClock.now
            let (woken, next) = state.withLock { state in
                let due = state.sleepers.filter { $0.value.deadline <= now }
                for id in due.keys { state.sleepers[id] = nil }
                return (due.values.map(\.continuation), state.sleepers.values.map(\.deadline).min())
            }
            for continuation in woken { continuation.resume() }
            wait(until: next)
        }
    }

    private func wait(until deadline: ContinuousClock.Instant?) {
        var timeout: Int32 = -1
        if let deadline {
            let milliseconds = (deadline - ContinuousClock.now) / .milliseconds(1)
            timeout = Int32(min(max(milliseconds.rounded(.up), 0), 1e9))
        }
        var polled = pollfd(fd: wakeUp.read, events: Int16(POLLIN), revents: 0)
        guard poll(&polled, 1, timeout) > 0 else { return }
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(wakeUp.read, &bytes, bytes.count) > 0 {}
    }
}
