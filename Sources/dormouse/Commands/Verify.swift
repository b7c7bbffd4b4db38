import Bucket
import CommandLineKit
import Replica
import Replication
import Wire

extension Command {
    /// `dormouse verify`: a database against its bucket.
    static let verify = Command(
        "verify",
        summary: "compare a database with its bucket, page by page",
        discussion: """
            Reads the bucket to its head, checks every file of it, and compares each page with the
            database under a read transaction. It may run beside an agent: what the agent has not
            yet pushed is left out where the published state can still be seen, and counted.
            --fast reads each page of the database once and compares it with its checksum at the
            last push; of the bucket it reads header and checksum of the newest file, nothing else.
            Exits 1 when pages differ.
            """,
        positionals: [
            Positional("DB", help: "the database file"), Positional("URL", help: "its bucket"),
        ],
        options: [fastOption, CommonOptions.json] + ServerOptions.all,
        examples: [Example("verify app.db /var/backups/app", "say which pages differ")],
        exitCodes: [.done, .failed, .usage, .refused, .tryAgain],
        body: verifyDatabase
    )

    private static let fastOption = Flag(
        "fast",
        help: "compare with the checksums of the last push instead of the bucket's pages"
    )

    private static let verifyDatabase: Body = { arguments, console in
        let bucket = try bucket(arguments.positionals[1], arguments)
        if arguments[fastOption] {
            let report = try await SourceCheck.runFast(database: arguments.first, bucket: bucket)
            if arguments[CommonOptions.json] {
                try console.out.print(report.json.line)
            } else {
                for line in report.lines { try console.out.print(line) }
            }
            return report.isEqual ? .done : .failed
        }
        let progress = BucketProgress("comparing", console)
        let report: SourceCheck.Report
        do {
            report = try await SourceCheck.run(
                database: arguments.first,
                bucket: bucket,
                progress: progress.update
            )
            progress.finish()
        } catch {
            progress.abandon()
            throw error
        }
        if arguments[CommonOptions.json] {
            try console.out.print(report.json.line)
        } else {
            for line in report.lines { try console.out.print(line) }
        }
        return report.verification.isEqual ? .done : .failed
    }
}

extension SourceCheck.FastReport {
    fileprivate var lines: [String] {
        let named = differing.map { String($0) }.joined(separator: ", ")
        let more = differingCount - differing.count
        var lines = [
            isEqual
                ? "equal: \(HumanText.count(pagesCompared)) pages by checksum at txid \(txid)"
                : "different: \(HumanText.count(differingCount)) pages by checksum at txid "
                    + "\(txid): \(named)" + (more > 0 ? " and \(more) more" : "")
        ]
        if commitsBehind > 0 {
            lines.append("\(commitsBehind) commits are not yet pushed, and were left out")
        }
        return lines
    }

    fileprivate var json: JSONValue {
        [
            "equal": .bool(isEqual),
            "txid": .string("\(txid)"),
            "pages_compared": .number(pagesCompared),
            "pages_differing": .number(differingCount),
            "differing": .array(differing.map(JSONValue.number)),
            "commits_behind": .number(commitsBehind),
        ]
    }
}

extension SourceCheck.Report {
    fileprivate var lines: [String] {
        let report = verification
        var lines: [String] = []
        if report.isEqual {
            lines.append(
                "equal: \(HumanText.count(report.pagesCompared)) pages at txid \(report.txid)"
            )
        } else {
            let named = report.differing.map { String($0) }.joined(separator: ", ")
            let more = report.differingCount - report.differing.count
            lines.append(
                "different: \(HumanText.count(report.differingCount)) pages at txid "
                    + "\(report.txid): \(named)" + (more > 0 ? " and \(more) more" : "")
            )
            if report.sourceCommit != report.bucketCommit {
                lines.append(
                    "the database has \(report.sourceCommit) pages, "
                        + "the bucket \(report.bucketCommit)"
                )
            }
        }
        if commitsBehind > 0 {
            lines.append(
                "\(commitsBehind) commits are not yet pushed"
                    + (isAtPlace ? ", and were left out" : "")
            )
        }
        return lines
    }

    fileprivate var json: JSONValue {
        [
            "equal": .bool(verification.isEqual),
            "txid": .string("\(verification.txid)"),
            "pages_compared": .number(verification.pagesCompared),
            "pages_differing": .number(verification.differingCount),
            "differing": .array(verification.differing.map(JSONValue.number)),
            "database_pages": .number(verification.sourceCommit),
            "bucket_pages": .number(verification.bucketCommit),
            "commits_behind": .number(commitsBehind),
            "at_published_state": .bool(isAtPlace),
        ]
    }
}
