import CMicroHTTPD
import Glibc
import SQLiteBridge

/// What a server may use.
package struct HTTPServerLimits: Hashable, Sendable {
    /// Connections at a time.
    package var connections = 4096
    /// Memory a connection, bytes; the head of a request has to fit.
    package var connectionMemory = 64 << 10
    /// A connection that is silent for so long is closed.
    package var silence = Duration.seconds(60)
    /// A body that stands still for so long ends its connection.
    package var bodySilence = Duration.seconds(30)
    /// Threads that serve the connections.
    package var threads = 4

    package init() {}
}

/// The owner of a listening socket and of the library's daemon behind it.
package actor HTTPServer {
    private let mhd: MicroHTTPD
    private let core: HTTPServerCore
    private var socket: ListenSocket?
    private var daemon: DaemonHandle?
    /// With an earlier certificate: they accept nobody any more, and serve who is connected.
    private var retired: [DaemonHandle] = []
    private let descriptor: Int32
    private let limits: HTTPServerLimits
    private var janitor: Task<Void, Never>?
    private let executor = SerialThreadExecutor()
    package nonisolated let address: SinkAddress

    // Stopping the library waits for its threads, which is nothing for a shared one.
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Listens and serves.
    ///
    /// - Parameters:
    ///   - wanted: Where to listen.
    ///   - reachable: Whether an address may be bound that other machines reach.
    ///   - tls: Certificate and key as PEM texts.
    ///   - limits: What may be used.
    ///   - handler: Who answers.
    ///   - spool: Where larger bodies go.
    /// - Throws: `SinkError`.
    package init(
        _ wanted: SinkAddress,
        reachable: Bool,
        tls: (certificate: String, key: String)? = nil,
        limits: HTTPServerLimits = HTTPServerLimits(),
        handler: any HTTPHandler,
        spool: Spool
    ) throws(SinkError) {
        let mhd = try MicroHTTPD.loaded.get()
        let socket = try ListenSocket(wanted, reachable: reachable)
        let core = HTTPServerCore(mhd, handler: handler, spool: spool, isTLS: tls != nil)
        daemon = DaemonHandle(raw: try Self.start(mhd, core, socket.raw, limits, tls))
        self.mhd = mhd
        self.core = core
        self.limits = limits
        address = socket.address
        descriptor = socket.raw
        self.socket = consume socket
    }

    /// How many are connected.
    package nonisolated var connectionCount: Int { core.connections.count }

    private static func start(
        _ mhd: MicroHTTPD,
        _ core: HTTPServerCore,
        _ socket: Int32,
        _ limits: HTTPServerLimits,
        _ tls: (certificate: String, key: String)?
    ) throws(SinkError) -> OpaquePointer {
        // The library closes what it is given, at some of its failures, too.
        let copy = fcntl(socket, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else {
            throw SinkError("cannot listen: \(String(cString: strerror(errno)))")
        }
        var settings = dormouse_mhd_settings()
        settings.listen_socket = copy
        settings.connection_memory = limits.connectionMemory
        settings.connection_limit = UInt32(clamping: DescriptorLimit.raise(for: limits.connections))
        let silence = max(limits.silence, limits.bodySilence)
        settings.timeout = UInt32(clamping: max(1, silence.components.seconds))
        settings.threads = UInt32(clamping: limits.threads)
        settings.access = HTTPCallbacks.access
        settings.completed = HTTPCallbacks.completed
        settings.connection = HTTPCallbacks.connection
        settings.request_line = HTTPCallbacks.requestLine
        // The actor holds the core for longer than the daemon lives.
        settings.context = Unmanaged.passUnretained(core).toOpaque()
        let daemon: OpaquePointer? =
            if let tls {
                tls.certificate.withCString { certificate in
                    tls.key.withCString { key in
                        settings.certificate = certificate
                        settings.key = key
                        return dormouse_mhd_start(mhd.functions, &settings)
                    }
                }
            } else {
                dormouse_mhd_start(mhd.functions, &settings)
            }
        guard let daemon else {
            throw SinkError(
                tls == nil
                    ? "libmicrohttpd does not start: no threads or descriptors are left"
                    : "libmicrohttpd does not start: are certificate and key a pair of PEM files?"
            )
        }
        return daemon
    }

    /// Watches for clients that never get to the end of a head or stop amidst of a body, until
    /// `stop`.
    package func watch() {
        guard janitor == nil else { return }
        let (core, limits) = (core, limits)
        janitor = Task {
            while (try? await Task.sleep(for: min(limits.silence, limits.bodySilence))) != nil {
                core.connections.endIdle(
                    heads: .now - limits.silence,
                    bodies: .now - limits.bodySilence
                )
            }
        }
    }

    /// Shows another certificate to who connects from now on; who is connected is not disturbed.
    ///
    /// The library keeps a certificate for its daemon's life, so another daemon takes over the
    /// listening socket.
    ///
    /// - Parameter tls: Certificate and key as PEM texts.
    /// - Throws: `SinkError` for texts that are no pair; then nothing has changed.
    package func renew(_ tls: (certificate: String, key: String)) throws(SinkError) {
        guard let old = daemon, socket != nil else { return }
        daemon = DaemonHandle(raw: try Self.start(mhd, core, descriptor, limits, tls))
        let copy = dormouse_mhd_quiesce(mhd.functions, old.raw)
        if copy >= 0 { close(copy) }
        retired.append(old)
        stopEmpty()
    }

    /// Ends the daemons that have nobody left.
    private func stopEmpty() {
        retired.removeAll { daemon in
            guard dormouse_mhd_connections(mhd.functions, daemon.raw) == 0 else { return false }
            dormouse_mhd_stop(mhd.functions, daemon.raw)
            return true
        }
    }

    /// Listens no more and refuses new requests; those at work go on.
    package func quiesce() {
        guard let daemon, socket != nil else { return }
        core.beginDraining()
        let copy = dormouse_mhd_quiesce(mhd.functions, daemon.raw)
        if copy >= 0 { close(copy) }
        socket = nil
    }

    /// Waits for the requests at work, at most so long, and ends what is left.
    package func stop(within limit: Duration) async {
        quiesce()
        let core = core
        await withTaskGroup { group in
            group.addTask { await core.untilIdle() }
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
        guard let daemon else { return }
        self.daemon = nil
        janitor?.cancel()
        core.cancelAll()
        core.sleepers.close()
        for daemon in retired + [daemon] { dormouse_mhd_stop(mhd.functions, daemon.raw) }
        retired = []
        core.lingering.stop()
    }

    deinit {
        // Nobody stopped it: nothing is waited for.
        if let daemon {
            janitor?.cancel()
            core.sleepers.close()
            let copy = dormouse_mhd_quiesce(mhd.functions, daemon.raw)
            if copy >= 0 { close(copy) }
            for daemon in retired + [daemon] { dormouse_mhd_stop(mhd.functions, daemon.raw) }
            core.lingering.stop()
        }
    }
}

/// The library's daemon.
// @unchecked because only its owner, the actor, hands it to the library.
private struct DaemonHandle: @unchecked Sendable {
    let raw: OpaquePointer
}

/// How many files this process may have open.
enum DescriptorLimit {
    /// Asks for room for so many connections; returns for how many there is.
    static func raise(for connections: Int) -> Int {
        // A connection may have a spool file, and databases have theirs.
        let wanted = UInt(2 * connections + 1024)
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return connections
        }
        if limit.rlim_cur < wanted {
            limit.rlim_cur = min(wanted, limit.rlim_max)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
        let room = (Int(clamping: limit.rlim_cur) - 256) / 2
        return min(connections, max(16, room))
    }
}
