#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// One thread that runs an actor's jobs in order.
///
/// SQLite, `fsync` and file copies block; on the cooperative pool they would park a thread that
/// everybody shares. Waiting for work costs no wake-ups.
public final class SerialThreadExecutor: SerialExecutor, Sendable {
    private let queue = JobQueue()

    public init() {
        let context = Unmanaged.passRetained(queue)
        var thread = pthread_t()
        let code = pthread_create(
            &thread,
            nil,
            { raw in
                guard let raw else { return nil }
                Unmanaged<JobQueue>.fromOpaque(raw).takeRetainedValue().run()
                return nil
            },
            context.toOpaque()
        )
        precondition(code == 0, "no thread: \(String(cString: strerror(code)))")
        pthread_detach(thread)
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
