#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A thread for a job that blocks; on the cooperative pool it would park one that everybody shares.
// @unchecked because a thread's name is a number, compared and joined by the one owner.
package struct OwnThread: @unchecked Sendable {
    private let raw: pthread_t

    /// Starts it; it is joined or detached by the owner.
    ///
    /// - Parameter job: What it does; it ends with that.
    /// - Throws: The system's error, mostly `EAGAIN`.
    package init(_ job: @escaping @Sendable () -> Void) throws(ThreadError) {
        let context = Unmanaged.passRetained(Job(job))
        var thread = pthread_t()
        let code = pthread_create(
            &thread,
            nil,
            { raw in
                guard let raw else { return nil }
                Unmanaged<Job>.fromOpaque(raw).takeRetainedValue().body()
                return nil
            },
            context.toOpaque()
        )
        guard code == 0 else {
            context.release()
            throw ThreadError(code: code)
        }
        raw = thread
    }

    /// Starts one that nobody waits for.
    package static func detached(_ job: @escaping @Sendable () -> Void) throws(ThreadError) {
        pthread_detach(try OwnThread(job).raw)
    }

    /// Starts one that nobody waits for and nobody can do without: where there is no thread to be
    /// had, the process ends and says so.
    package static func required(_ job: @escaping @Sendable () -> Void) {
        do { try detached(job) } catch { fatalError("\(error)") }
    }

    /// Waits for its end, unless it is the caller itself.
    package func join() {
        if pthread_equal(raw, pthread_self()) != 0 {
            pthread_detach(raw)
        } else {
            pthread_join(raw, nil)
        }
    }

    private final class Job: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }
}

/// There is no thread to be had.
package struct ThreadError: Error, Hashable, Sendable, CustomStringConvertible {
    package let code: Int32
    package var description: String { "no thread: \(String(cString: strerror(code)))" }
}
