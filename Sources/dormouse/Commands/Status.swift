import Bucket
import CommandLineKit
import DurableFiles
import LTXCodec
import Replica
import Replication
import Wire

extension Command {
    /// `dormouse status`: where a database or a bucket stands.
    static let status = Command(
        "status",
        summary: "show where a database's replication or a bucket stands",
        discussion: """
            Of a database: positions, the last push, retryable pushes in a row, what is still
            owed, the WAL. Of a bucket: its head, and the files of each level. Only files are
            read: it may run beside an agent.
            """,
        positionals: [Positional("DB|URL", help: "a replicated database, or a bucket")],
        options: [CommonOptions.json] + ServerOptions.all,
        examples: [
            Example("status app.db", "the device's side"),
            Example("status /var/backups/app --json", "the bucket's side, for a program"),
        ],
        exitCodes: [.done, .failed, .usage, .refused],
        body: showStatus
    )

    private static let showStatus: Body = { arguments, console in
        let subject = arguments.first
        let status =
            try FileStatus.of(subject)?.isRegularFile == true
            ? try databaseStatus(subject) : try await bucketStatus(subject, arguments)
        if arguments[CommonOptions.json] {
            try console.out.print(JSONValue.object(status).pretty)
        } else {
            try console.out.write(text(of: status))
        }
        return .done
    }

    private static func databaseStatus(_ path: String) throws -> [JSONValue.Member] {
        guard let status = try ReplicatorStatus.read(database: path) else {
            throw CommandFailure(
                "\(path) was never replicated from here: "
                    + "\(ReplicatorStatus.directory(of: path)) holds no state"
            )
        }
        let last = StatusFile(database: path).load()
        return [
            .init("database", .string(path)),
            .init("database_bytes", .number(status.databaseBytes)),
            .init("wal_bytes", .number(status.walBytes)),
            .init("lineage", .string(status.lineage)),
            .init("txid", .string("\(status.txid)")),
            .init("place", .string(status.place)),
            .init("wal_frames_read", .optional(status.framesRead, JSONValue.number)),
            .init("streak", .number(status.streak.count)),
            .init(
                "last_push",
                last.isEmpty
                    ? nil
                    : [
                        "at": .optional(last["at"].flatMap { Int64($0) }) {
                            .string(RFC3339.text($0))
                        },
                        "outcome": .optional(last["outcome"], JSONValue.string),
                        "reason": .optional(last["reason"], JSONValue.string),
                        "detail": .optional(last["detail"], JSONValue.string),
                        "sync_kind": .optional(last["sync-kind"], JSONValue.string),
                        "bytes": .optional(last["bytes"].flatMap { Int64($0) }, JSONValue.number),
                        "pages": .optional(last["pages"].flatMap { Int64($0) }, JSONValue.number),
                        "backlog_files": .optional(
                            last["backlog-files"].flatMap { Int64($0) },
                            JSONValue.number
                        ),
                        "backlog_bytes": .optional(
                            last["backlog-bytes"].flatMap { Int64($0) },
                            JSONValue.number
                        ),
                    ]
            ),
            .init(
                "buckets",
                .array(
                    status.acknowledged.sorted { $0.key < $1.key }.map { address, txid in
                        let backlog = status.backlog(for: address)
                        return [
                            "address": .string(address),
                            "acknowledged_txid": .string("\(txid)"),
                            "backlog_files": .number(backlog.count),
                            "backlog_bytes": .number(backlog.reduce(0) { $0 + $1.sizeInBytes }),
                        ]
                    }
                )
            ),
        ]
    }

    private static func bucketStatus(
        _ address: String,
        _ arguments: Arguments
    ) async throws -> [JSONValue.Member] {
        let bucket = try bucket(address, arguments)
        if case .directory(let path) = bucket.address, try FileStatus.of(path) == nil {
            throw CommandFailure("\(path): there is neither a database nor a bucket")
        }
        let files = try await bucket.listAll()
        let head = files.map(\.maxTXID).max() ?? .zero
        return [
            .init("bucket", .string(bucket.address.description)),
            .init("txid", .string("\(head)")),
            .init("files", .number(files.count)),
            .init("bytes", .number(files.reduce(0) { $0 + $1.sizeInBytes })),
            .init(
                "newest",
                .optional(files.map(\.timestamp).max()) { .string(RFC3339.text($0)) }
            ),
            .init(
                "levels",
                .array(
                    BucketFile.levels.compactMap { level in
                        let files = files.filter { $0.level == level }
                        guard let first = files.first, let last = files.last else { return nil }
                        return [
                            "level": .number(level),
                            "files": .number(files.count),
                            "bytes": .number(files.reduce(0) { $0 + $1.sizeInBytes }),
                            "min_txid": .string("\(first.minTXID)"),
                            "max_txid": .string("\(last.maxTXID)"),
                        ]
                    }
                )
            ),
        ]
    }

    /// The same as the JSON, for a person: a line a fact, a table for what there are many of.
    private static func text(of members: [JSONValue.Member]) -> String {
        var text = ""
        for member in members {
            switch member.value {
            case .array(let rows):
                text += table(of: rows, titled: member.key)
            case .object(let facts):
                text += "\(member.key)\n"
                for fact in facts { text += "  \(fact.key)  \(plain(fact.value, fact.key))\n" }
            default:
                text += "\(member.key)  \(plain(member.value, member.key))\n"
            }
        }
        return text
    }

    private static func table(of rows: [JSONValue], titled title: String) -> String {
        guard case .object(let first)? = rows.first else { return "\(title)  none\n" }
        var table = Table(
            first.map { .init($0.key, $0.value.isNumber ? .right : .left) }
        )
        for case .object(let facts) in rows {
            table.add(facts.map { plain($0.value, $0.key) })
        }
        return "\(title)\n" + table.text
    }

    private static func plain(_ value: JSONValue, _ key: String) -> String {
        switch value {
        case .string(let text): Printable.text(text)
        case .integer(let number):
            key.hasSuffix("bytes") ? HumanText.bytes(number) : HumanText.count(number)
        case .null: "-"
        default: value.line
        }
    }
}

extension JSONValue {
    fileprivate var isNumber: Bool { if case .integer = self { true } else { false } }
}
