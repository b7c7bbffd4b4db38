import Bucket
import Collector
import CommandLineKit
import Configuration
import DurableFiles
import Lifecycle
import Replication
import SQLiteBridge
import Telemetry

/// The app: a collector that writes samples and a replicator that ships them, in one process.
struct AgentService {
    let config: AgentConfig
    let streams: [StreamDefinition]
    let journal: Journal
    let replicator: Replicator
    /// Starts the transfer service, where that is the agent's to do.
    private let transfer: TransferChild?

    /// - Parameters:
    ///   - config: What to do.
    ///   - path: The file it is from, for the transfer service.
    ///   - streams: What to collect.
    /// - Throws: `CommandFailure` for a token that cannot be used; `BucketError`.
    init(_ config: AgentConfig, path: String?, streams: [StreamDefinition]) throws {
        self.config = config
        self.streams = streams
        journal = Journal(config.log).with([
            .database: FieldValue(config.database),
            .destination: FieldValue(describing: config.destination),
        ])
        var options = ReplicatorOptions()
        options.checkpointFrames = UInt32(clamping: config.checkpoint.pages)
        options.pin =
            switch config.checkpoint.pin {
            case .hold: .hold
            case .yield: .yield
            }
        options.onConflict =
            switch config.push.onConflict {
            case .rebase: .rebase
            case .stop: .stop
            }
        options.backlog = BacklogPolicy(
            budget: config.backlog.budget,
            limit: config.backlog.limit
        )
        options.spool = config.transfer.spool
        transfer =
            if config.transfer.start == .child, let spool = config.transfer.spool, let path {
                TransferChild(spool: spool, config: path, journal: journal)
            } else {
                nil
            }
        replicator = Replicator(
            database: config.database,
            bucket: try config.destination.client(
                http: try config.http.bucketOptions(spool: config.transfer.spool)
            ),
            options: options
        )
    }

    /// Collects and pushes until SIGTERM or SIGINT.
    ///
    /// - Returns: `failed` if something was still owed at the end.
    func run() async throws -> ExitCode {
        try SQLiteImages.requireOne()
        let events = try EventSource(database: config.database, signals: ReplicationLoop.signals)
        journal.write(
            .start,
            .notice,
            "started",
            [
                .version: FieldValue(Program.versionNumber),
                .detail: FieldValue("SQLite \(SQLiteLibrary.version)"),
            ]
        )
        // Custody of what is there comes before the first write; a new database has to be made
        // first.
        if try FileStatus.of(config.database)?.sizeInBytes ?? 0 > 0 { try await replicator.start() }
        let collector = try await Collector.open(
            path: config.database,
            streams: streams,
            now: SampleTime(milliseconds: ReplicatorOptions.wallClock())
        )
        try await replicator.start()
        await StartChecks.warnAboutOpeners(replicator, journal)
        Notify.ready("collecting \(streams.count) streams")

        let collecting = Task {
            try await CollectorLoop(
                collector: collector,
                clock: ContinuousClock(),
                flushEvery: config.collector.flushInterval,
                onEvent: { [journal] in journal.write($0.journalRecord) }
            ).run()
        }
        let loop = ReplicationLoop(
            replicator: replicator,
            journal: journal,
            interval: config.push.interval,
            pushOnStart: config.push.onStart,
            statusFile: StatusFile(database: config.database),
            onPush: { [transfer] _ in transfer?.startIfNeeded() }
        )
        try await loop.run(events)

        // First the jobs, then the last sync, then the close; a second signal ends the wait.
        Notify.stopping("last flush and push")
        collecting.cancel()
        var code = ExitCode.done
        do {
            try await collecting.value
        } catch {
            journal.write(
                .flush,
                .error,
                "the last flush failed",
                [.detail: FieldValue("\(error)")]
            )
            code = .failed
        }
        let pushed = try await loop.finish(events)
        try await collector.close()
        await replicator.close()
        journal.write(.stop, .notice, "stopped")
        return code == .done ? pushed : code
    }
}

extension Journal {
    /// A journal as configured.
    init(_ log: AgentConfig.Log) {
        let format: Format =
            switch log.format {
            case .auto: .auto
            case .journal: .journal
            case .logfmt: .logfmt
            }
        let minimum: Priority =
            switch log.level {
            case .error: .error
            case .warning: .warning
            case .notice: .notice
            case .info: .info
            case .debug: .debug
            }
        self.init(format, minimum: minimum)
    }
}

extension CollectorEvent {
    var journalRecord: JournalRecord {
        switch self {
        case .flushed(let report):
            JournalRecord(
                .flush,
                .debug,
                "samples flushed",
                [
                    .rows: FieldValue(report.inserted),
                    .pages: FieldValue(report.pages),
                    .durationUsec: FieldValue(microseconds: report.duration),
                ]
            )
        case .flushFailed(let error, let rows):
            JournalRecord(
                .flush,
                .warning,
                "samples could not be flushed and are kept",
                [.rows: FieldValue(rows), .detail: FieldValue("\(error)")]
            )
        case .bufferFull(let rows):
            JournalRecord(.flush, .warning, "the buffer is full", [.rows: FieldValue(rows)])
        case .sourceEnded(let stream):
            JournalRecord(.flush, .notice, "a source ended", [.stream: FieldValue(stream)])
        case .sourceFailed(let stream, let error):
            JournalRecord(
                .flush,
                .error,
                "a source failed and is not asked again",
                [.stream: FieldValue(stream), .detail: FieldValue("\(error)")]
            )
        }
    }
}
