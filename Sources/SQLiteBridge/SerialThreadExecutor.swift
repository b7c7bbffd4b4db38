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
        queue.add(UnownedJob(job), for: asUnownedSerialExecutor())
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }
}

// @unchecked because the jobs are touched under the mutex only, and the two pthread objects live
// as long as the queue, which the thread and the executor both hold.
private final class JobQueue: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let available = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var jobs: [(job: UnownedJob, executor: UnownedSerialExecutor)] = []
    private var isStopped = false

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(available, nil)
    }

    deinit {
        pthread_cond_destroy(available)
        pthread_mutex_destroy(mutex)
        available.deallocate()
        mutex.deallocate()
    }

    func add(_ job: UnownedJob, for executor: UnownedSerialExecutor) {
        pthread_mutex_lock(mutex)
        jobs.append((job, executor))
        pthread_cond_signal(available)
        pthread_mutex_unlock(mutex)
    }

    func stop() {
        pthread_mutex_lock(mutex)
        isStopped = true
        pthread_cond_signal(available)
        pthread_mutex_unlock(mutex)
    }

    func run() {
        while true {
            pthread_mutex_lock(mutex)
            while jobs.isEmpty && !isStopped { pthread_cond_wait(available, mutex) }
            let batch = jobs
            jobs.removeAll(keepingCapacity: true)
            pthread_mutex_unlock(mutex)
            if batch.isEmpty { return }
            for (job, executor) in batch { job.runSynchronously(on: executor) }
        }
    }
}
