public import DurableFiles
import Glibc
import Synchronization

/// An HTTP/1.1 proxy on loopback that does to requests what bad networks and gateways do.
///
/// One thread a connection: it is a bench, and a thread that blocks is the plainest thing that
/// forwards bytes. Each request is shown to `decide`, which says what becomes of it.
// @unchecked because the mutable state is behind the mutex, and the descriptor is only closed
// by `stop`, which first wakes the thread that uses it.
public final class FaultProxy: @unchecked Sendable {
    public typealias Decide = @Sendable (ProxiedRequest) -> ProxyFault

    private struct Shared {
        var upstream: UInt16
        var decide: Decide
        var requests: [ProxiedRequest] = []
        var clients: Set<Int32> = []
        var isStopped = false
    }

    private let shared: Mutex<Shared>
    private let listener: Int32
    /// Where it listens, on 127.0.0.1.
    public let port: UInt16

    /// Listens before it returns.
    ///
    /// - Parameters:
    ///   - upstream: The server's port on 127.0.0.1.
    ///   - decide: What becomes of each request; called on the proxy's threads.
    /// - Throws: `FileError` when no socket is to be had.
    public init(
        upstream: UInt16,
        decide: @escaping Decide = { _ in .none }
    ) throws(FileError) {
        (listener, port) = try LoopbackSocket.listen()
        shared = Mutex(Shared(upstream: upstream, decide: decide))
        spawnThread { [self] in acceptAll() }
    }

    /// All requests so far, in the order in which their heads came.
    public var requests: [ProxiedRequest] { shared.withLock { $0.requests } }

    /// Changes what becomes of the requests from now on.
    public func decide(_ decide: @escaping Decide) {
        shared.withLock { $0.decide = decide }
    }

    /// Leads to another port: the server came back elsewhere.
    public func lead(to upstream: UInt16) {
        shared.withLock { $0.upstream = upstream }
    }

    /// Cuts all connections: the radio goes.
    public func cut() {
        shared.withLock { for client in $0.clients { shutdown(client, Int32(SHUT_RDWR)) } }
    }

    /// Ends listening and cuts all connections.
    public func stop() {
        shared.withLock { $0.isStopped = true }
        shutdown(listener, Int32(SHUT_RDWR))
        cut()
    }

    deinit {
        close(listener)
    }

    private func acceptAll() {
        while true {
            let client = accept(listener, nil, nil)
            if client < 0 {
                if errno == EINTR || errno == ECONNABORTED { continue }
                return
            }
            _ = fcntl(client, F_SETFD, FD_CLOEXEC)
            let goesOn = shared.withLock { shared in
                if !shared.isStopped { shared.clients.insert(client) }
                return !shared.isStopped
            }
            guard goesOn else {
                close(client)
                return
            }
            spawnThread { [self] in
                ProxiedConnection(client: client, proxy: self).run()
                // Closed under the lock, so that `cut` never shuts down somebody else's number.
                shared.withLock { shared in
                    shared.clients.remove(client)
                    _ = close(client)
                }
            }
        }
    }

    // MARK: For its connections

    func connect() -> Int32? {
        LoopbackSocket.connect(to: shared.withLock { $0.upstream })
    }

    func begin(method: String, target: String) -> ProxiedRequest {
        let (request, decide) = shared.withLock { shared in
            let request = ProxiedRequest(
                number: shared.requests.count,
                method: method,
                target: target
            )
            shared.requests.append(request)
            return (request, shared.decide)
        }
        // Outside the lock: it is somebody else's code.
        let fault = decide(request)
        return update(request.number) { $0.fault = fault }
    }

    @discardableResult
    func update(_ number: Int, _ change: (inout ProxiedRequest) -> Void) -> ProxiedRequest {
        shared.withLock { shared in
            change(&shared.requests[number])
            return shared.requests[number]
        }
    }
}

/// Runs a body on a thread of its own, which ends with it.
func spawnThread(_ body: @escaping @Sendable () -> Void) {
    let box = Unmanaged.passRetained(ThreadBody(body))
    var thread = pthread_t()
    let code = pthread_create(
        &thread,
        nil,
        { raw in
            guard let raw else { return nil }
            Unmanaged<ThreadBody>.fromOpaque(raw).takeRetainedValue().run()
            return nil
        },
        box.toOpaque()
    )
    precondition(code == 0, "no thread: \(String(cString: strerror(code)))")
    pthread_detach(thread)
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}
