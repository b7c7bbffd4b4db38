import SQLiteBridge
import Synchronization

/// Runs the program's task on the main thread.
///
/// The runtime's own pool belongs to libdispatch, which looks after it once a second for as long
/// as the process lives. Where nothing runs on that pool it is never made, and a replicator with
/// nothing to do sleeps.
final class MainThread: TaskExecutor {
    /// There is one main thread.
    static let shared = MainThread()

    private let queue = JobQueue()

    private init() {}

    func enqueue(_ job: consuming ExecutorJob) {
        let executor = asUnownedTaskExecutor()
        queue.add(UnownedJob(job)) { $0.runSynchronously(on: executor) }
    }

    /// Runs an operation, and what it awaits, to its end.
    ///
    /// - Precondition: Called on the main thread, once.
    func run<R: Sendable>(_ operation: @escaping @Sendable () async -> R) -> R {
        let result = Mutex<R?>(nil)
        Task(executorPreference: self) {
            let value = await operation()
            result.withLock { $0 = value }
            self.queue.stop()
        }
        queue.run()
        guard let value = result.withLock({ $0 }) else { preconditionFailure("stopped early") }
        return value
    }
}
