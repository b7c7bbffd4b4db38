import CommandLineKit
import Glibc
import Lifecycle
import Replication
import SQLiteBridge
import Telemetry

/// Keeps a replicator pushing until a signal ends it: the shell around `PushSchedule`.
struct ReplicationLoop {
    /// The signals that arrive as events; `SIGCONT` is the end of a suspension.
    static let signals = [SIGTERM, SIGINT, SIGCONT]

    let replicator: Replicator
    let journal: Journal
    let interval: Duration
    let pushOnStart: Bool
    let statusFile: StatusFile
    /// Looks at each push, after it was recorded.
    var onPush: @Sendable (PushRecord) -> Void = { _ in }

    /// Pushes until SIGTERM or SIGINT.
    func run(_ events: EventSource) async throws {
        let clock = ContinuousClock()
        var schedule = PushSchedule(interval: interval, now: clock.now)
        if !pushOnStart {
            // What is there already waits for a change, as after a push.
            schedule.pushed(.succeeded, start: clock.now, now: clock.now, jitter: 0)
        }
        while true {
            guard let wait = schedule.next(at: clock.now) else {
                let start = clock.now
                try await events.forgetChanges()
                let record = await push()
                schedule.pushed(
                    record.scheduleResult,
                    start: start,
                    now: clock.now,
                    jitter: .random(in: 0...1)
                )
                continue
            }
            switch try await events.next(changes: wait.forChange, until: wait.until) {
            case .changed:
                schedule.changed(at: clock.now)
            case .deadline:
                break
            case .signal(SIGCONT):
                journal.write(.resume, .notice, "resumed")
                await replicator.resumed()
                schedule.requested(at: clock.now)
            case .signal:
                return
            }
        }
    }

    /// One push, recorded.
    @discardableResult
    func push() async -> PushRecord {
        let record = await replicator.push()
        for entry in record.journalRecords() { journal.write(entry) }
        statusFile.save(record)
        onPush(record)
        return record
    }

    /// The last push before the end; a second signal gives it up.
    ///
    /// - Returns: `failed` if something is still owed.
    func finish(_ events: EventSource, within limit: Duration) async throws -> ExitCode {
        let deadline = ContinuousClock.now + limit
        let last = Task { await push() }
        let watcher = Task {
            while true {
                switch try await events.next(changes: false, until: deadline) {
                case .signal(SIGCONT), .changed: continue
                case .signal, .deadline:
                    last.cancel()
                    return
                }
            }
        }
        let record = await last.value
        watcher.cancel()
        return record.outcome.isSuccess ? .done : .failed
    }
}

extension PushRecord {
    fileprivate var scheduleResult: PushSchedule.Result {
        switch outcome {
        case .pushed, .inSync:
            isCommitPending ? .commitPending(shipped: files > 0) : .succeeded
        case .retryable: .retryable
        case .unavailable: .unavailable
        }
    }
}
