import DurableFiles

/// A sink: buckets and live copies behind HTTP.
public final class SinkServer: Sendable {
    private let service: SinkService
    private let http: HTTPServer
    private let housekeeping: Housekeeping
    private let tls: Lock<SinkOptions.TLS?>
    /// Where it listens, with the port that was found.
    public let address: SinkAddress

    private init(_ service: SinkService, _ http: HTTPServer) {
        self.service = service
        self.http = http
        housekeeping = Housekeeping(service)
        address = http.address
        tls = Lock(service.options.tls)
        service.catalog.whenDiverging { [housekeeping] name in
            Task { await housekeeping.look(at: name) }
        }
    }

    /// Starts to listen; it serves when this returns.
    ///
    /// - Throws: `SinkError` when it cannot listen, `FileError` when its directory cannot be used.
    public static func start(_ options: SinkOptions) async throws -> SinkServer {
        let service = try SinkService(options)
        var limits = HTTPServerLimits()
        limits.connections = options.maxConnections
        limits.silence = options.idleTimeout
        limits.bodySilence = options.bodyTimeout
        let http = try HTTPServer(
            options.listen,
            reachable: !options.tokens.isOpen,
            tls: options.tls.map { ($0.certificate, $0.key) },
            limits: limits,
            handler: service,
            spool: service.spool
        )
        await http.watch()
        try service.catalog.openAll()
        return SinkServer(service, http)
    }

    /// Shows another certificate to who connects from now on; who is connected is not disturbed.
    ///
    /// - Throws: `SinkError` for texts that are no pair; the old ones stay.
    public func renew(_ tls: SinkOptions.TLS) async throws {
        guard self.tls.withLock({ $0 }) != tls else { return }
        try await http.renew((tls.certificate, tls.key))
        self.tls.withLock { $0 = tls }
    }

    /// How many clients are connected.
    public var connectionCount: Int { http.connectionCount }

    /// What it counts.
    public var metrics: Metrics { service.metrics }

    /// Looks at mirrors and the disk, sweeps corpses when that is due, and reports what a person
    /// should know; to be called every few seconds.
    public func housekeep() async {
        service.metrics.set(.connections, to: Double(connectionCount))
        await housekeeping.round()
    }

    /// Listens no more, ends the streams between frames, lets requests at work finish for so long,
    /// and closes everything.
    public func shutDown(within limit: Duration) async {
        await http.quiesce()
        await service.endStreams()
        await http.stop(within: limit)
        await service.shutDown()
    }
}

extension SinkService {
    /// Ends every stream, so that nobody waits for those.
    package func endStreams() async {
        for database in catalog.all { await database.endStreams() }
    }

    /// Closes the databases; nothing may be asked any more.
    package func shutDown() async {
        for database in catalog.all { await database.shutDown() }
    }
}
