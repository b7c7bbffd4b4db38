import Configuration
import DurableFiles
import Glibc
import SQLiteBridge

extension ChaosRun {
    /// Makes one item of the plan happen, and returns when it is over.
    func perform(_ item: Plan.Item) async throws {
        try Task.checkCancellation()
        switch item.action {
        case .wait: try await pass(item.lasts)
        case .foreground:
            try await stayAlive()
            try await goToForeground()
            try await pass(item.lasts)
        case .background:
            try await stayAlive()
            try await goToBackground()
            try await pass(item.lasts)
        case .suspend:
            try await stayAlive()
            try await suspend(item.lasts)
        case .end(let death, let moment):
            try await stayAlive()
            try await end(death, moment, dead: item.lasts)
        case .network(let network): try await set(network, item)
        case .proxy(let fault, let times): try await set(fault, times, item)
        case .disk(let disk, let state):
            try await trouble(item) {
                try await bench.set(disk, state, pace)
            } over: {
                try await bench.set(disk, .ok, pace)
            }
        case .clock(let jump):
            try await bench.jumpClock(by: jump)
            mark(.clock, item.action.label)
        case .checkpoint(let mode, let times):
            mark(.foreign, item.action.label)
            try await meddler.checkpoint(mode, times: times)
            // The end counts as well: what it did lies somewhere between.
            story.marks.append(Story.Mark(.foreign, item.action.label + ", done", at: book.now))
        case .sink(let death):
            try await trouble(item) {
                await bench.stopSink(death)
            } over: {
                try await bench.startSink()
            }
        case .busy:
            try await trouble(item) {
                try await meddler.holdLock()
            } over: {
                await meddler.releaseLock()
            }
        case .write(let bytes, let pool):
            mark(pool == .automatic ? .foreign : .write, item.action.label)
            do {
                foreignRows += try await meddler.write(pace.real(bytes), pool)
            } catch {
                // A full disk is allowed to refuse; what was not committed is not counted.
                tell("not written: \(error)")
            }
            if pool == .automatic {
                let label = item.action.label + ", closed"
                story.marks.append(Story.Mark(.foreign, label, at: book.now))
            }
        case .control(let request):
            try await stayAlive()
            mark(.control, "\(item.action.label): \(await control(request))")
        case .settle:
            try await stayAlive()
            tell("waiting until nothing is owed")
            try await settle(within: pace.real(item.lasts))
        }
    }

    /// Something that is broken for as long as an item lasts; without an end, until it is healed.
    private func trouble(
        _ item: Plan.Item,
        begin: () async throws -> Void,
        over: () async throws -> Void
    ) async throws {
        let from = book.now
        tell(item.action.label)
        try await begin()
        let isEnd: Bool =
            switch item.action {
            case .disk(_, .ok): true
            case .disk: item.lasts > .zero
            default: true
            }
        try await pass(item.lasts)
        guard isEnd else {
            open[.trouble] = (item.action.label, from)
            return
        }
        try await over()
        closeSpan(.trouble)
        if case .disk(_, .ok) = item.action { return }
        story.spans.append(Story.Span(.trouble, item.action.label, from: from, to: book.now))
    }

    // MARK: Lives

    func launch() async throws {
        book.launched()
        mark(.launch, "launched (\(book.launches))")
        enter(.foreground)
        try await agent.launch(book)
    }

    /// Launches it again if it ended without having been asked to, as a service manager would.
    ///
    /// - Throws: `ChaosError` for one that ends by itself each time that it is looked for.
    func stayAlive() async throws {
        guard book.ends == book.launches else {
            failedLaunches = 0
            return
        }
        if book.ends > asked {
            failedLaunches += 1
            if failedLaunches == 20 {
                throw ChaosError("the agent ends again and again by itself: \(lastWords)")
            }
            asked = book.ends
            mark(.exit, "it ended by itself: \(lastWords)")
            cutWindow()
            enter(.dead)
            // A service manager waits a moment as well.
            try await Task.sleep(for: .milliseconds(100))
        }
        try await launch()
    }

    private var lastWords: String {
        let record = book.records.last { $0["level"] == "error" } ?? book.records.last
        return record?["detail"] ?? record?["msg"] ?? "without a word"
    }

    /// Signals have their meaning only once it listens.
    func hasStarted() async {
        await book.wait(within: .seconds(20)) { state in
            state.ends == state.launches
                || state.records[state.life...].contains { $0.kind == "start" }
        }
    }

    private func end(_ death: Action.Death, _ moment: Action.Moment, dead: Duration) async throws {
        if moment == .uploading, let proxy = bench.proxy {
            let alarm = Task {
                try await Task.sleep(for: .seconds(20))
                proxy.forgetWatchers()
            }
            await proxy.uploadBegins()
            alarm.cancel()
        }
        mark(.death, Action.end(death, when: moment).label)
        asked = book.launches
        switch death {
        case .kill: try await agent.send(SIGKILL)
        case .memoryKill: try await agent.killForMemory()
        case .terminate:
            await hasStarted()
            try await agent.send(SIGTERM)
        }
        cutWindow()
        try await agent.settleEnd(book)
        enter(.dead)
        try await pass(dead)
        try await launch()
    }

    // MARK: Phases

    private func goToForeground() async throws {
        guard phase != .foreground else { return }
        cutWindow()
        await hasStarted()
        try await agent.send(SIGUSR2)
        enter(.foreground)
        tell("foreground")
    }

    private func goToBackground() async throws {
        guard phase != .background else { return }
        await hasStarted()
        openWindow()
        try await agent.send(SIGUSR1)
        enter(.background)
        tell("background")
    }

    /// Stops it: in the background once it said that it may be stopped, else at once.
    private func suspend(_ length: Duration) async throws {
        let before = phase
        if before == .background { await acknowledge() }
        if scenario.isContainerShared, try await punishLocks() {
            enter(.dead)
            try await pass(length)
            return try await launch()
        }
        story.suspensions += 1
        enter(.suspended)
        tell("suspended")
        try await agent.send(SIGSTOP)
        try await pass(length)
        if before == .background { openWindow() }
        try await agent.send(SIGCONT)
        enter(before)
        tell("resumed")
    }

    /// Does what the system does to a process that would be suspended with a lock in its hand.
    ///
    /// - Returns: Whether it was killed.
    private func punishLocks() async throws -> Bool {
        guard let processID = try await agent.processID() else { return false }
        let held = try ObservedLocks.of(processID, in: Path.parent(of: config.database))
        guard !held.isEmpty else { return false }
        story.locksHeld += held
        mark(.lock, "killed: suspended with a \(held.map(\.description).joined(separator: ", "))")
        asked = book.launches
        try await agent.send(SIGKILL)
        try await agent.settleEnd(book)
        return true
    }

    private func openWindow() {
        story.windows.append(Story.Window(from: book.now, budget: backgroundBudget))
    }

    /// Waits until it said that it may be stopped, and a little longer than it may take.
    private func acknowledge() async {
        guard let window = story.windows.indices.last else { return }
        let from = story.windows[window].from
        let answered: @Sendable (RecordBook.State) -> AgentRecord? = { state in
            state.records[state.life...].first {
                $0.at >= from && $0.kind == "phase" && $0["phase"] == "suspended"
            }
        }
        let left = story.windows[window].budget + .seconds(2) - (book.now - from)
        await book.wait(within: max(left, .milliseconds(1))) { state in
            answered(state) != nil || state.ends == state.launches
        }
        let answer = book.look(answered)?.at
        story.windows[window].acknowledged = answer
        // Its budget begins when it enters the background, which a launch or a resume precedes.
        let entered = book.look { state in
            state.records[state.life...].last { record in
                record.at >= from && record.at <= answer ?? record.at
                    && record.kind == "phase" && record["phase"] == "background"
            }
        }
        if let entered { story.windows[window].from = entered.at }
    }

    /// The present window ends otherwise than by a suspension.
    private func cutWindow() {
        guard phase == .background, let window = story.windows.indices.last else { return }
        story.windows[window].wasCutShort = true
    }

    private var backgroundBudget: Duration { config.lifecycle.backgroundBudget }
}
