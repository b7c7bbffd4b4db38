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
    /// How long a push may go on after a signal asked for the end.
    var stopLimit = Duration.seconds(10)
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
                let (record, asked) = try await push(events, until: nil)
                if asked.toStop { return }
                schedule.pushed(
                    record.scheduleResult,
                    start: start,
                    now: clock.now,
                    jitter: .random(in: 0...1)
                )
                if asked.toResume { await resume(&schedule) }
                continue
            }
            switch try await events.next(changes: wait.forChange, until: wait.until) {
            case .changed:
                schedule.changed(at: clock.now)
            case .deadline, .interrupted:
                break
            case .signal(SIGCONT):
                await resume(&schedule)
            case .signal:
                return
            }
        }
    }

    private func resume(_ schedule: inout PushSchedule) async {
        journal.write(.resume, .notice, "resumed")
        await replicator.resumed()
        schedule.requested(at: ContinuousClock.now)
    }

    /// One push, recorded.
    @discardableResult
    func push() async -> PushRecord {
        let record = await replicator.push(handOver: false)
        for entry in record.journalRecords() { journal.write(entry) }
        statusFile.save(record)
        onPush(record)
        return record
    }

    /// The last push before the end; a second signal ends the process at once.
    ///
    /// - Returns: `failed` if something is still owed.
    func finish(_ events: EventSource) async throws -> ExitCode {
        let (record, _) = try await push(events, until: ContinuousClock.now + stopLimit)
        return record.outcome.isSuccess ? .done : .failed
    }

    /// What signals asked for while a push was running.
    private struct Asked {
        var toStop = false
        var toResume = false
    }

    /// Pushes, and listens meanwhile: a push can be as long as the database is large.
    ///
    /// - Parameters:
    ///   - events: Where signals come from.
    ///   - deadline: When to give up; `nil` while nobody has asked for the end.
    /// - Returns: The record, and what was asked for.
    /// - Throws: `FileError` when the system refuses to wait.
    private func push(
        _ events: EventSource,
        until deadline: ContinuousClock.Instant?
    ) async throws -> (PushRecord, Asked) {
        async let pushing = {
            let record = await push()
            events.interrupt()
            return record
        }()
        var asked = Asked()
        var deadline = deadline
        while true {
            switch try await events.next(changes: false, until: deadline) {
            case .interrupted:
                return (await pushing, asked)
            case .changed:
                continue
            case .signal(SIGCONT):
                asked.toResume = true
            case .signal where deadline == nil:
                asked.toStop = true
                deadline = ContinuousClock.now + stopLimit
            case .signal:
                giveUp("a second signal")
            case .deadline:
                giveUp("the time limit")
            }
        }
    }

    /// Ends the process in the middle of a push.
    ///
    /// Nothing else can end it: it may be waiting for a disk. What is on disk is safe against a kill at any point, and so against this.
    private func giveUp(_ reason: String) -> Never {
        journal.write(
            .stop,
            .warning,
            "stopped before the last push had ended",
            [.reason: FieldValue(reason)]
        )
        _exit(ExitCode.failed.rawValue)
    }
}

extension PushRecord {
    fileprivate var scheduleResult: PushSchedule.Result {
        switch outcome {
        case .pushed, .inSync:
            isCommitPending ? .commitPending(shipped: files > 0) : .succeeded
        case .retryable: .retryable(after: retryAfter)
        case .unavailable: .unavailable
        }
    }
}
