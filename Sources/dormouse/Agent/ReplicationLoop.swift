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
    let control: String?
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
    var schedule: PushSchedule
    /// In the background there is no interval, but little time.
    var window: PushSchedule?
    var running: Running?
    var isEstablished = false
    var establishAfter: Instant?
    var isWorkOver = false
    var hasPushedLast = false
    var code = ExitCode.done
    var isOverdueTold = false
    var watchdog: Watchdog?
    var ticks = TickClock(at: .now())
    var statusAt: Instant
    var isLowPower = false
    var isMetered = false
    /// A reload goes on beside a job, which may take hours.
    var isReloading = false
    var reloadsAgain = false
    let reloaded = Lock<ReloadReport?>(nil)

    /// A job that is being done.
    struct Running {
        var job: Job
        var task: Task<Void, Never>
        /// Set before the loop is interrupted.
        let report: Lock<JobReport?>
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

    var isEnding: Bool {
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

    // MARK: Events

    private func take(_ event: EventSource.Event) async throws {
        switch event {
        case .changed:
            schedule.changed(at: clock.now)
        case .deadline:
            break
        case .interrupted:
            if let report = reloaded.withLock({ $0.take() }) { await endReload(report) }
            guard let running, let report = running.report.withLock({ $0.take() }) else { return }
            self.running = nil
            defer { afterJob?() }
            try await ended(report, of: running)
        case .signal(SIGCONT):
            break
        case .signal(SIGUSR1):
            await handle(.enterBackground)
        case .signal(SIGUSR2):
            await handle(.enterForeground)
        case .signal(SIGHUP):
            await startReload()
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

    func postponeSnapshots() {
        replicator.postponeSnapshots(isLowPower || isMetered)
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
