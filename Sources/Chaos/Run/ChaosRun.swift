import Bucket
import Configuration
import DurableFiles
import Glibc

/// One run of a scenario, from an empty directory to a verdict.
public actor ChaosRun {
    let scenario: Scenario
    let plan: Plan
    let pace: Scenario.Pace
    let options: ChaosOptions
    let bench: Bench
    let book: RecordBook
    let agent: any AgentHandle
    let meddler: Meddler
    let config: AgentConfig
    var story: Story
    var phase = Phase.dead
    var phaseBegan: Duration = .zero
    /// Rows that were committed by others than the agent.
    var foreignRows: Int64 = 0
    /// Ends that the bench brought about.
    var asked = 0
    /// Ends in a row that nobody asked for.
    var failedLaunches = 0
    /// States that go on until something else.
    var open: [Story.Lane: (label: String, from: Duration)] = [:]
    var flapping: Task<Void, any Error>?
    /// Of a fault that strikes so many requests and no more.
    var counted: FaultCounter?

    enum Phase: String {
        case foreground, background, suspended, dead
    }

    /// Makes everything ready; nothing is started yet.
    ///
    /// - Parameters:
    ///   - scenario: What is to happen.
    ///   - directory: Is there and empty; everything is left in it.
    ///   - options: How.
    /// - Throws: `ChaosError` when the scenario cannot be run here.
    public init(_ scenario: Scenario, in directory: String, _ options: ChaosOptions) throws {
        self.scenario = scenario
        self.options = options
        let plan = Plan(scenario, seed: options.seed, isFull: options.isFull)
        let pace = options.isFull ? scenario.fullPace : scenario.pace
        self.plan = plan
        self.pace = pace
        let bench = try Bench(
            directory,
            plan,
            room: Self.room(scenario, plan, pace),
            unit: options.unit
        )
        self.bench = bench
        book = RecordBook(start: .now)
        if let unit = options.unit {
            try Self.refuseWhatUnitsCannot(plan, unit)
            config = unit.config
            agent = UnitAgent(unit.name)
        } else {
            let config = try Self.config(scenario, pace, bench)
            self.config = config
            let file = Path.join(directory, "agent.yml")
            let yaml = try DurableFile(file)
            try yaml.write(config.yaml)
            try yaml.publish()
            agent = ChildAgent(
                ["agent", "--config", file],
                environment: [
                    "DORMOUSE_CLOCK_OFFSET_FILE": bench.clockFile,
                    "DORMOUSE_SLOW_FILE": bench.slowFile(.device),
                ]
            )
        }
        meddler = Meddler(database: config.database)
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        story = Story(
            name: scenario.name,
            about: scenario.about,
            seed: plan.seed,
            pace: pace,
            began: Int64(now.tv_sec) * 1_000 + Int64(now.tv_nsec) / 1_000_000
        )
        story.isFull = options.isFull
    }

    /// Runs it.
    ///
    /// - Returns: What happened and whether it was as expected.
    /// - Throws: `ChaosError` and what starting, comparing and restoring throw.
    public func run() async throws -> ChaosReport {
        Orphans.dieWithUs()
        do {
            let closing = try await live()
            await bench.end()
            await agent.finish()
            story.records = book.records
            return ChaosReport(
                story: story,
                closing: closing,
                verdict: Verdict(
                    story,
                    closing,
                    expectations: scenario.expectations(isFull: options.isFull)
                )
            )
        } catch {
            try? await agent.send(SIGCONT)
            if options.unit == nil { try? await agent.send(SIGKILL) }
            await bench.end()
            await agent.finish()
            throw error
        }
    }

    private func live() async throws -> Closing {
        if options.unit == nil {
            foreignRows += try await meddler.create(content: pace.real(scenario.content))
            try await bench.startSink()
        }
        let sampler = sampler()
        defer { sampler.cancel() }
        try await launch()
        for item in plan.items { try await perform(item) }
        try await comeToRest()
        let closing = try await closing()
        story.wal = await sampler.finished()
        story.length = book.now
        return closing
    }

    // MARK: Facts of the set-up

    /// The agent's settings with its times and sizes at the pace, none below what it takes.
    private static func config(
        _ scenario: Scenario,
        _ pace: Scenario.Pace,
        _ bench: Bench
    ) throws -> AgentConfig {
        var config = scenario.agent
        config.database = bench.database
        let port = bench.proxy?.port ?? 0
        config.destination = try BucketAddress(parsing: "http://127.0.0.1:\(port)/db/health")
        config.push.interval = max(.milliseconds(100), pace.real(config.push.interval))
        config.collector.flushInterval = max(
            .milliseconds(100),
            pace.real(config.collector.flushInterval)
        )
        config.collector.speed = min(1_000_000, max(0.001, config.collector.speed * pace.speed))
        config.lifecycle.backgroundBudget = max(
            .seconds(1),
            pace.real(config.lifecycle.backgroundBudget)
        )
        config.lifecycle.extensionTime = pace.real(config.lifecycle.extensionTime)
        config.backlog.budget = max(1 << 20, pace.real(config.backlog.budget))
        config.backlog.limit = max(1 << 20, pace.real(config.backlog.limit))
        config.http.connectTimeout = max(.seconds(1), pace.real(config.http.connectTimeout))
        config.http.idleTimeout = max(.seconds(1), pace.real(config.http.idleTimeout))
        config.log.level = .debug
        config.log.format = .logfmt
        return config
    }

    /// Enough for everything that the plan writes, several times over.
    private static func room(_ scenario: Scenario, _ plan: Plan, _ pace: Scenario.Pace) -> Int64 {
        let written = plan.items.reduce(pace.real(scenario.content)) { sum, item in
            if case .write(let bytes, _) = item.action { sum + pace.real(bytes) } else { sum }
        }
        return 64 << 20 + 4 * written
    }

    private static func refuseWhatUnitsCannot(
        _ plan: Plan,
        _ unit: ChaosOptions.Unit
    ) throws(ChaosError) {
        for item in plan.items {
            switch item.action {
            case .network where unit.proxy == nil, .proxy where unit.proxy == nil:
                throw ChaosError("\(item.action.label): takes a proxy before the unit's sink")
            case .disk, .sink, .clock:
                throw ChaosError("\(item.action.label): is for an agent that the bench starts")
            default: break
            }
        }
    }

    // MARK: Telling

    func tell(_ line: String) {
        let seconds = pace.told(book.now)
        options.progress("\(TimeText.clock(seconds))  \(line)")
    }

    func mark(_ kind: Story.Mark.Kind, _ label: String) {
        story.marks.append(Story.Mark(kind, label, at: book.now))
        tell(label)
    }

    func enter(_ next: Phase) {
        let now = book.now
        if phaseBegan < now, phase != .dead || phaseBegan > .zero {
            story.spans.append(Story.Span(.phase, phase.rawValue, from: phaseBegan, to: now))
        }
        phase = next
        phaseBegan = now
    }

    /// Lets time of the scenario pass.
    func pass(_ duration: Duration) async throws {
        if duration > .zero { try await Task.sleep(for: pace.real(duration)) }
    }
}
