internal import CCurl
import DurableFiles

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The thread that all requests of a client run on, and curl's multi handle, which it owns.
///
/// It sleeps in `curl_multi_poll` until a socket, a deadline or the inbox has something: a client
/// at rest costs no wake-ups.
// @unchecked because everything but the inbox is touched by its one thread.
package final class TransferLoop: @unchecked Sendable {
    private enum Command {
        case start(Exchange)
        case cancel(Exchange)
        case resume(Exchange)
    }

    private struct Inbox {
        var commands: [Command] = []
        var isStopped = false
        /// The multi handle is gone.
        var isClosed = false
    }

    private let inbox = Lock(Inbox())
    private let library: CurlLibrary
    private let options: HTTPClientOptions
    private let multi: UnsafeMutableRawPointer
    private var running: [ObjectIdentifier: Exchange] = [:]
    private var sockets: Set<Int32> = []

    private var functions: UnsafePointer<dm_curl> { library.functions }

    /// - Throws: `CurlLibrary.LoadFailure`.
    init(_ library: CurlLibrary, options: HTTPClientOptions) throws(CurlLibrary.LoadFailure) {
        guard let multi = dm_multi_init(library.functions) else {
            throw CurlLibrary.LoadFailure(reason: "curl_multi_init failed")
        }
        self.library = library
        self.options = options
        self.multi = multi
    }

    // MARK: From any thread

    func start(_ exchange: Exchange) { add(.start(exchange)) }
    func cancel(_ exchange: Exchange) { add(.cancel(exchange)) }
    func resume(_ exchange: Exchange) { add(.resume(exchange)) }

    /// Ends every request as cancelled, and then the thread.
    func stop() {
        inbox.withLock { inbox in
            inbox.isStopped = true
            if !inbox.isClosed { dm_multi_wakeup(functions, multi) }
        }
    }

    private func add(_ command: Command) {
        let isTooLate = inbox.withLock { inbox in
            guard !inbox.isClosed else { return true }
            inbox.commands.append(command)
            dm_multi_wakeup(functions, multi)
            return false
        }
        if isTooLate, case .start(let exchange) = command {
            exchange.markCancelled()
            exchange.handler.finish(exchange.outcome(CURLE_OK, text: ""))
        }
    }

    // MARK: On the thread

    /// What `ps -T` shows.
    package static let threadName = "dormouse-http"

    /// Runs until it is stopped; the body of the thread.
    func run() {
        Self.blockSignals()
        dm_name_thread(Self.threadName)
        while true {
            let (commands, isStopped) = inbox.withLock { inbox in
                defer { inbox.commands = [] }
                return (inbox.commands, inbox.isStopped)
            }
            for command in commands { perform(command) }
            if isStopped { break }
            dm_multi_perform(functions, multi)
            finishDone()
            expireSilent()
            dm_multi_poll(functions, multi, timeUntilSilence)
        }
        for exchange in running.values { exchange.markCancelled() }
        for exchange in Array(running.values) { finish(exchange, CURLE_ABORTED_BY_CALLBACK) }
        let late = inbox.withLock { inbox in
            inbox.isClosed = true
            defer { inbox.commands = [] }
            return inbox.commands
        }
        dm_multi_cleanup(functions, multi)
        for case .start(let exchange) in late {
            exchange.markCancelled()
            exchange.handler.finish(exchange.outcome(CURLE_OK, text: ""))
        }
    }

    /// OpenSSL writes to sockets without `MSG_NOSIGNAL`: here a SIGPIPE stays pending for ever, and
    /// handlers of other signals run where they do not interrupt a transfer.
    private static func blockSignals() {
        var signals = sigset_t()
        sigfillset(&signals)
        for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP] {
            sigdelset(&signals, fault)
        }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    private func perform(_ command: Command) {
        switch command {
        case .start(let exchange): begin(exchange)
        case .cancel(let exchange):
            exchange.markCancelled()
            if running[ObjectIdentifier(exchange)] != nil {
                finish(exchange, CURLE_ABORTED_BY_CALLBACK)
            }
        case .resume(let exchange):
            guard running[ObjectIdentifier(exchange)] != nil, let easy = exchange.easy else {
                return
            }
            exchange.unpause()
            let code = dm_easy_unpause(functions, easy)
            // What the handler did with the bytes that curl kept ends the request here: curl
            // itself does not notice.
            if code != CURLE_OK { finish(exchange, code) }
        }
    }

    private func begin(_ exchange: Exchange) {
        running[ObjectIdentifier(exchange)] = exchange
        guard !exchange.isCancelled else { return finish(exchange, CURLE_ABORTED_BY_CALLBACK) }
        exchange.prepare(functions, options: options, loop: self)
        guard exchange.failure == nil, let easy = exchange.easy else {
            return finish(exchange, CURLE_FAILED_INIT)
        }
        guard dm_multi_add(functions, multi, easy) == CURLM_OK else {
            exchange.fail(.refused, "curl does not take the request")
            return finish(exchange, CURLE_FAILED_INIT)
        }
    }

    private func finishDone() {
        var code = CURLE_OK
        while let easy = dm_multi_next_done(functions, multi, &code) {
            guard let context = dm_context(functions, easy) else { continue }
            finish(Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue(), code)
        }
    }

    /// Takes a request away from curl and tells its handler.
    private func finish(_ exchange: Exchange, _ code: CURLcode) {
        guard running.removeValue(forKey: ObjectIdentifier(exchange)) != nil else { return }
        if let easy = exchange.easy { dm_multi_remove(functions, multi, easy) }
        exchange.release(functions)
        exchange.handler.finish(exchange.outcome(code, text: library.text(of: code)))
    }

    private func expireSilent() {
        let now = Milliseconds.now
        for exchange in Array(running.values) {
            guard let end = exchange.silenceEnds, end <= now else { continue }
            exchange.failBySilence()
            finish(exchange, CURLE_OPERATION_TIMEDOUT)
        }
    }

    private var timeUntilSilence: Int32 {
        let end = running.values.compactMap(\.silenceEnds).min()
        return end.map { Milliseconds.now.until($0) } ?? .max
    }

    // MARK: Sockets, called by curl on the thread

    func opened(_ socket: Int32) {
        if socket >= 0 { sockets.insert(socket) }
    }

    func socket(localPort: Int32) -> Int32? {
        sockets.first { dm_local_port($0) == localPort }
    }

    /// Closes a connection, after a look for an answer that nobody has read.
    func close(_ socket: Int32) {
        sockets.remove(socket)
        let sender = running.values.first {
            $0.socket == socket && $0.mayHaveUnreadAnswer && $0.request.url.hasPrefix("http:")
        }
        if let sender { sender.leftovers = Self.unread(socket) }
        _ = systemClose(socket)
    }

    private static func unread(_ socket: Int32) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: EarlyAnswer.limit)
        var count = 0
        while count < bytes.count {
            let read = bytes[count...].withUnsafeMutableBytes {
                dm_read_now(socket, $0.baseAddress, $0.count)
            }
            if read < 0, errno == EINTR { continue }
            guard read > 0 else { break }
            count += read
        }
        return Array(bytes[..<count])
    }
}

private func systemClose(_ descriptor: Int32) -> Int32 {
    close(descriptor)
}
