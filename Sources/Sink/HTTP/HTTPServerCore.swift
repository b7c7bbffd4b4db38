import CMicroHTTPD
import DurableFiles
import Glibc

/// What the library's callbacks work with; lives longer than the daemon.
final class HTTPServerCore: Sendable {
    let mhd: MicroHTTPD
    let handler: any HTTPHandler
    let spool: Spool
    let isTLS: Bool
    let sleepers: Sleepers
    let connections = ConnectionTable()
    let lingering = Lingering()
    private let flight = Lock(Flight())

    /// The requests at work.
    private struct Flight {
        var exchanges: [ConnectionHandle: HTTPExchange] = [:]
        var isDraining = false
        var whenEmpty: [CheckedContinuation<Void, Never>] = []
    }

    init(_ mhd: MicroHTTPD, handler: any HTTPHandler, spool: Spool, isTLS: Bool) {
        self.mhd = mhd
        self.handler = handler
        self.spool = spool
        self.isTLS = isTLS
        sleepers = Sleepers(mhd)
    }

    // MARK: - What the connection saw

    /// The head of a request, or the end of its sleep, or its end.
    func called(_ exchange: HTTPExchange, method: String) -> Bool {
        let isNew = exchange.withState { $0.phase == .head }
        guard isNew else {
            let spool = spool
            return perform(exchange.withState { $0.called(spool: spool) }, exchange)
        }
        connections.headArrived(exchange.connection)
        var head = RequestHead(method: method, target: exchange.target)
        mhd.headers(exchange.connection.raw) { head.add($0, $1) }
        let admission = enter(exchange) ? handler.admit(head) : .refuse(Self.draining)
        let (spool, complete) = (spool, head)
        return perform(
            exchange.withState { $0.headArrived(complete, admission, spool: spool) },
            exchange
        )
    }

    private static let draining = HTTPResponse.refusal(
        503,
        "the sink is being stopped",
        headers: [("retry-after", "5"), ("connection", "close")]
    )

    /// Part of a body.
    func received(_ exchange: HTTPExchange, _ bytes: UnsafeRawBufferPointer) -> Bool {
        // The bytes are used within the call only, whatever the compiler thinks of pointers.
        nonisolated(unsafe) let bytes = bytes
        let (action, lacksBytes) = exchange.withState { ($0.bodyArrived(bytes), $0.lacksBytes) }
        // The library looks at readiness by edges, and does not see an end that came together with
        // the bytes before it.
        if lacksBytes, hasEnded(exchange.connection) {
            return perform(exchange.withState { $0.bodyBroke() }, exchange)
        }
        return perform(action, exchange)
    }

    /// The client sends no more, and everything it sent was read.
    private func hasEnded(_ connection: ConnectionHandle) -> Bool {
        guard !isTLS else { return false }
        var byte: UInt8 = 0
        return recv(mhd.socket(connection.raw), &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
            == 0
    }

    /// The request is over.
    func completed(_ exchange: HTTPExchange, byClient: Bool) {
        let wasCut = exchange.withState { $0.ended() }
        if wasCut, byClient {
            // It ended its side, but may still be listening.
            say(ExchangeState.shortBody, on: exchange.connection)
        }
        if exchange.lingers { lingering.take(mhd.socket(exchange.connection.raw)) }
        connections.requestEnded(exchange.connection)
        leave(exchange)
    }

    // MARK: - What is done about it

    private func perform(_ action: ExchangeState.Action, _ exchange: HTTPExchange) -> Bool {
        let awaitsBody = exchange.withState { $0.phase == .body || $0.phase == .draining }
        connections.awaitsBody(exchange.connection, awaitsBody)
        switch action {
        case .proceed: return true
        case .close: return false
        case .ask(let head):
            return work(exchange) { [handler] in
                let preparation = await handler.prepare(head)
                exchange.withState { $0.prepared(preparation) }
            }
        case .handle(let request):
            return work(exchange) { [handler] in
                let response = await handler.handle(request)
                exchange.withState { $0.answered(response) }
            }
        case .answer(let response, let lingers):
            if lingers { exchange.lingers = true }
            return answer(response, exchange.connection)
        case .cut(let response):
            say(response, on: exchange.connection)
            exchange.lingers = true
            return false
        }
    }

    /// Lets the connection sleep while the service works.
    private func work(
        _ exchange: HTTPExchange,
        _ body: @escaping @Sendable () async -> Void
    ) -> Bool {
        guard sleepers.sleep(exchange.connection) else { return false }
        let sleepers = sleepers
        exchange.set(
            Task {
                await body()
                sleepers.wake(exchange.connection)
            }
        )
        return true
    }

    private func answer(_ response: HTTPResponse, _ connection: ConnectionHandle) -> Bool {
        let body: OpaquePointer? =
            switch response.body {
            case .bytes(let bytes): mhd.response(bytes)
            case .file(let reader, let offset, let count):
                FileBody(reader, offset: offset, count: count).response(mhd)
            case .frames(let queue):
                FramesBody(queue, connection: connection, sleepers: sleepers).response(mhd)
            }
        return mhd.answer(
            connection.raw,
            status: response.status,
            headers: response.headers,
            body
        )
    }

    /// Writes an answer past the library, which takes none amidst of a body.
    ///
    /// Nothing of this answer is under way yet and it is short, so it fits the socket's buffer.
    /// Under TLS there is no way; the client sees the connection end.
    private func say(_ response: HTTPResponse, on connection: ConnectionHandle) {
        guard !isTLS else { return }
        let message = response.closingMessage
        let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
        _ = send(mhd.socket(connection.raw), message, message.count, flags)
    }

    // MARK: - The requests at work

    private func enter(_ exchange: HTTPExchange) -> Bool {
        flight.withLock { flight in
            flight.exchanges[exchange.connection] = exchange
            return !flight.isDraining
        }
    }

    private func leave(_ exchange: HTTPExchange) {
        let waiting = flight.withLock { flight in
            flight.exchanges[exchange.connection] = nil
            guard flight.exchanges.isEmpty else { return [CheckedContinuation<Void, Never>]() }
            defer { flight.whenEmpty = [] }
            return flight.whenEmpty
        }
        for continuation in waiting { continuation.resume() }
    }

    /// From now on new requests are refused.
    func beginDraining() {
        flight.withLock { $0.isDraining = true }
    }

    /// Waits until no request is at work; cancelling the task ends the wait.
    func untilIdle() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isIdle = flight.withLock { flight in
                    if flight.exchanges.isEmpty || Task.isCancelled { return true }
                    flight.whenEmpty.append(continuation)
                    return false
                }
                if isIdle { continuation.resume() }
            }
        } onCancel: {
            let waiting = flight.withLock { flight in
                defer { flight.whenEmpty = [] }
                return flight.whenEmpty
            }
            for continuation in waiting { continuation.resume() }
        }
    }

    /// Asks the service to stop what it is doing.
    func cancelAll() {
        for exchange in flight.withLock({ Array($0.exchanges.values) }) { exchange.cancel() }
    }
}
