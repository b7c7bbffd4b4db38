#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The jobs of one thread; waiting for the next one costs no wake-ups.
// @unchecked because the jobs are touched under the mutex only, and the two pthread objects live
// as long as the queue, which the thread and the executor both hold.
package final class JobQueue: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let available = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var jobs: [(job: UnownedJob, run: (UnownedJob) -> Void)] = []
    private var isStopped = false

    package init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(available, nil)
    }

    deinit {
        pthread_cond_destroy(available)
        pthread_mutex_destroy(mutex)
        available.deallocate()
        mutex.deallocate()
    }

    /// Adds a job, and how to run it.
    package func add(_ job: UnownedJob, run: @escaping (UnownedJob) -> Void) {
        pthread_mutex_lock(mutex)
        jobs.append((job, run))
        pthread_cond_signal(available)
        pthread_mutex_unlock(mutex)
    }

    package func stop() {
        pthread_mutex_lock(mutex)
        isStopped = true
        pthread_cond_signal(available)
        pthread_mutex_unlock(mutex)
    }

    /// Runs jobs on the caller's thread, in order, until the queue is stopped and empty.
    package func run() {
        while true {
            pthread_mutex_lock(mutex)
            while jobs.isEmpty && !isStopped { pthread_cond_wait(available, mutex) }
            let batch = jobs
            jobs.removeAll(keepingCapacity: true)
            pthread_mutex_unlock(mutex)
            if batch.isEmpty { return }
            for (job, run) in batch { run(job) }
        }
    }
}
