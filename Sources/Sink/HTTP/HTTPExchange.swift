import CMicroHTTPD
import DurableFiles

/// A connection of the library.
// @unchecked because the pointer is only handed to the library's own functions, which may be
// called from any thread for a connection that sleeps, and else are called on its own.
struct ConnectionHandle: @unchecked Sendable, Hashable {
    let raw: OpaquePointer
}

/// One request of one connection, from its first line to the end of its answer.
final class HTTPExchange: Sendable {
    /// The request target, as it came.
    let target: String
    let connection: ConnectionHandle
    private let state = Lock(ExchangeState())
    private let flags = Lock(Flags())

    private struct Flags {
        var lingers = false
        var task: Task<Void, Never>?
    }

    init(target: String, connection: ConnectionHandle) {
        self.target = target
        self.connection = connection
    }

    func withState<R: Sendable>(_ body: (inout ExchangeState) -> R) -> R {
        state.withLock(body)
    }

    /// Unread bytes of the body are thrown away after the connection's end.
    var lingers: Bool {
        get { flags.withLock { $0.lingers } }
        set { flags.withLock { $0.lingers = newValue } }
    }

    /// The service at work on this request.
    func set(_ task: Task<Void, Never>) {
        flags.withLock { $0.task = task }
    }

    /// Asks the service to stop working on it.
    func cancel() {
        flags.withLock { $0.task }?.cancel()
    }
}
