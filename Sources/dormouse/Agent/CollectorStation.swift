import Collector
import DurableFiles
import SQLiteBridge
import Telemetry

/// Runs a collector, and opens it anew after each time in which it could not collect.
actor CollectorStation: Workload {
    /// Later than this by, and the process was suspended; then a live source has lost what came.
    static let oversleep = Duration.seconds(5)

    private let database: String
    private let streams: [StreamDefinition]
    private var flushEvery: Duration
    private var journal: Journal
    private var running: (collector: Collector, task: Task<Void, any Error>)?
    private var restedAt: ContinuousClock.Instant?
    private var isWanted = false

    init(
        database: String,
        streams: [StreamDefinition],
        flushEvery: Duration,
        journal: Journal
    ) {
        self.database = database
        self.streams = streams
        self.flushEvery = flushEvery
        self.journal = journal
    }

    var readings: [Progress.Reading] {
        running.map { [$0.collector.progress.reading] } ?? []
    }

    func start() async throws {
        isWanted = true
        guard running == nil else { return }
        let collector = try await open()
        if let restedAt { tell(missed: ContinuousClock.now - restedAt) }
        restedAt = nil
        let loop = CollectorLoop(
            collector: collector,
            clock: ThreadClock(),
            flushEvery: flushEvery,
            oversleep: Self.oversleep,
            onEvent: { [journal] in journal.write($0.journalRecord) }
        )
        let task = Task(executorPreference: MainThread.shared) { [weak self] in
            guard case .overslept(let gap) = try await loop.run() else { return }
            await self?.reopen(collector, missed: gap)
        }
        running = (collector, task)
    }

    func flush() async throws {
        guard let collector = running?.collector else { return }
        let report = try await collector.flush()
        if report.offered > 0 { journal.write(CollectorEvent.flushed(report).journalRecord) }
    }

    func rest() async throws {
        isWanted = false
        guard let (collector, task) = running else { return }
        running = nil
        restedAt = .now
        task.cancel()
        // It is closed whatever the last flush meets; its sources know what was not flushed.
        let flushed = await task.result
        try await collector.close()
        try flushed.get()
    }

    /// Takes another interval with the next start.
    func reconfigure(flushEvery: Duration, journal: Journal) async throws {
        self.journal = journal
        guard flushEvery != self.flushEvery else { return }
        self.flushEvery = flushEvery
        guard running != nil else { return }
        try await rest()
        restedAt = nil
        try await start()
    }

    private func open() async throws -> Collector {
        try await Collector.open(
            path: database,
            streams: streams,
            now: SampleTime(milliseconds: WallClock.now())
        )
    }

    /// After a suspension: sources count from when they are opened.
    private func reopen(_ collector: Collector, missed gap: Duration) async {
        guard running?.collector === collector else { return }
        running = nil
        tell(missed: gap)
        try? await collector.close()
        while isWanted, running == nil {
            do {
                try await start()
            } catch {
                journal.write(
                    .flush,
                    .error,
                    "the collector could not go on after a suspension and is tried again",
                    [.detail: FieldValue("\(error)")]
                )
                try? await ThreadClock().sleep(for: .seconds(5))
            }
        }
    }

    private func tell(missed gap: Duration) {
        guard gap >= .seconds(1) else { return }
        journal.write(
            .gap,
            .notice,
            "samples were not taken as they came; what the device banked is taken now",
            [.gapUsec: FieldValue(microseconds: gap)]
        )
    }
}
