import CSystemd
import Glibc
import Synchronization

/// The thread that writes records, so that a stuck log cannot stop the program.
///
/// journald that is stopped, or a pipe that nobody reads, blocks whoever writes to it. Here a
/// caller waits for its record to be out, which takes microseconds, but only up to `patience`;
/// once that was in vain, callers go on at once until the log moves again. At most `capacity`
/// records wait; what comes beyond is counted, and the count is written as soon as that works.
///
/// @unchecked because the queue is only touched under `mutex`, and the pointers never change.
package final class Outlet: @unchecked Sendable {
    private let emit: @Sendable (JournalRecord) -> Void
    private let capacity: Int
    private let patience: Duration

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    // Under the mutex.
    private var waiting: [JournalRecord] = []
    private var enqueued: UInt64 = 0
    private var finished: UInt64 = 0
    private var dropped = 0
    private var isStuck = false
    private var isRunning = false

    /// - Parameters:
    ///   - capacity: Records that may wait, at least 1.
    ///   - patience: How long a caller waits for its record to be written.
    ///   - write: Writes one record; runs on the outlet's thread, one call at a time.
    package init(
        capacity: Int = 1_024,
        patience: Duration = .seconds(1),
        write: @escaping @Sendable (JournalRecord) -> Void
    ) {
        self.capacity = capacity
        self.patience = patience
        emit = write
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // Monotonic: setting the clock must not stretch the wait.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(changed, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    // The thread keeps the outlet alive while records wait and ends when none do, so here no
    // thread can be running.
    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// Writes a record, waiting for it for `patience` at most.
    package func write(_ record: JournalRecord) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard waiting.count < capacity else {
            dropped += 1
            return
        }
        waiting.append(record)
        enqueued += 1
        let ticket = enqueued
        guard startThread(), !isStuck else { return }
        var deadline = Self.deadline(after: patience)
        while finished < ticket {
            if pthread_cond_timedwait(changed, mutex, &deadline) == ETIMEDOUT {
                isStuck = finished < ticket
                return
            }
        }
    }

    /// Starts the thread if none is running; called under the mutex.
    ///
    /// - Returns: False when there can be no thread; the record waits for the next try.
    private func startThread() -> Bool {
        guard !isRunning else { return true }
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        // Owned by the thread, which releases it at its end.
        let context = Unmanaged.passRetained(self)
        let code = pthread_create(
            &thread,
            &attributes,
            { context in
                if let context {
                    Unmanaged<Outlet>.fromOpaque(context).takeRetainedValue().drain()
                }
                return nil
            },
            context.toOpaque()
        )
        guard code == 0 else {
            context.release()
            return false
        }
        isRunning = true
        return true
    }

    /// Writes what waits until nothing does.
    private func drain() {
        var signals = sigset_t()
        sigfillset(&signals)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        pthread_mutex_lock(mutex)
        while !waiting.isEmpty {
            let batch = waiting
            waiting.removeAll(keepingCapacity: true)
            for record in batch {
                pthread_mutex_unlock(mutex)
                emit(record)
                pthread_mutex_lock(mutex)
                finished += 1
                isStuck = false
                pthread_cond_broadcast(changed)
            }
            if dropped > 0 {
                waiting.append(Self.loss(of: dropped))
                enqueued += 1
                dropped = 0
            }
        }
        isRunning = false
        pthread_mutex_unlock(mutex)
    }

    private static func loss(of count: Int) -> JournalRecord {
        JournalRecord(
            .dropped,
            .warning,
            "records were lost because the log did not take them",
            [.dropped: FieldValue(count)]
        )
    }

    private static func deadline(after patience: Duration) -> timespec {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        let (seconds, attoseconds) = patience.components
        let nanoseconds = now.tv_nsec + Int(attoseconds / 1_000_000_000)
        return timespec(
            tv_sec: now.tv_sec + Int(seconds) + nanoseconds / 1_000_000_000,
            tv_nsec: nanoseconds % 1_000_000_000
        )
    }
}
