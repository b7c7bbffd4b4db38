import Bucket
import CommandLineKit
import Replication
import Wire

extension Command {
    /// `dormouse push`: one push.
    static let push = Command(
        "push",
        summary: "push a database to its bucket once",
        discussion: """
            Ships what changed since the last push, as one LTX file, and prints one line: the
            outcome, TXID, pages, bytes, the WAL's size. The database must be in WAL mode;
            nothing is written into it. The first push to an empty bucket ships all of it.
            With --spool it uploads nothing and returns at once: dormouse transfer uploads.
            """,
        positionals: [Positional("DB", help: "the database file")],
        options: [CommonOptions.json, CommonOptions.spool] + CommonOptions.replication
            + ServerOptions.all,
        required: [CommonOptions.to],
        examples: [
            Example("push app.db --to /var/backups/app", "ship what is new"),
            Example(
                "push app.db --to https://sink.example/db/app --spool /var/spool/app",
                "leave the upload to dormouse transfer"
            ),
        ],
        exitCodes: [.done, .failed, .usage, .refused, .tryAgain],
        body: pushOnce
    )

    private static let pushOnce: Body = { arguments, console in
        let spool = arguments[CommonOptions.spool]
        var options = CommonOptions.replicatorOptions(arguments)
        options.spool = spool
        let replicator = Replicator(
            database: arguments.first,
            bucket: try ServerOptions.client(
                for: arguments.required(CommonOptions.to),
                arguments,
                spool: spool
            ),
            options: options
        )
        let record = await replicator.push(handOver: spool != nil)
        await replicator.close()
        StatusFile(database: arguments.first).save(record)
        for note in record.notes { console.complain("dormouse: \(note)") }
        if arguments[CommonOptions.json] {
            try console.out.print(record.json.line)
        } else if record.outcome.isSuccess {
            try console.out.print(record.line)
        } else {
            console.complain("dormouse: \(record.outcome.name): \(record.outcome.detail)")
        }
        return record.exitCode
    }
}
