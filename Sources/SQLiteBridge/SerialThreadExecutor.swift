import DurableFiles

/// One thread that runs an actor's jobs in order.
///
/// SQLite, `fsync` and file copies block; on the cooperative pool they would park a thread that
/// everybody shares. Waiting for work costs no wake-ups.
public final class SerialThreadExecutor: SerialExecutor, Sendable {
    private let queue = JobQueue()

    public init() {
        OwnThread.required { [queue] in queue.run() }
    }

    deinit {
        queue.stop()
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        let executor = asUnownedSerialExecutor()
        queue.add(UnownedJob(job)) { $0.runSynchronously(on: executor) }
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }
}
