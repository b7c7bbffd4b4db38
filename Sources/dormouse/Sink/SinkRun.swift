import CommandLineKit
import Configuration
import DurableFiles
import Glibc
import Lifecycle
import SQLiteBridge
import Sink
import Telemetry

/// A sink from its start to its end: the shell around `SinkServer`.
struct SinkRun {
    /// How often mirrors and the disk are looked at.
    static let housekeepingInterval = Duration.seconds(15)
    /// How long requests may go on after a signal asked for the end.
    static let drainLimit = Duration.seconds(20)

    let config: SinkConfig
    let journal: Journal

    init(_ config: SinkConfig) {
        self.config = config
        journal = Journal(config.log)
    }

    /// Serves until SIGTERM or SIGINT.
    func run() async throws -> ExitCode {
        try SQLiteImages.requireOne()
        let events = try EventSource(database: nil, signals: [SIGTERM, SIGINT, SIGHUP])
        let tokens = try tokens()
        var claim = try claimed(config.data)
        let server = try await SinkServer.start(
            try config.options(tokens, report: { [journal] in journal.write($0.journalRecord) })
        )
        journal.write(
            .sinkStart,
            .notice,
            "listening",
            [
                .address: FieldValue(server.address.description),
                .file: FieldValue(config.data),
                .version: FieldValue(Program.versionNumber),
                .detail: FieldValue(tokens.isOpen ? "without a token" : "with a token"),
            ]
        )
        Notify.ready(status(of: server))
        try await serve(server, tokens, events, &claim)
        Notify.stopping("letting requests end")
        try await drain(server, events)
        journal.write(.sinkStop, .notice, "stopped")
        _ = consume claim
        return .done
    }

    /// Two sinks on one directory would each take the other's files for corpses.
    private func claimed(_ data: String) throws -> FileLock {
        try DurableFiles.makeDirectories(data)
        do {
            return try FileLock(lockPath)
        } catch let held as FileLock.Held {
            throw CommandFailure("\(data) belongs to another sink: \(held)")
        }
    }

    private var lockPath: String { Path.join(config.data, ".lock") }

    private func serve(
        _ server: SinkServer,
        _ tokens: Sink.Tokens,
        _ events: EventSource,
        _ claim: inout FileLock
    ) async throws {
        let clock = ContinuousClock()
        // A round that ends is the progress that the service manager is told of.
        let interval = min(
            Self.housekeepingInterval,
            Notify.watchdogInterval.map { $0 / 3 } ?? Self.housekeepingInterval
        )
        var due = clock.now
        while true {
            switch try await events.next(changes: false, until: due) {
            case .signal(SIGHUP): await reload(tokens, server)
            case .signal: return
            case .deadline:
                // Somebody may have tidied the lock away, and somebody else come in.
                if try !claim.isInPlace(lockPath) { claim = try claimed(config.data) }
                await server.housekeep()
                Notify.watchdog()
                Notify.status(status(of: server))
                due = clock.now + interval
            case .changed, .interrupted, .asked: break
            }
        }
    }

    private func status(of server: SinkServer) -> String {
        "listening on \(server.address), \(server.connectionCount) connections"
    }

    // MARK: Tokens and certificates

    private func tokens() throws -> Sink.Tokens {
        Tokens(
            readWrite: try config.tokens.readWrite?.read(),
            readOnly: try config.tokens.readOnly?.read()
        )
    }

    /// Reads tokens and certificate again; files of no use leave those in force.
    private func reload(_ tokens: Sink.Tokens, _ server: SinkServer) async {
        Notify.reloading()
        do {
            tokens.replace(
                readWrite: try config.tokens.readWrite?.read(),
                readOnly: try config.tokens.readOnly?.read()
            )
            journal.write(.config, .notice, "the tokens were read again")
        } catch {
            journal.write(
                .config,
                .error,
                "the tokens could not be read again; the old ones stay",
                [.detail: FieldValue("\(error)")]
            )
        }
        await reloadCertificate(server)
        Notify.ready(status(of: server))
    }

    private func reloadCertificate(_ server: SinkServer) async {
        guard config.tls != nil else { return }
        do {
            guard let certificate = try config.certificate() else { return }
            try await server.renew(certificate)
            journal.write(.config, .notice, "certificate and key were read again")
        } catch {
            journal.write(
                .config,
                .error,
                "certificate and key could not be read again; the old ones stay",
                [.detail: FieldValue("\(error)")]
            )
        }
    }

    // MARK: The end

    /// Lets requests end, and listens meanwhile for somebody who cannot wait.
    private func drain(_ server: SinkServer, _ events: EventSource) async throws {
        async let draining: Void = {
            await server.shutDown(within: Self.drainLimit)
            events.interrupt()
        }()
        while true {
            switch try await events.next(changes: false) {
            case .interrupted: return await draining
            case .signal(SIGTERM), .signal(SIGINT):
                journal.write(
                    .sinkStop,
                    .warning,
                    "stopped before all requests had ended",
                    [.reason: FieldValue("a second signal")]
                )
                // What was acknowledged is on the disk, and the rest is safe against a kill.
                _exit(ExitCode.failed.rawValue)
            case .signal, .deadline, .changed, .asked: continue
            }
        }
    }
}
