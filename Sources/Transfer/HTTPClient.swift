#if canImport(Glibc)
import DurableFiles
import Glibc
#else
import Darwin
#endif

/// An HTTP client: requests that can be cancelled at any byte, over connections that are kept.
///
/// All requests of a client run on one thread of its own, which starts with the first of them, as
/// does libcurl. Dropping the client cancels what still runs.
public final class HTTPClient: Sendable {
    public let options: HTTPClientOptions
    private let state = Lock(State.unused)

    private enum State {
        case unused
        case running(TransferLoop, OwnThread)
        case failed(String)
    }

    public init(_ options: HTTPClientOptions = HTTPClientOptions()) {
        self.options = options
    }

    deinit {
        disconnect()
    }

    /// Closes every connection; the next request begins with a new one.
    ///
    /// Requests that are still going on end as cancelled.
    public func disconnect() {
        let old = state.withLock { state in
            defer { if case .running = state { state = .unused } }
            return state
        }
        guard case .running(let loop, let thread) = old else { return }
        loop.stop()
        // A process that exits while TLS still runs in a thread may crash.
        thread.join()
    }

    /// Sends a request and collects the answer, whatever its status.
    ///
    /// - Parameters:
    ///   - request: What to ask.
    ///   - limit: No more bytes of a body are accepted.
    /// - Returns: The answer.
    /// - Throws: `TransferFailure`, also of kind `cancelled` in a cancelled task.
    nonisolated(nonsending) public func send(
        _ request: HTTPRequest,
        limit: Int = 1 << 20
    ) async throws(TransferFailure) -> HTTPResponse {
        let pending = Pending()
        // The length in the answer to a HEAD is that of a body which does not come.
        let limit = request.method == .head ? .max : limit
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let collector = BodyCollector(limit: limit) { continuation.resume(returning: $0) }
                pending.start { start(request, handler: collector) }
            }
        } onCancel: {
            pending.cancel()
        }
        return try result.get()
    }

    /// Sends a request whose answer a handler takes as it comes.
    ///
    /// The handler is told the end exactly once, also when nothing could be started.
    @discardableResult
    public func start(_ request: HTTPRequest, handler: any ResponseHandler) -> HTTPTransfer {
        let exchange = Exchange(request, deadlines: options.deadlines, handler: handler)
        let outcome = state.withLock { state -> Result<TransferLoop, StartFailure> in
            if case .unused = state { state = Self.started(options) }
            switch state {
            case .running(let loop, _): return .success(loop)
            case .failed(let why): return .failure(StartFailure(reason: why))
            case .unused: return .failure(StartFailure(reason: "not started"))
            }
        }
        switch outcome {
        case .success(let loop):
            loop.start(exchange)
            return HTTPTransfer(exchange, loop)
        case .failure(let failure):
            handler.finish(
                .failure(TransferFailure(.refused, url: request.url, detail: failure.reason))
            )
            return HTTPTransfer(exchange, nil)
        }
    }

    private struct StartFailure: Error {
        var reason: String
    }

    private static func started(_ options: HTTPClientOptions) -> State {
        do {
            let loop = try TransferLoop(try CurlLibrary.shared.get(), options: options)
            return .running(loop, try OwnThread { loop.run() })
        } catch {
            return .failed("\(error)")
        }
    }
}

/// A request under way.
public final class HTTPTransfer: Sendable {
    private let exchange: Exchange
    private let loop: TransferLoop?

    init(_ exchange: Exchange, _ loop: TransferLoop?) {
        self.exchange = exchange
        self.loop = loop
    }

    /// Ends the request at whatever byte it is; too late is no error.
    public func cancel() {
        exchange.markCancelled()
        loop?.cancel(exchange)
    }

    /// Goes on after a handler's `pause` or a producer's `later`.
    public func resume() {
        loop?.resume(exchange)
    }
}

/// A request that may be cancelled before it is started.
private final class Pending: Sendable {
    private enum State {
        case waiting
        case started(HTTPTransfer)
        case cancelled
    }

    private let state = Lock(State.waiting)

    func start(_ body: () -> HTTPTransfer) {
        let transfer = body()
        let isCancelled = state.withLock { state in
            if case .cancelled = state { return true }
            state = .started(transfer)
            return false
        }
        if isCancelled { transfer.cancel() }
    }

    func cancel() {
        let transfer = state.withLock { state -> HTTPTransfer? in
            defer { state = .cancelled }
            if case .started(let transfer) = state { return transfer }
            return nil
        }
        transfer?.cancel()
    }
}
