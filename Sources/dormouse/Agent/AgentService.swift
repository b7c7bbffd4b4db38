import Bucket
import Collector
import CommandLineKit
import Configuration
import DurableFiles
import Glibc
import Lifecycle
import Replication
import SQLiteBridge
import Telemetry

/// The app: a collector that writes samples and a replicator that ships them, in one process.
actor AgentService {
    private var config: AgentConfig
    /// Where the configuration came from; `nil` for options in one line.
    private let file: String?
    private let journal: Journal
    private let replicator: Replicator
    private let station: CollectorStation
    /// Starts the transfer service, where that is ours to do.
    private let transfer: TransferChild?

    init(_ config: AgentConfig, file: String?, streams: [StreamDefinition]) throws {
        self.config = config
        self.file = file
        journal = Journal(config.log).with([
            .database: FieldValue(config.database),
            .destination: FieldValue(describing: config.destination),
        ])
        replicator = Replicator(
            database: config.database,
            bucket: try config.client(),
            options: config.replicatorOptions
        )
        if config.transfer.start == .child, let spool = config.transfer.spool, let file {
            transfer = TransferChild(spool: spool, config: file, journal: journal)
        } else {
            transfer = nil
        }
        station = CollectorStation(
            database: config.database,
            streams: streams,
            flushEvery: config.collector.flushInterval,
            journal: journal
        )
    }

    /// Collects and pushes, phase by phase, until SIGTERM or SIGINT.
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
        let loop = ReplicationLoop(
            replicator: replicator,
            events: events,
            journal: journal,
            statusFile: StatusFile(database: config.database),
            settings: config.loopSettings,
            pushOnStart: config.push.onStart,
            workload: station,
            control: config.control ?? Self.usualControl(of: config.database),
            tick: .seconds(4),
            reload: reloading,
            afterJob: { [transfer] in transfer?.startIfNeeded() }
        )
        let code = try await loop.run()
        await events.stopListening()
        await replicator.close()
        journal.write(.stop, .notice, "stopped")
        return code
    }

    /// `nil` without a file to read again.
    private var reloading: (@Sendable () async -> ReloadReport)? {
        guard let file else { return nil }
        return { await self.reload(file) }
    }

    /// Where the control socket is when nobody says: beside the service's other runtime files, or
    /// beside the replicator's own.
    static func usualControl(of database: String) -> String {
        if let directory = getenv("RUNTIME_DIRECTORY") {
            // Several are parted by colons; the first is the service's.
            let first = String(cString: directory).prefix { $0 != ":" }
            if !first.isEmpty { return Path.join(String(first), "control") }
        }
        return Path.join(ReplicatorStatus.directory(of: database), "control")
    }

    /// Reads the configuration again and puts in force what can change while the process lives.
    private func reload(_ file: String) async -> ReloadReport {
        let new: AgentConfig
        do {
            new = try AgentConfig.load(path: file)
        } catch {
            return ReloadReport(error: error.lines.joined(separator: "; "))
        }
        let (fixed, needRestart) = config.keepingWhatIsFixed(of: new)
        let journal = self.journal.limited(to: Priority(fixed.log.level))
        do {
            let bucket = try fixed.client()
            replicator.reconfigure(fixed.replicatorOptions, bucket: bucket)
            try await station.reconfigure(
                flushEvery: fixed.collector.flushInterval,
                journal: journal
            )
        } catch {
            return ReloadReport(error: "\(error)")
        }
        config = fixed
        return ReloadReport(
            settings: fixed.loopSettings,
            journal: journal,
            needRestart: needRestart
        )
    }
}

extension AgentConfig {
    var replicatorOptions: ReplicatorOptions {
        var options = ReplicatorOptions()
        options.checkpointFrames = UInt32(clamping: checkpoint.pages)
        options.pin =
            switch checkpoint.pin {
            case .hold: .hold
            case .yield: .yield
            }
        options.onConflict =
            switch push.onConflict {
            case .rebase: .rebase
            case .stop: .stop
            }
        options.backlog = BacklogPolicy(budget: backlog.budget, limit: backlog.limit)
        options.spool = transfer.spool
        return options
    }

    /// The destination, reached as configured; for agent and transfer service alike.
    func client() throws -> any BucketClient {
        try destination.client(http: try http.bucketOptions(spool: transfer.spool))
    }

    var loopSettings: ReplicationLoop.Settings {
        var budgets = Life.Budgets()
        budgets.background = lifecycle.backgroundBudget
        budgets.extending = lifecycle.extensionTime
        budgets.extensions = lifecycle.extensions
        return ReplicationLoop.Settings(
            interval: push.interval,
            budgets: budgets,
            sharedContainer: lifecycle.sharedContainer
        )
    }

    /// Another configuration, but for what a process has from its start to its end.
    ///
    /// - Returns: What can be put in force now, and the keys of what cannot.
    func keepingWhatIsFixed(of new: AgentConfig) -> (AgentConfig, needRestart: [String]) {
        var result = new
        var keys: [String] = []
        func keep<Value: Equatable>(_ key: String, _ path: WritableKeyPath<AgentConfig, Value>) {
            guard self[keyPath: path] != new[keyPath: path] else { return }
            result[keyPath: path] = self[keyPath: path]
            keys.append(key)
        }
        keep("database", \.database)
        keep("destination", \.destination)
        keep("device", \.device)
        keep("control", \.control)
        keep("collector.speed", \.collector.speed)
        keep("transfer", \.transfer)
        keep("streams", \.streams)
        keep("log.format", \.log.format)
        return (result, keys)
    }
}

extension Priority {
    init(_ level: AgentConfig.LogLevel) {
        self =
            switch level {
            case .error: .error
            case .warning: .warning
            case .notice: .notice
            case .info: .info
            case .debug: .debug
            }
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
        self.init(format, minimum: Priority(log.level))
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
