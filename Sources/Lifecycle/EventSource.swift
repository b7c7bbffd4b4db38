import CLinux
public import DurableFiles
import Glibc
import SQLiteBridge

/// Waits for what wakes a replicator: a change of its WAL, a signal, or a deadline.
///
/// Nothing is polled: an idle database costs no wake-up. It has a thread of its own, because
/// waiting blocks. Call `blockSignals` before anything else in the process starts a thread.
public actor EventSource {
    public enum Event: Equatable, Sendable {
        /// The database or its WAL was written to, made, moved or deleted.
        case changed
        /// The signal's number.
        case signal(Int32)
        /// The deadline came, and nothing else before it.
        case deadline
    }

    private let executor = SerialThreadExecutor()
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    private let signals: SignalDescriptor?
    private let watch: DatabaseWatch?
    private var hasChanged = false

    /// Watches a database and signals; either may be left out.
    ///
    /// - Parameters:
    ///   - database: Path of the database. Its directory must exist, the file need not yet.
    ///   - signals: Signal numbers; they must be blocked.
    /// - Throws: `FileError`.
    public init(database: String?, signals: [Int32] = []) throws(FileError) {
        self.signals = signals.isEmpty ? nil : try SignalDescriptor(signals)
        watch = if let database { try DatabaseWatch(database) } else { nil }
    }

    /// Blocks signals in this thread and all that it starts, so that they arrive as events.
    public static func blockSignals(_ signals: [Int32]) {
        var set = SignalDescriptor.set(of: signals)
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Forgets the changes up to now.
    ///
    /// Call it *before* looking at the database: what is written from then on is an event, so
    /// nothing falls between a look and the next wait.
    public func forgetChanges() throws(FileError) {
        _ = try watch?.drain()
        hasChanged = false
    }

    /// The next event.
    ///
    /// Signals come first. Changes that are not asked for wait: with `changes` false the thread is
    /// not woken for them, however busy the writer is.
    ///
    /// - Parameters:
    ///   - changes: Whether a change ends the wait.
    ///   - deadline: When to stop waiting; `nil` for never.
    /// - Returns: What happened.
    /// - Throws: `FileError` when the system refuses to wait.
    public func next(
        changes: Bool,
        until deadline: ContinuousClock.Instant? = nil
    ) throws(FileError) -> Event {
        while true {
            if let signal = try signals?.read() { return .signal(signal) }
            if changes, let watch {
                if try watch.drain() { hasChanged = true }
                if hasChanged {
                    hasChanged = false
                    return .changed
                }
            }
            var timeout: Int32 = -1
            if let deadline {
                let left = deadline - ContinuousClock.now
                guard left > .zero else { return .deadline }
                // Rounded up, or the last millisecond would be spent spinning.
                let milliseconds = left / .milliseconds(1)
                timeout = milliseconds > 1e9 ? 1_000_000_000 : Int32(milliseconds.rounded(.up))
            }
            var polled: [pollfd] = []
            if let signals {
                polled.append(pollfd(fd: signals.raw, events: Int16(POLLIN), revents: 0))
            }
            if changes, let watch {
                polled.append(pollfd(fd: watch.raw, events: Int16(POLLIN), revents: 0))
            }
            if poll(&polled, nfds_t(polled.count), timeout) < 0, errno != EINTR {
                throw FileError(.read, "events", code: errno)
            }
        }
    }
}

/// A descriptor that becomes readable when one of its signals arrives.
private final class SignalDescriptor: Sendable {
    let raw: Int32

    init(_ signals: [Int32]) throws(FileError) {
        var set = Self.set(of: signals)
        raw = signalfd(-1, &set, Int32(SFD_NONBLOCK | SFD_CLOEXEC))
        guard raw >= 0 else { throw FileError(.open, "signals", code: errno) }
    }

    deinit {
        close(raw)
    }

    /// The next signal that is waiting, if any.
    func read() throws(FileError) -> Int32? {
        var info = signalfd_siginfo()
        let count = Glibc.read(raw, &info, MemoryLayout<signalfd_siginfo>.size)
        if count == MemoryLayout<signalfd_siginfo>.size { return Int32(info.ssi_signo) }
        let code = errno
        guard count < 0, code == EAGAIN || code == EINTR else {
            throw FileError(.read, "signals", code: count < 0 ? code : EIO)
        }
        return nil
    }

    static func set(of signals: [Int32]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        return set
    }
}
