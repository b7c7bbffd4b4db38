import DurableFiles
import Glibc
import Synchronization

/// Turns signals into bytes that can be waited for.
///
/// A handler writes the signal's number into a pipe. Blocking signals and reading them from a
/// descriptor would need the mask of every thread, and the runtime starts threads of its own.
final class SignalPipe: Sendable {
    /// The end to wait on.
    let raw: Int32

    /// One for the process, because a handler has no context.
    private static let shared = Mutex<SignalPipe?>(nil)
    /// Stands in the pipe where a signal would; no signal has this number.
    static let interruption: Int32 = 0
    /// The end that handlers write to.
    private static let writeEnd = Atomic<Int32>(-1)

    /// Makes signals arrive in the pipe.
    static func catching(_ signals: [Int32]) throws(FileError) -> SignalPipe {
        let outcome: Result<SignalPipe, FileError> = shared.withLock { shared in
            do throws(FileError) {
                let pipe = if let shared { shared } else { try SignalPipe() }
                shared = pipe
                return .success(pipe)
            } catch {
                return .failure(error)
            }
        }
        let pipe = try outcome.get()
        for signal in signals { install(signal) }
        return pipe
    }

    private init() throws(FileError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw FileError(.open, "signals", code: errno) }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        raw = ends[0]
        Self.writeEnd.store(ends[1], ordering: .releasing)
    }

    private static func install(_ signal: Int32) {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { signal in
            // Only what is safe in a handler; a full pipe has plenty of signals in it already.
            let saved = errno
            var byte = UInt8(truncatingIfNeeded: signal)
            _ = write(SignalPipe.writeEnd.load(ordering: .acquiring), &byte, 1)
            errno = saved
        }
        action.sa_flags = SA_RESTART
        sigaction(signal, &action, nil)
    }

    /// Wakes whoever waits.
    static func interrupt() {
        var byte = UInt8(truncatingIfNeeded: interruption)
        // A full pipe wakes, too; what is in it comes first.
        _ = write(writeEnd.load(ordering: .acquiring), &byte, 1)
    }

    /// The next signal that is waiting, if any.
    func read() throws(FileError) -> Int32? {
        var byte: UInt8 = 0
        if Glibc.read(raw, &byte, 1) == 1 { return Int32(byte) }
        let code = errno
        guard code == EAGAIN || code == EINTR else { throw FileError(.read, "signals", code: code) }
        return nil
    }
}
