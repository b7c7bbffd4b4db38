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
        var network = NetworkState.up
        /// When a slow network is done with what it was given.
        var isFreeAt = ContinuousClock.now
        /// Uploads of which bytes have come and to which there is no answer yet.
        var uploading: Set<Int> = []
        var watchers: [CheckedContinuation<Void, Never>] = []
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
    ///   - port: Where to listen, on 127.0.0.1; 0 for a free one.
    ///   - buffered: How much of what a client sends the system may hold for the proxy; as the
    ///     system likes without it.
    ///   - decide: What becomes of each request; called on the proxy's threads.
    /// - Throws: `FileError` when no socket is to be had.
    public init(
        upstream: UInt16,
        port: UInt16 = 0,
        buffered: Int32? = nil,
        decide: @escaping Decide = { _ in .none }
    ) throws(FileError) {
        (listener, self.port) = try LoopbackSocket.listen(on: port, buffered: buffered)
        shared = Mutex(Shared(upstream: upstream, decide: decide))
        OwnThread.required { [self] in acceptAll() }
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

    /// What the network is like from now on.
    public var network: NetworkState {
        get { shared.withLock { $0.network } }
        set {
            shared.withLock { shared in
                shared.network = newValue
                shared.isFreeAt = .now
            }
            if newValue == .down { cut() }
        }
    }

    /// Waits until bytes of an upload are on their way.
    ///
    /// The watcher goes on also when the proxy is stopped.
    public func uploadBegins() async {
        await withCheckedContinuation { continuation in
            let isUnderWay = shared.withLock { shared in
                if !shared.uploading.isEmpty || shared.isStopped { return true }
                shared.watchers.append(continuation)
                return false
            }
            if isUnderWay { continuation.resume() }
        }
    }

    /// Lets everybody go on who waits for an upload.
    public func forgetWatchers() {
        for watcher in takeWatchers() { watcher.resume() }
    }

    private func takeWatchers() -> [CheckedContinuation<Void, Never>] {
        shared.withLock { shared in
            defer { shared.watchers = [] }
            return shared.watchers
        }
    }

    /// Ends listening and cuts all connections.
    public func stop() {
        shared.withLock { $0.isStopped = true }
        shutdown(listener, Int32(SHUT_RDWR))
        cut()
        forgetWatchers()
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
            if network == .down {
                LoopbackSocket.resetOnClose(client)
                shared.withLock { shared in
                    shared.clients.remove(client)
                    _ = close(client)
                }
                continue
            }
            OwnThread.required { [self] in
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

    /// How much to take from a client at a time, and never more than a twentieth of a second's.
    func portion(of buffer: Int) -> Int {
        guard case .slow(let rate) = network else { return buffer }
        return min(buffer, max(256, Int(clamping: rate / 20)))
    }

    /// Waits as long as a slow network takes for so many bytes.
    func carry(_ count: Int) {
        let wait = shared.withLock { shared -> Duration in
            guard case .slow(let rate) = shared.network else { return .zero }
            let now = ContinuousClock.now
            shared.isFreeAt =
                max(shared.isFreeAt, now) + .seconds(1) * (Double(count) / Double(rate))
            return shared.isFreeAt - now
        }
        guard wait > .zero else { return }
        usleep(UInt32(clamping: Int64(wait / .microseconds(1))))
    }

    func begin(method: String, target: String, length: Int64, offset: Int64?) -> ProxiedRequest {
        let (request, decide) = shared.withLock { shared in
            let request = ProxiedRequest(
                number: shared.requests.count,
                method: method,
                target: target,
                length: length,
                offset: offset
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
        let (request, watchers) = shared.withLock { shared in
            change(&shared.requests[number])
            let request = shared.requests[number]
            var watchers: [CheckedContinuation<Void, Never>] = []
            if request.isUpload, request.bodyBytes > 0, request.status == nil {
                shared.uploading.insert(number)
                watchers = shared.watchers
                shared.watchers = []
            } else {
                shared.uploading.remove(number)
            }
            return (request, watchers)
        }
        for watcher in watchers { watcher.resume() }
        return request
    }

    /// Its connection is gone.
    func end(_ number: Int) {
        shared.withLock { _ = $0.uploading.remove(number) }
    }
}
