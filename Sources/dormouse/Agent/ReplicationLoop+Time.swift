import CommandLineKit
import DurableFiles
import Glibc
import Lifecycle
import Replication
import Telemetry

// The clock, the watchdog, and what happens when time is over.
extension ReplicationLoop {
    var wantsChanges: Bool {
        guard running == nil, isEstablished else { return false }
        switch life.phase {
        case .foreground: return schedule.next(at: clock.now)?.forChange ?? false
        case .background, .launching, .resuming, .suspended, .terminating: return false
        }
    }

    func nextLook(_ now: Instant) -> Instant? {
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
    func look(at event: EventSource.Event, due: Duration?) async {
        // A manager continues what it ends, stopped or not.
        let wasContinued = event == .signal(SIGCONT) && !isEnding
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

    // MARK: Time limits

    /// How long after its time a job that does not end keeps a process that was told to end.
    private static let grace = Duration.milliseconds(250)

    func cutIfLate() async {
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
            let operation = replicator.progress.reading.operation ?? "\(running.job)"
            write(
                JournalRecord(
                    .phase,
                    .warning,
                    "the budget is over and something does not end",
                    [.operation: FieldValue(operation)]
                )
            )
            await send(requests.overdue())
        }
    }

    /// Ends the process in the middle of a push.
    ///
    /// Nothing else can end it: it may be waiting for a disk. What is on disk is safe against a kill at any point, and so against this.
    func giveUp(_ reason: String) -> Never {
        journal.write(
            .stop,
            .warning,
            "stopped before the last push had ended",
            [.reason: FieldValue(reason)]
        )
        _exit(ExitCode.failed.rawValue)
    }
}
