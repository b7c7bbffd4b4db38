#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A state behind a mutex of the system's.
///
/// `Synchronization.Mutex` hands a contended lock over within the kernel, where the thread
/// sanitizer does not see it and takes every such hand-over for a race.
// @unchecked because the value is touched under the mutex only.
package final class Lock<State: ~Copyable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var state: State

    package init(_ state: consuming State) {
        self.state = state
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    package func withLock<R, Failure: Error>(
        _ body: (inout State) throws(Failure) -> R
    ) throws(Failure) -> R {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }
}
