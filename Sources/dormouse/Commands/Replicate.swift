import Bucket
import CommandLineKit
import Lifecycle
import Replication
import Telemetry

extension Command {
    /// `dormouse replicate`: any database, for as long as the process lives.
    static let replicate = Command(
        "replicate",
        summary: "keep a database replicated, without collecting anything",
        discussion: """
            Wakes when the database changes, not by polling, and pushes at most once in the
            interval. Each push is one record in the journal, or on standard error. SIGTERM
            and SIGINT end it after a last push; a second one cuts that short, a third one ends it
            at once. SIGUSR1 and SIGUSR2 send it to the background and back.
            """,
        positionals: [Positional("DB", help: "the database file; it may appear later")],
        options: [intervalOption] + CommonOptions.replication + ServerOptions.all,
        required: [CommonOptions.to],
        examples: [
            Example(
                "replicate app.db --to /var/backups/app --interval 5s",
                "ship what is new, at most every five seconds"
            )
        ],
        exitCodes: [.done, .failed, .usage],
        body: replicateDatabase
    )

    private static let intervalOption = Option<Duration>(
        "interval",
        duration: "TIME",
        help: "at most one push in this time, such as 500ms, 1s, 15m (default 1s)"
    )

    private static let replicateDatabase: Body = { arguments, console in
        try SQLiteImages.requireOne()
        let database = arguments.first
        let address = arguments.required(CommonOptions.to)
        let journal = Journal().with([
            .database: FieldValue(database), .destination: FieldValue(describing: address),
        ])
        let replicator = Replicator(
            database: database,
            bucket: try ServerOptions.client(for: address, arguments),
            options: CommonOptions.replicatorOptions(arguments)
        )
        let events = try EventSource(database: database, signals: ReplicationLoop.signals)
        journal.write(.start, .notice, "started", [.version: FieldValue(Program.versionNumber)])
        let loop = ReplicationLoop(
            replicator: replicator,
            events: events,
            journal: journal,
            statusFile: StatusFile(database: database),
            settings: ReplicationLoop.Settings(interval: arguments[intervalOption] ?? .seconds(1)),
            pushOnStart: true
        )
        let code = try await loop.run()
        await replicator.close()
        journal.write(.stop, .notice, "stopped")
        return code
    }
}
