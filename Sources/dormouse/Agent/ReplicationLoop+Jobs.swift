import CommandLineKit
import DurableFiles
import Lifecycle
import Replication
import SQLiteBridge
import Telemetry

// What is done, one at a time, and what comes of it.
extension ReplicationLoop {
    func startJob() async throws {
        guard running == nil, let job = nextJob() else { return }
        if job == .push { try await events.forgetChanges() }
        start(job)
    }

    /// The rules, phase by phase.
    private func nextJob() -> Job? {
        let now = clock.now
        switch life.phase {
        case .launching, .resuming:
            return establishing(now)
        case .foreground:
            guard isEstablished else { return establishing(now) }
            if requests.wantsCheckpoint { return .checkpoint }
            return schedule.next(at: now) == nil ? .push : nil
        case .background:
            guard isEstablished else { return establishing(now) }
            let isLate = life.cutoff.map { now >= $0 } ?? false
            if requests.wantsCheckpoint, !isLate { return .checkpoint }
            guard !isLate, let window else { return .rest }
            guard let wait = window.next(at: now) else { return .push }
            // Nothing is left to do, or not in this window.
            guard let until = wait.until, let cutoff = life.cutoff, until < cutoff else {
                return .rest
            }
            return nil
        case .suspended:
            return nil
        case .terminating(let until):
            guard isWorkOver else { return workload == nil ? endWork() : .rest }
            return hasPushedLast ? nil : lastPush(until: until, now: now)
        }
    }

    private func establishing(_ now: Instant) -> Job? {
        if let establishAfter, now < establishAfter { return nil }
        return .establish
    }

    private func endWork() -> Job? {
        isWorkOver = true
        return nextJob()
    }

    /// What was never opened owes nothing.
    private func lastPush(until: Instant, now: Instant) -> Job? {
        guard now < until else {
            hasPushedLast = true
            code = .failed
            journal.write(
                .stop,
                .warning,
                "stopped before the last push",
                [.reason: "the time to end was over"]
            )
            return nil
        }
        return .push
    }

    private func start(_ job: Job) {
        let worker = JobWorker(
            replicator: replicator,
            workload: workload,
            phase: life.phase,
            closes: settings.sharedContainer
        )
        let events = events
        let report = Lock<JobReport?>(nil)
        let task = Task(executorPreference: MainThread.shared) {
            let value = await worker.run(job)
            report.withLock { $0 = value }
            events.interrupt()
        }
        running = Running(job: job, task: task, report: report)
    }

    func ended(_ report: JobReport, of job: Running) async throws {
        for record in report.findings.journalRecords() { write(record) }
        switch report.result {
        case .established(.success):
            try await established()
        case .established(.failure(let error)):
            guard life.phase != .launching else { throw error }
            journal.write(
                .repair,
                .error,
                "custody could not be established after a suspension and is tried again",
                [.detail: FieldValue("\(error)")]
            )
            establishAfter = clock.now + .seconds(5)
        case .pushed(let record, let start):
            await pushed(record, start: start, isCut: job.isCut)
        case .checkpointed(let result):
            await send(requests.checkpointed(result))
        case .rested(let problems):
            for problem in problems {
                journal.write(
                    .flush,
                    .error,
                    "coming to rest met a problem",
                    [.detail: FieldValue(problem)]
                )
                if isEnding { code = .failed }
            }
            if isEnding {
                isWorkOver = true
            } else {
                await cameToRest()
            }
        }
    }

    private func established() async throws {
        let isFirst = life.phase == .launching
        isEstablished = true
        establishAfter = nil
        if isFirst { await StartChecks.warnAboutOpeners(replicator, journal) }
        if isFirst, let control {
            try DurableFiles.makeDirectories(Path.parent(of: control))
            try await events.listen(at: control)
        }
        await handle(.established)
        guard isFirst else { return }
        Notify.ready(sentence.text(at: clock.now))
    }

    private func pushed(_ record: PushRecord, start: Instant, isCut: Bool) async {
        var record = record
        if isCut, case .retryable(.cancelled, let detail) = record.outcome {
            record.outcome = .retryable(.windowExpired, detail: detail)
        }
        for entry in record.journalRecords() { write(entry) }
        statusFile.save(record)
        let now = clock.now
        sentence.lastPush = (record, now)
        let result = record.scheduleResult
        let jitter = Double.random(in: 0...1)
        schedule.pushed(result, start: start, now: now, jitter: jitter)
        window?.pushed(result, start: start, now: now, jitter: jitter)
        if isEnding, isWorkOver {
            hasPushedLast = true
            if !record.outcome.isSuccess { code = .failed }
        }
        showStatus()
        await send(requests.pushed(record))
        // Whoever asked while it was going on means another one.
        if requests.wantsPush { requestPush() }
    }

    private func cameToRest() async {
        isEstablished = false
        if settings.sharedContainer { checkLocks() }
        await handle(.atRest)
    }

    /// The promise of a process at rest in a shared container, looked at before it is given.
    private func checkLocks() {
        let directory = Path.parent(of: Path.canonical(replicator.database))
        guard let held = try? HeldLock.all(in: directory), !held.isEmpty else { return }
        journal.write(
            .lockGuard,
            .error,
            "a lock is held at rest, for which a system may kill the process",
            [.locks: FieldValue(held.map(\.description).joined(separator: ", "))]
        )
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
