import Bucket
import CommandLineKit
import DurableFiles
import LTXCodec
import Replica
import Wire

extension Command {
    /// `dormouse restore`: a database from a bucket.
    static let restore = Command(
        "restore",
        summary: "materialise a database from a bucket",
        discussion: """
            The file appears whole or not at all, and is checked before. By default it is
            presented as a rollback-journal database, so that any SQLite can open it for reading;
            --verbatim leaves its first page exactly as it is in the bucket.
            """,
        positionals: [Positional("URL", help: "the bucket")],
        options: [txidOption, timestampOption, checkOption, verbatimOption, forceOption]
            + [CommonOptions.json] + ServerOptions.all,
        required: [outputOption],
        examples: [
            Example("restore /var/backups/app -o app.db", "the newest state"),
            Example(
                "restore /var/backups/app -o then.db --timestamp 2026-11-30T09:00:00Z",
                "the last state before a moment"
            ),
        ],
        exitCodes: [.done, .failed, .usage, .refused, .tryAgain],
        body: restoreDatabase
    )

    private static let outputOption = Option<String>(
        "output",
        short: "o",
        "FILE",
        help: "the database file to write"
    )

    private static let txidOption = Option<TXID>(
        "txid",
        "TXID",
        help: "exactly this state: up to 16 hex digits, as in file names",
        as: { text throws(InvalidValue) in
            guard let txid = TXID(text), txid > .zero else {
                throw InvalidValue("is not a TXID: 1 to 16 hex digits, above zero")
            }
            return txid
        }
    )

    private static let timestampOption = Option<Int64>(
        "timestamp",
        "TIME",
        help: "the last state before this moment, such as 2026-11-30T09:00:00Z",
        as: { text throws(InvalidValue) in
            guard let time = RFC3339.milliseconds(text) else {
                throw InvalidValue("is not a time such as 2026-11-30T09:00:00Z (RFC 3339)")
            }
            return time
        }
    )

    private static let checkOption = Option<IntegrityCheck>(
        "integrity-check",
        choice: "HOW",
        help: "none, quick (default) or full"
    )

    private static let verbatimOption = Flag(
        "verbatim",
        help: "exactly the bytes of the bucket, WAL mode included"
    )

    private static let forceOption = Flag(
        "force",
        help: "replace FILE if it exists, -wal, -shm and -journal too; nobody may have it open"
    )

    private static let restoreDatabase: Body = { arguments, console in
        let target: RestoreTarget
        switch (arguments[txidOption], arguments[timestampOption]) {
        case (nil, nil): target = .newest
        case (let txid?, nil): target = .txid(txid)
        case (nil, let time?): target = .timestamp(time)
        case (.some, .some):
            throw UsageError(
                "--txid and --timestamp exclude each other",
                hint: "dormouse restore --help"
            )
        }
        let restore = Restore(
            bucket: try bucket(arguments.first, arguments),
            target: target,
            output: arguments.required(outputOption),
            options: Restore.Options(
                overwrite: arguments[forceOption],
                verbatim: arguments[verbatimOption],
                integrityCheck: arguments[checkOption] ?? .quick
            )
        )
        Leftover.removedOnSignal(restore.temporaryPath)
        let progress = BucketProgress("restoring", console)
        let summary: RestoreSummary
        do {
            summary = try await restore.run(progress: progress.update)
            progress.finish()
        } catch RestoreError.exists(let paths) {
            progress.abandon()
            throw CommandFailure(
                "\(paths.joined(separator: ", ")) \(paths.count == 1 ? "exists" : "exist"): "
                    + "move away what you need, or overwrite with --force"
            )
        } catch {
            progress.abandon()
            throw error
        }
        if arguments[CommonOptions.json] {
            try console.out.print(summary.json.line)
        } else {
            try console.out.print(
                "\(summary.path): txid \(summary.txid) of \(RFC3339.text(summary.timestamp)), "
                    + "\(HumanText.count(summary.commit)) pages of \(summary.pageSize) bytes, "
                    + "\(HumanText.bytes(summary.sizeInBytes)) from \(summary.files) files, "
                    + HumanText.bytes(summary.bytesRead)
            )
        }
        return .done
    }

    /// The bucket that a positional argument names.
    static func bucket(_ text: String, _ arguments: Arguments) throws -> any BucketClient {
        let address: BucketAddress
        do {
            address = try BucketAddress(parsing: text)
        } catch {
            throw CommandFailure("\(error)", code: .usage)
        }
        return try ServerOptions.client(for: address, arguments)
    }
}

extension RestoreSummary {
    fileprivate var json: JSONValue {
        [
            "path": .string(path),
            "txid": .string("\(txid)"),
            "timestamp": .string(RFC3339.text(timestamp)),
            "page_size": .number(pageSize),
            "pages": .number(commit),
            "bytes": .number(sizeInBytes),
            "files": .number(files),
            "bytes_read": .number(bytesRead),
        ]
    }
}
