import CommandLineKit
import DurableFiles
import Glibc
import Lifecycle
import Replication
import SQLiteBridge
import Telemetry
import Wire

/// Keeps a replicator going through the phases of a process: the shell around `Life`,
/// `PushSchedule`, `Watchdog` and `TickClock`.
///
/// It waits for one event at a time and runs one job at a time, so what happens while a push is
/// going on (a signal, a request, the end of a budget) is heard, and what follows from it waits for
/// the push or cuts it short.
final class ReplicationLoop {
    /// The signals that arrive as events.
    static let signals = [SIGTERM, SIGINT, SIGCONT, SIGUSR1, SIGUSR2, SIGHUP]

    typealias Instant = ContinuousClock.Instant

    /// What can change while the process lives.
    struct Settings: Sendable {
        /// At most one push in this time, in the foreground.
        var interval: Duration
        var budgets = Life.Budgets()
        /// At rest no lock may be held.
        var sharedContainer = false
    }

    let replicator: Replicator
    let events: EventSource
    let statusFile: StatusFile
    let workload: (any Workload)?
    /// Where requests are taken, from the moment on at which the database is known to be one.
    private let control: String?
    /// How often the process looks at the clock, to see a suspension; `nil` sleeps on.
    let tick: Duration?
    var settings: Settings
    /// Without the phase, which each record gets.
    var journal: Journal
    /// Reads the configuration again; `nil` where there is none.
    let reload: (@Sendable () async -> ReloadReport)?
    /// Looks after each job whether the transfer service must be started.
    let afterJob: (@Sendable () -> Void)?

    let clock = ContinuousClock()
    var life: Life
    var sentence = StatusSentence()
    var requests = PendingRequests()
    private var schedule: PushSchedule
    /// In the background there is no interval, but little time.
    private var window: PushSchedule?
    private var running: Running?
    private var isEstablished = false
    private var establishAfter: Instant?
    private var isWorkOver = false
    private var hasPushedLast = false
    private var code = ExitCode.done
    private var isOverdueTold = false
    private var watchdog: Watchdog?
    private var ticks = TickClock(at: .now())
    private var statusAt: Instant
    var isLowPower = false
    var isMetered = false

    private struct Running {
        var job: Job
        var task: Task<JobResult, Never>
        var isCut = false
    }

    init(
        replicator: Replicator,
        events: EventSource,
        journal: Journal,
        statusFile: StatusFile,
        settings: Settings,
        pushOnStart: Bool,
        workload: (any Workload)? = nil,
        control: String? = nil,
        tick: Duration? = nil,
        reload: (@Sendable () async -> ReloadReport)? = nil,
        afterJob: (@Sendable () -> Void)? = nil
    ) {
        self.replicator = replicator
        self.events = events
        self.journal = journal
        self.statusFile = statusFile
        self.settings = settings
        self.workload = workload
        self.control = control
        self.tick = tick
        self.reload = reload
        self.afterJob = afterJob
        life = Life(settings.budgets)
        let now = clock.now
        schedule = PushSchedule(interval: settings.interval, now: now)
        if !pushOnStart {
            // What is there already waits for a change, as after a push.
            schedule.pushed(.succeeded, start: now, now: now, jitter: 0)
        }
        statusAt = now
        if let timeout = Notify.watchdogInterval { watchdog = Watchdog(timeout: timeout, now: now) }
    }

    private var isEnding: Bool {
        if case .terminating = life.phase { true } else { false }
    }

    /// Runs until it is asked to end, and a last push after that.
    ///
    /// - Returns: `failed` if something is still owed.
    /// - Throws: What kept custody from being established at the start.
    func run() async throws -> ExitCode {
        while true {
            try await startJob()
            if running == nil, isEnding, hasPushedLast { return code }
            let before = clock.now
            let planned = nextLook(before)
            let event = try await events.next(changes: wantsChanges, until: planned)
            await look(at: event, due: planned.map { $0 - before })
            try await take(event)
            await cutIfLate()
        }
    }

    // MARK: Jobs

    private func startJob() async throws {
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
        let task = Task(executorPreference: MainThread.shared) { () -> JobResult in
            let result = await worker.run(job)
            events.interrupt()
            return result
        }
        running = Running(job: job, task: task)
    }

    private func ended(_ result: JobResult, of job: Running) async throws {
        switch result {
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

    // MARK: Events

    private var wantsChanges: Bool {
        guard running == nil, isEstablished else { return false }
        switch life.phase {
        case .foreground: return schedule.next(at: clock.now)?.forChange ?? false
        case .background, .launching, .resuming, .suspended, .terminating: return false
        }
    }

    private func nextLook(_ now: Instant) -> Instant? {
        var times: [Instant] = []
        switch life.phase {
        case .foreground where running == nil && isEstablished:
            if let until = schedule.next(at: now)?.until { times.append(until) }
        case .background where running == nil && isEstablished:
            if let until = window?.next(at: now)?.until { times.append(until) }
        default: break
        }
        if running == nil, !isEstablished, let establishAfter { times.append(establishAfter) }
        if let running {
            // A cut that does not help is waited for until the deadline, and a moment more.
            if let cutoff = life.cutoff, !running.isCut { times.append(cutoff) }
            if let deadline = life.phase.deadline, !isOverdueTold { times.append(deadline) }
            if case .terminating(let until) = life.phase { times.append(until + Self.grace) }
        } else if let cutoff = life.cutoff {
            times.append(cutoff)
        }
        if let watchdog { times.append(watchdog.next(after: now)) }
        if let tick, life.phase != .suspended || watchdog != nil { times.append(now + tick) }
        if tick == nil, Notify.isManaged, isTimed { times.append(now + .seconds(1)) }
        return times.min()
    }

    /// The manager waits for the end of a start or a stop, and is told that it goes on.
    private var isTimed: Bool {
        switch life.phase {
        case .launching, .terminating: true
        case .foreground, .background, .suspended, .resuming: false
        }
    }

    /// Every wake-up is a tick.
    private func look(at event: EventSource.Event, due: Duration?) async {
        let wasContinued = event == .signal(SIGCONT)
        let found = ticks.tick(at: .now(), due: due, wasContinued: wasContinued)
        let now = clock.now
        if let found {
            // Before anything else: nobody could get on while nobody ran.
            watchdog?.resumed(at: now)
            if watchdog != nil { Notify.watchdog() }
            await woke(found)
        } else {
            await ping(now)
        }
        if isTimed, Notify.isManaged { Notify.extendTimeout(by: .seconds(15)) }
        let every: Duration = life.phase.deadline == nil ? .seconds(10) : .seconds(1)
        if Notify.isManaged, now - statusAt >= every { showStatus() }
    }

    private func ping(_ now: Instant) async {
        guard watchdog != nil else { return }
        let readings = await (workload?.readings ?? []) + [replicator.progress.reading]
        switch watchdog?.judge(readings, at: now) {
        case .ping:
            Notify.watchdog()
            if !sentence.stuck.isEmpty {
                sentence.stuck = []
                showStatus()
            }
        case .stuck(let stuck):
            for stuck in watchdog?.news(of: stuck) ?? [] {
                journal.write(
                    .watchdog,
                    .error,
                    "an actor does not get on; the watchdog is not told that all is well",
                    [
                        .actor: FieldValue(stuck.actor),
                        .operation: FieldValue(stuck.operation),
                        .durationUsec: FieldValue(microseconds: now - stuck.since),
                    ]
                )
            }
            sentence.stuck = stuck
            showStatus()
        case .wait, nil: break
        }
    }

    private func woke(_ suspension: Suspension) async {
        var record = JournalRecord(
            .resume,
            .notice,
            "resumed",
            [.gapUsec: FieldValue(microseconds: suspension.gap)]
        )
        if suspension.slept > .zero {
            record[.sleptUsec] = FieldValue(microseconds: suspension.slept)
        }
        write(record)
        isEstablished = false
        await handle(.woke)
        schedule.requested(at: clock.now)
    }

    private func take(_ event: EventSource.Event) async throws {
        switch event {
        case .changed:
            schedule.changed(at: clock.now)
        case .deadline:
            break
        case .interrupted:
            guard let running else { return }
            self.running = nil
            defer { afterJob?() }
            // It was the last thing that the task did.
            try await ended(await running.task.value, of: running)
        case .signal(SIGCONT):
            break
        case .signal(SIGUSR1):
            await handle(.enterBackground)
        case .signal(SIGUSR2):
            await handle(.enterForeground)
        case .signal(SIGHUP):
            _ = await readConfiguration()
        case .signal:
            if case .terminating(let until) = life.phase, until <= clock.now, running != nil {
                giveUp("a third signal")
            }
            await handle(.terminate)
        case .asked(let line, by: let peer):
            await answer(line, to: peer)
        }
    }

    /// Takes an event of the process's life, and does what entering a phase brings with it.
    func handle(_ event: Life.Event) async {
        let now = clock.now
        let before = life.phase
        guard life.handle(event, at: now) else { return }
        sentence.phase = life.phase
        isOverdueTold = false
        switch life.phase {
        case .foreground:
            window = nil
            // What waited in the background is not waited for any longer.
            if before != .launching { schedule.requested(at: now) }
        case .background:
            window = PushSchedule(interval: .milliseconds(500), retryCap: .seconds(5), now: now)
        case .launching, .suspended, .resuming: break
        case .terminating: Notify.stopping("last flush and push")
        }
        journal.write(enteredRecord(now))
        showStatus()
        await send(requests.entered(life.phase))
    }

    private func enteredRecord(_ now: Instant) -> JournalRecord {
        var record = JournalRecord(
            .phase,
            .info,
            "entered a phase",
            [.phase: FieldValue(life.phase.name)]
        )
        if let deadline = life.phase.deadline {
            record[.budgetUsec] = FieldValue(microseconds: max(deadline - now, .zero))
        }
        return record
    }

    // MARK: Time limits

    /// How long after its time a job that does not end keeps a process that was told to end.
    private static let grace = Duration.milliseconds(250)

    private func cutIfLate() async {
        let now = clock.now
        guard let running else { return }
        if let cutoff = life.cutoff, now >= cutoff, !running.isCut {
            self.running?.isCut = true
            running.task.cancel()
        }
        guard let deadline = life.phase.deadline, now >= deadline else { return }
        if case .terminating = life.phase {
            if now >= deadline + Self.grace { giveUp("the time limit") }
        } else if !isOverdueTold {
            isOverdueTold = true
            journal.write(
                .phase,
                .warning,
                "the budget is over and something does not end",
                [.operation: FieldValue(replicator.progress.reading.operation ?? "\(running.job)")]
            )
            await send(requests.overdue())
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

    // MARK: Telling

    func write(_ record: JournalRecord) {
        journal.with([.phase: FieldValue(life.phase.name)]).write(record)
    }

    func showStatus() {
        statusAt = clock.now
        guard Notify.isManaged else { return }
        Notify.status(sentence.text(at: statusAt))
    }

    // MARK: What requests ask for

    var isPushing: Bool { running?.job == .push }

    func requestPush() {
        let now = clock.now
        schedule.requested(at: now)
        window?.requested(at: now)
    }

    func postponeSnapshots() async {
        await replicator.postponeSnapshots(isLowPower || isMetered)
        // What waited for this goes on.
        if !isLowPower, !isMetered { requestPush() }
    }

    func apply(_ settings: Settings) {
        if settings.interval != self.settings.interval {
            let now = clock.now
            schedule = PushSchedule(interval: settings.interval, now: now)
        }
        self.settings = settings
        life.budgets = settings.budgets
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
