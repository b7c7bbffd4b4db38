/// Runs a collector: takes what is due, flushes on time, and once more at the end.
///
/// All waiting is on the clock that it is given. A process that was suspended finds everything
/// due at once and takes it in bounded portions; a wall clock that jumps changes nothing here.
public struct CollectorLoop<C: Clock>: Sendable where C.Duration == Duration {
    private let collector: Collector
    private let clock: C
    private let flushEvery: Duration
    private let oversleep: Duration?
    private let onEvent: @Sendable (CollectorEvent) async -> Void

    /// How a loop ended.
    public enum End: Hashable, Sendable {
        /// Every source has ended.
        case exhausted
        case cancelled
        /// The process did not run for that long; sources that count from when they were opened
        /// have to be opened again.
        case overslept(Duration)
    }

    /// Sets a collector going on a clock.
    ///
    /// - Parameters:
    ///   - collector: Just opened: what is due is counted from the start of `run`.
    ///   - clock: What is waited on.
    ///   - flushEvery: The longest that a row is buffered while the database can be written.
    ///   - oversleep: How late a wait may end before it counts as a suspension, which ends the
    ///     loop; `nil` takes what came due meanwhile, however much it is.
    ///   - onEvent: Called in order; the loop waits for it.
    public init(
        collector: Collector,
        clock: C,
        flushEvery: Duration = .seconds(30),
        oversleep: Duration? = nil,
        onEvent: @escaping @Sendable (CollectorEvent) async -> Void = { _ in }
    ) {
        self.collector = collector
        self.clock = clock
        self.flushEvery = flushEvery
        self.oversleep = oversleep
        self.onEvent = onEvent
    }

    /// Collects until every source has ended, until it is cancelled, or until it overslept.
    ///
    /// Each is a normal end, after a last flush.
    ///
    /// - Returns: Which.
    /// - Throws: What the last flush met; its rows are not durable.
    @discardableResult
    public func run() async throws -> End {
        let start = clock.now
        await collector.follow { [clock] in start.duration(to: clock.now) }
        var schedule = FlushSchedule(interval: flushEvery)
        var wasFull = false
        var expected = start
        while !Task.isCancelled {
            let now = clock.now
            if let oversleep, expected.duration(to: now) > oversleep {
                // What came due meanwhile is taken by sources that are opened anew.
                await collector.follow(nil)
                try await flushLast()
                return .overslept(expected.duration(to: now))
            }
            let report = await collector.pull(upTo: start.duration(to: clock.now))
            await tell(report)
            if report.isFull != wasFull {
                wasFull = report.isFull
                if wasFull { await onEvent(.bufferFull(rows: report.bufferedRows)) }
            }
            switch schedule.next(at: start.duration(to: clock.now), report) {
            case .stop: return .exhausted
            case .pull: break
            case .wait(let due):
                // Cancellation ends the wait, and the condition above ends the loop.
                expected = start.advanced(by: due)
                try? await clock.sleep(until: expected, tolerance: nil)
                continue
            case .flush:
                do {
                    let flushed = try await collector.flush()
                    schedule.flushed(at: start.duration(to: clock.now))
                    // Nothing is left where a flush on demand was quicker.
                    if flushed.offered > 0 { await onEvent(.flushed(flushed)) }
                } catch {
                    schedule.failed(at: start.duration(to: clock.now))
                    await onEvent(.flushFailed(error, bufferedRows: report.bufferedRows))
                }
            }
            expected = clock.now
        }
        try await flushLast()
        return .cancelled
    }

    private func flushLast() async throws {
        let last = try await collector.flush()
        if last.offered > 0 { await onEvent(.flushed(last)) }
    }

    private func tell(_ report: PullReport) async {
        for failure in report.failed {
            await onEvent(.sourceFailed(stream: failure.stream, failure.error))
        }
        for stream in report.ended { await onEvent(.sourceEnded(stream: stream)) }
    }
}
