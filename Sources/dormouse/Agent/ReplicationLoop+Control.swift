import CommandLineKit
import DurableFiles
import Glibc
import Lifecycle
import Replication
import Telemetry
import Wire

/// What came of reading a configuration again.
struct ReloadReport: Sendable {
    /// Why nothing was changed.
    var error: String?
    var settings: ReplicationLoop.Settings?
    var journal: Journal?
    /// Settings that changed and are not in force before the next start.
    var needRestart: [String] = []

    var journalRecord: JournalRecord {
        if let error {
            return JournalRecord(
                .reload,
                .error,
                "the configuration was not reloaded; the one before stays in force",
                [.detail: FieldValue(error)]
            )
        }
        var record = JournalRecord(
            .reload,
            needRestart.isEmpty ? .notice : .warning,
            "the configuration was reloaded"
        )
        if !needRestart.isEmpty {
            let keys = needRestart.joined(separator: ", ")
            record[.detail] = FieldValue("not before a restart: \(keys)")
        }
        return record
    }
}

extension ReplicationLoop {
    /// Answers a line that came over the control socket, now or when it is done.
    func answer(_ line: String, to peer: UInt64) async {
        let request: ControlRequest
        do throws(ControlRequest.Unknown) {
            request = try ControlRequest(line)
        } catch {
            return await reply(peer, ok: false, error: "\(error)")
        }
        switch request {
        case .status:
            await events.answer(peer, status)
        case .push:
            if case .suspended = life.phase {
                return await reply(peer, ok: false, error: PendingRequests.atRest)
            }
            requests.addPush(peer, isPushing: isPushing)
            requestPush()
        case .checkpoint:
            switch life.phase {
            case .suspended: await reply(peer, ok: false, error: PendingRequests.atRest)
            case .terminating: await reply(peer, ok: false, error: "it is about to end")
            case .launching, .foreground, .background, .resuming: requests.addCheckpoint(peer)
            }
        case .foreground:
            if case .foreground = life.phase { return await reply(peer, ok: true) }
            requests.addForeground(peer)
            await handle(.enterForeground)
        case .background:
            requests.addBackground(peer)
            if case .suspended = life.phase {
                // It is what was asked for; another window is asked for by SIGUSR1.
                return await send(requests.entered(.suspended))
            }
            await handle(.enterBackground)
        case .extend:
            await extend(peer)
        case .lowPower(let isOn):
            isLowPower = isOn
            postponeSnapshots()
            await reply(peer, ok: true)
        case .metered(let isOn):
            isMetered = isOn
            postponeSnapshots()
            await reply(peer, ok: true)
        case .reload:
            requests.addReload(peer, isReloading: isReloading)
            await startReload()
        }
    }

    private func extend(_ peer: UInt64) async {
        do throws(Life.RefusedExtension) {
            let added = try life.extend(at: clock.now)
            sentence.phase = life.phase
            write(
                JournalRecord(
                    .extension,
                    .info,
                    "more time in the background was granted",
                    [.budgetUsec: FieldValue(microseconds: added)]
                )
            )
            await reply(
                peer,
                ok: true,
                [.init("added_usec", .number(Int64(added / .microseconds(1))))]
            )
        } catch {
            write(
                JournalRecord(
                    .extension,
                    .notice,
                    "more time in the background was refused",
                    [.reason: FieldValue("\(error)")]
                )
            )
            await reply(peer, ok: false, error: "\(error)")
        }
    }

    private func reply(
        _ peer: UInt64,
        ok: Bool,
        error: String? = nil,
        _ facts: [JSONValue.Member] = []
    ) async {
        let phase = JSONValue.Member("phase", .string(life.phase.name))
        await events.answer(peer, ControlAnswer.line(ok: ok, error: error, [phase] + facts))
    }

    func send(_ answers: [PendingRequests.Answer]) async {
        for answer in answers { await events.answer(answer.peer, answer.line) }
    }

    private var status: String {
        let now = clock.now
        return ControlAnswer.line(
            ok: true,
            [
                .init("phase", .string(life.phase.name)),
                .init(
                    "left_usec",
                    .optional(life.phase.deadline) {
                        .number(Int64(max($0 - now, .zero) / .microseconds(1)))
                    }
                ),
                .init("sentence", .string(sentence.text(at: now))),
                .init("process_id", .number(getpid())),
                .init("version", .string(Program.versionNumber)),
                .init("pushing", .bool(isPushing)),
                .init("low_power", .bool(isLowPower)),
                .init("metered", .bool(isMetered)),
                .init("last_push", .optional(sentence.lastPush) { $0.record.json }),
            ]
        )
    }

    // MARK: Reload

    /// Reads the configuration again, beside what else is being done.
    ///
    /// Who asks while one goes on, whose file may have been read already, gets another.
    func startReload() async {
        if isReloading {
            reloadsAgain = true
            return
        }
        guard let reload else {
            return await endReload(
                ReloadReport(error: "it was started without a configuration file")
            )
        }
        isReloading = true
        Notify.reloading()
        let (events, reloaded) = (events, reloaded)
        Task(executorPreference: MainThread.shared) {
            let report = await reload()
            reloaded.withLock { $0 = report }
            events.interrupt()
        }
    }

    /// Tells the manager, the journal and who asked what came of it.
    func endReload(_ report: ReloadReport) async {
        isReloading = false
        if let settings = report.settings {
            apply(settings)
            // The replicator takes them over with a push.
            requestPush()
        }
        if let journal = report.journal { self.journal = journal }
        write(report.journalRecord)
        Notify.ready(sentence.text(at: clock.now))
        await send(requests.reloaded(report, in: life.phase))
        if reloadsAgain {
            reloadsAgain = false
            await startReload()
        }
    }
}
