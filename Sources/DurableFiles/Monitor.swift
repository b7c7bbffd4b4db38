#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A state that threads wait on: for readers whose interface blocks.
// @unchecked because the value is touched under the mutex only.
package final class Monitor<State>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var state: State

    package init(_ state: State) {
        self.state = state
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// Changes the state and wakes who waits for it.
    package func change<R>(_ body: (inout State) throws -> R) rethrows -> R {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(changed)
            pthread_mutex_unlock(mutex)
        }
        return try body(&state)
    }

    /// Blocks the thread until there is an answer, which somebody's change has to bring about.
    package func block<R>(_ body: (inout State) -> R?) -> R {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let answer = body(&state) { return answer }
            pthread_cond_wait(changed, mutex)
        }
    }

    /// Blocks the thread until there is an answer.
    ///
    /// - Throws: `CancellationError` soon after the caller's task was cancelled.
    package func wait<R>(_ body: (inout State) -> R?) throws -> R {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let answer = body(&state) { return answer }
            try Task.checkCancellation()
            // Nobody signals a cancelled task, so look up now and then.
            var deadline = timespec()
            clock_gettime(CLOCK_REALTIME, &deadline)
            deadline.tv_nsec += 100_000_000
            if deadline.tv_nsec >= 1_000_000_000 {
                deadline.tv_sec += 1
                deadline.tv_nsec -= 1_000_000_000
            }
            pthread_cond_timedwait(changed, mutex, &deadline)
        }
    }
}
