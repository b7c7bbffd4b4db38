import Bucket
import Collector
import CommandLineKit
import Configuration
import DurableFiles
import Replication
import Telemetry

extension Command {
    /// `dormouse agent`: collector and replicator.
    static let agent = Command(
        "agent",
        summary: "collect samples into a database and replicate it",
        discussion: """
            Runs under systemd or in a terminal, from a config file or from options in one line.
            Records go to the journal, or to standard error. SIGTERM and SIGINT end it after a
            last flush and push; a second one cuts that push short, a third one ends it at once.
            SIGUSR1 sends it to the background, where it has a budget, and SIGUSR2 brings it back
            to the foreground; SIGHUP reloads the config file. dormouse ctl does the same and more.
            """,
        options: [
            configOption, databaseOption, toOption, sourceOption, speedOption, flushOption,
            intervalOption, levelOption,
        ] + CommonOptions.replication + ServerOptions.all,
        examples: [
            Example("agent --config /etc/dormouse/agent.yml", "as a service does"),
            Example(
                "agent --database health.db --to /var/backups/health --source simulated",
                "in one line"
            ),
        ],
        exitCodes: [.done, .failed, .usage],
        body: runAgent
    )

    private static let configOption = Option<String>(
        "config",
        "FILE",
        help: "the config file; excludes the other options"
    )
    private static let databaseOption = Option<String>(
        "database",
        "FILE",
        help: "the database; made when it is not there"
    )
    private static let toOption = Option<BucketAddress>(
        "to",
        bucket: "URL",
        help: "the bucket: a directory, or http(s)://host:port/db/NAME of a sink"
    )
    private static let sourceOption = Option<String>(
        "source",
        "WHAT",
        help: "simulated, or a recorded CSV file with a column offset_s (default simulated)"
    )
    private static let speedOption = Option<Double>(
        "speed",
        "N",
        help: "multiple of real time at which samples arrive (default 1)",
        as: { text throws(InvalidValue) in
            guard let speed = Double(text), speed >= 0.001, speed <= 1_000_000 else {
                throw InvalidValue("is not a number from 0.001 to 1000000")
            }
            return speed
        }
    )
    private static let flushOption = Option<Duration>(
        "flush-interval",
        duration: "TIME",
        help: "how long samples are buffered (default 30s)"
    )
    private static let intervalOption = Option<Duration>(
        "interval",
        duration: "TIME",
        help: "at most one push in this time (default 15m)"
    )
    private static let levelOption = Option<AgentConfig.LogLevel>(
        "log-level",
        choice: "LEVEL",
        help: "error, warning, notice, info (default) or debug"
    )

    private static let runAgent: Body = { arguments, console in
        let (config, streams) = try configuration(arguments)
        let file = arguments[configOption].map { Path.canonical($0) }
        return try await AgentService(config, file: file, streams: streams).run()
    }

    private static func configuration(
        _ arguments: Arguments
    ) throws -> (AgentConfig, [StreamDefinition]) {
        let hint = "dormouse agent --help"
        if let path = arguments[configOption] {
            if let other = arguments.given.first(where: { $0 != configOption.long }) {
                throw UsageError("--config excludes --\(other)", hint: hint)
            }
            do {
                let config = try AgentConfig.load(path: path)
                return (config, streams(of: config))
            } catch {
                // As a service there is nobody at standard error but the journal.
                let journal = Journal()
                if journal.usesJournal {
                    for line in error.lines {
                        journal.write(
                            .config,
                            .error,
                            "the configuration cannot be used",
                            [.detail: FieldValue(line)]
                        )
                    }
                }
                throw CommandFailure(error.lines.joined(separator: "\n"), code: .usage)
            }
        }
        guard let database = arguments[databaseOption], let address = arguments[toOption] else {
            throw UsageError("give --config, or --database and --to", hint: hint)
        }
        var config = AgentConfig(database: Path.canonical(database), destination: address)
        config.http = try ServerOptions.http(arguments)
        if let interval = arguments[flushOption] { config.collector.flushInterval = interval }
        if let interval = arguments[intervalOption] { config.push.interval = interval }
        if let level = arguments[levelOption] { config.log.level = level }
        if let pages = arguments[CommonOptions.checkpointPages] {
            config.checkpoint.pages = Int(pages)
        }
        switch arguments[CommonOptions.pin] {
        case .hold: config.checkpoint.pin = .hold
        case .yield: config.checkpoint.pin = .yield
        case nil: break
        }
        switch arguments[CommonOptions.onConflict] {
        case .rebase: config.push.onConflict = .rebase
        case .stop: config.push.onConflict = .stop
        case nil: break
        }
        let speed = arguments[speedOption] ?? 1
        config.collector.speed = speed
        guard let file = arguments[sourceOption], file != "simulated" else {
            return (config, streams(of: config))
        }
        let recording = RecordingDefinition(path: file, device: config.device, speed: speed)
        return (config, [try StreamDefinition.recording(recording)])
    }

    private static func streams(of config: AgentConfig) -> [StreamDefinition] {
        config.streams.map {
            StreamDefinition($0, device: config.device, speed: config.collector.speed)
        }
    }
}
