public import DurableFiles
import Glibc
import SQLiteBridge

/// Waits for what wakes a replicator: a change of its WAL, a signal, a request, or a deadline.
///
/// Nothing is polled: an idle database costs no wake-up. It has a thread of its own, because
/// waiting blocks.
public actor EventSource {
    public enum Event: Equatable, Sendable {
        /// The database or its WAL was written to, made, moved or deleted.
        case changed
        /// The signal's number.
        case signal(Int32)
        /// The deadline came, and nothing else before it.
        case deadline
        /// Somebody called `interrupt`.
        case interrupted
        /// A line came over the control socket; whoever sent it waits for `answer`.
        case asked(String, by: UInt64)
    }

    private let executor = SerialThreadExecutor()
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    private let signals: SignalPipe?
    private let watch: DatabaseWatch?
    private var control: ControlSocket?
    private var hasChanged = false

    /// Watches a database and signals; either may be left out.
    ///
    /// - Parameters:
    ///   - database: Path of the database. Its directory must exist, the file need not yet.
    ///   - signals: Signal numbers; from now on they are events and nothing else.
    /// - Throws: `FileError`.
    public init(database: String?, signals: [Int32] = []) throws(FileError) {
        self.signals = signals.isEmpty ? nil : try SignalPipe.catching(signals)
        watch = if let database { try DatabaseWatch(database) } else { nil }
    }

    /// Takes requests at a Unix socket from now on.
    ///
    /// - Throws: `ControlSocketTaken`, `FileError`.
    public func listen(at path: String) throws {
        control = try ControlSocket(path: path)
    }

    /// Answers a request with a line.
    public func answer(_ peer: UInt64, _ line: String) {
        control?.answer(peer, line)
    }

    /// Takes no more requests; who still waits for an answer gets none.
    public func stopListening() {
        control = nil
    }

    /// Forgets the changes up to now.
    ///
    /// Call it *before* looking at the database: what is written from then on is an event, so
    /// nothing falls between a look and the next wait.
    public func forgetChanges() throws(FileError) {
        _ = try watch?.drain()
        hasChanged = false
    }

    /// Ends one wait, the present or the next one: what was to be done meanwhile is done.
    ///
    /// - Precondition: The source was made with signals.
    public nonisolated func interrupt() {
        precondition(signals != nil, "only a source of signals can be interrupted")
        SignalPipe.interrupt()
    }

    /// The next event.
    ///
    /// Signals come first, then requests. Changes that are not asked for wait: with `changes` false the thread is
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
            if let signal = try signals?.read() {
                return signal == SignalPipe.interruption ? .interrupted : .signal(signal)
            }
            if let (peer, line) = control?.next() { return .asked(line, by: peer) }
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
            if let control { polled += control.polled }
            if changes, let watch {
                polled.append(pollfd(fd: watch.raw, events: Int16(POLLIN), revents: 0))
            }
            if poll(&polled, nfds_t(polled.count), timeout) < 0, errno != EINTR {
                throw FileError(.read, "events", code: errno)
            }
        }
    }
}
