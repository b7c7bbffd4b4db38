import Bucket
import CommandLineKit
import Configuration
import DurableFiles
import Glibc
import Handover
import Lifecycle
import Replication
import Telemetry

extension Command {
    /// `dormouse transfer`: uploads what an agent has handed over.
    static let transfer = Command(
        "transfer",
        summary: "upload what an agent has handed over, also while the agent is stopped or dead",
        discussion: """
            Takes the files of a spool in their order, goes on with uploads where they broke, by
            whomever they were begun, and leaves a receipt for each. It ends with 0 when the spool
            is empty, and is started again by whatever watches SPOOL/ready. A failure that can
            pass by itself is tried again, after growing delays or when the server says; what is
            refused waits for its next start. With a config file the agent's own token is used.
            Files for other destinations, and what is no manifest, are set aside.
            """,
        options: [configOption, CommonOptions.spool, CommonOptions.to, budgetOption, onceFlag]
            + ServerOptions.all,
        examples: [
            Example("transfer --config /etc/dormouse/agent.yml", "as a service does"),
            Example(
                "transfer --spool ./spool --to http://127.0.0.1:9736/db/app --budget 30s",
                "in one line, for at most half a minute"
            ),
        ],
        exitCodes: [.done, .failed, .usage, .refused, .tryAgain],
        body: runTransfer
    )

    private static let configOption = Option<String>(
        "config",
        "FILE",
        help: "the agent's config file: its destination, token and spool"
    )
    private static let budgetOption = Option<Duration>(
        "budget",
        duration: "TIME",
        help: "end after this time, in the middle of an upload too: the next run goes on with it"
    )
    private static let onceFlag = Flag(
        "once",
        help: "try each file once, and wait neither for a server nor for a lock"
    )

    private static let runTransfer: Body = { arguments, console in
        let hint = "dormouse transfer --help"
        let budget = arguments[budgetOption]
        let once = arguments[onceFlag]
        if let path = arguments[configOption] {
            let allowed = [configOption.long, budgetOption.long, onceFlag.long]
            if let other = arguments.given.first(where: { !allowed.contains($0) }) {
                throw UsageError("--config excludes --\(other)", hint: hint)
            }
            let config: AgentConfig
            do throws(ConfigurationError) {
                config = try AgentConfig.load(path: path)
            } catch {
                throw CommandFailure(error.lines.joined(separator: "\n"), code: .usage)
            }
            guard let spool = config.transfer.spool else {
                throw CommandFailure(
                    "\(path): transfer.spool is not set: nothing is ever handed over",
                    code: .usage
                )
            }
            let journal = Journal(config.log).with([.database: FieldValue(config.database)])
            return try await TransferRun(
                spool: Spool(spool),
                bucket: try config.client(),
                journal: journal,
                budget: budget,
                once: once
            ).run()
        }
        guard let spool = arguments[CommonOptions.spool], let address = arguments[CommonOptions.to]
        else { throw UsageError("give --config, or --spool and --to", hint: hint) }
        return try await TransferRun(
            spool: Spool(Path.canonical(spool)),
            bucket: try ServerOptions.client(for: address, arguments, spool: spool),
            journal: Journal(),
            budget: budget,
            once: once
        ).run()
    }
}

/// A transfer service from its start to its end: the shell around `TransferService`.
struct TransferRun {
    let spool: Spool
    let bucket: any BucketClient
    let journal: Journal
    let budget: Duration?
    let once: Bool

    init(
        spool: Spool,
        bucket: any BucketClient,
        journal: Journal,
        budget: Duration?,
        once: Bool
    ) {
        self.spool = spool
        self.bucket = bucket
        self.journal = journal.with([.destination: FieldValue(describing: bucket.address)])
        self.budget = budget
        self.once = once
    }

    /// Uploads until nothing is left to do, the budget is spent, or a signal comes.
    func run() async throws -> ExitCode {
        let start = ContinuousClock.now
        let events = try EventSource(database: nil, signals: [SIGTERM, SIGINT])
        journal.write(
            .start,
            .info,
            "transfer service started",
            [.file: FieldValue(spool.path), .version: FieldValue(Program.versionNumber)]
        )
        Notify.ready("uploading to \(bucket.address)")
        let service = TransferService(spool: spool, bucket: bucket, once: once) { [journal] in
            journal.write($0.journalRecord)
        }
        async let working = {
            let result: Result<TransferEnding, any Error>
            do { result = .success(try await service.run()) } catch { result = .failure(error) }
            events.interrupt()
            return result
        }()
        while true {
            switch try await events.next(changes: false, until: budget.map { start + $0 }) {
            case .changed, .asked: continue
            case .interrupted: return try end(await working)
            case .deadline: stop("the budget is spent")
            case .signal: stop("a signal")
            }
        }
    }

    private func end(_ result: Result<TransferEnding, any Error>) throws -> ExitCode {
        let (code, reason): (ExitCode, String)
        switch try result.get() {
        case .empty: (code, reason) = (.done, "the spool is empty")
        case .later: (code, reason) = (.tryAgain, "something waits and may work later")
        case .refused: (code, reason) = (.refused, "something was refused and waits")
        }
        journal.write(
            .stop,
            .info,
            "transfer service stopped",
            [.reason: FieldValue(reason)]
        )
        return code
    }

    /// Ends the process in the middle of whatever it does.
    ///
    /// It may wait for a disk or for a lock. What is on disk is safe against a kill at any point,
    /// and what has reached the server of an upload stays there.
    private func stop(_ reason: String) -> Never {
        journal.write(
            .stop,
            .notice,
            "transfer service stopped before the spool was empty",
            [.reason: FieldValue(reason)]
        )
        _exit(ExitCode.tryAgain.rawValue)
    }
}
