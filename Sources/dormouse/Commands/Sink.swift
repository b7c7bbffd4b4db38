import CommandLineKit
import Configuration
import DurableFiles
import Sink
import Telemetry

extension Command {
    /// `dormouse sink`: the server.
    static let sink = Command(
        "sink",
        summary: "take databases over HTTP and keep a live copy of each",
        discussion: """
            Runs under systemd or in a terminal, from a config file or from options in one line.
            A database is made by the first push to it, at /db/NAME; its copy is
            DIR/NAME/mirror.sqlite, to be opened read-only by any SQLite. Records go to the
            journal, or to standard error. SIGTERM and SIGINT end it after the requests under way;
            a second one ends it at once. SIGHUP reads the tokens again.
            """,
        options: [
            configOption, dataOption, listenOption, tokenOption, readerTokenOption,
            certificateOption, keyOption, reserveOption, queryOption, noResumeOption, levelOption,
        ],
        examples: [
            Example("sink --config /etc/dormouse/sink.yml", "as a service does"),
            Example("sink --data ./sink --listen 127.0.0.1:9736", "in one line, on this machine"),
        ],
        exitCodes: [.done, .failed, .usage],
        body: runSink
    )

    private static let configOption = Option<String>(
        "config",
        "FILE",
        help: "the config file; excludes the other options"
    )
    private static let dataOption = Option<String>(
        "data",
        "DIR",
        help: "the directory of the databases; made when it is not there"
    )
    private static let listenOption = Option<ListenAddress>(
        "listen",
        "ADDR:PORT",
        help: "a numeric address and a port, 0 for a free one (default 127.0.0.1:9736)",
        as: { text throws(InvalidValue) in
            do {
                return try ListenAddress(parsing: text)
            } catch {
                throw InvalidValue("\(error)")
            }
        }
    )
    private static let tokenOption = Option<String>(
        "token-file",
        "FILE",
        help: "holds the token of writers; without one, only loopback can be listened on"
    )
    private static let readerTokenOption = Option<String>(
        "read-only-token-file",
        "FILE",
        help: "holds the token of readers"
    )
    private static let certificateOption = Option<String>(
        "tls-certificate",
        "FILE",
        help: "PEM file of the certificate and its chain; needs --tls-key"
    )
    private static let keyOption = Option<String>(
        "tls-key",
        "FILE",
        help: "PEM file of its key"
    )
    private static let reserveOption = Option<SinkConfig.Reserve>(
        "disk-reserve",
        "SIZE",
        help: "room that stays free on the disk, such as 1GiB or 5% (default 5%)",
        as: { text throws(InvalidValue) in
            do {
                return try SinkConfig.Reserve(parsing: text)
            } catch {
                throw InvalidValue("\(error)")
            }
        }
    )
    private static let queryOption = Option<String>(
        "freshness-query",
        "SQL",
        help: "gives the time of the newest sample in a mirror, milliseconds since 1970"
    )
    private static let noResumeOption = Flag(
        "no-resume",
        help: "keep no unfinished uploads: a broken one begins again"
    )
    private static let levelOption = Option<AgentConfig.LogLevel>(
        "log-level",
        choice: "LEVEL",
        help: "error, warning, notice, info (default) or debug"
    )

    private static let runSink: Body = { arguments, console in
        let config = try configuration(arguments)
        return try await SinkRun(config).run()
    }

    private static func configuration(_ arguments: Arguments) throws -> SinkConfig {
        let hint = "dormouse sink --help"
        if let path = arguments[configOption] {
            if let other = arguments.given.first(where: { $0 != configOption.long }) {
                throw UsageError("--config excludes --\(other)", hint: hint)
            }
            do {
                return try SinkConfig.load(path: path)
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
        guard let data = arguments[dataOption] else {
            throw UsageError("give --config, or --data", hint: hint)
        }
        var config = SinkConfig(data: Path.canonical(data))
        if let address = arguments[listenOption] { config.listen = address }
        config.tokens.readWrite = arguments[tokenOption].map { .file($0) }
        config.tokens.readOnly = arguments[readerTokenOption].map { .file($0) }
        switch (arguments[certificateOption], arguments[keyOption]) {
        case (let certificate?, let key?):
            config.tls = SinkConfig.TLS(certificate: certificate, key: key)
        case (nil, nil): break
        case (_?, nil): throw UsageError("--tls-certificate needs --tls-key", hint: hint)
        case (nil, _?): throw UsageError("--tls-key needs --tls-certificate", hint: hint)
        }
        if let reserve = arguments[reserveOption] { config.disk.reserve = reserve }
        config.freshness.query = arguments[queryOption]
        if arguments[noResumeOption] { config.limits.uploads = 0 }
        if let level = arguments[levelOption] { config.log.level = level }
        guard config.listen.isLoopback || !config.tokens.isOpen else {
            throw UsageError(
                "\(config.listen) can be reached from other machines: give --token-file",
                hint: hint
            )
        }
        return config
    }
}
