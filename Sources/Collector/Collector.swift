public import DurableFiles
public import SQLiteBridge

/// Takes samples from the configured sources and writes them, flush by flush, in one transaction.
///
/// One actor, one thread, one connection. What a flush has acknowledged is in the database's WAL:
/// a killed process loses nothing of it. Rows, daily summaries and the positions of the sources
/// are written together, so a relaunch goes on exactly where the last flush ended.
///
/// With the default `synchronous = NORMAL` a power cut (not a kill) can take back the last
/// commits, whole and in order; the positions go back with them, and what the source still has is
/// taken again. Choose `.full` where the source forgets what it has handed over.
public actor Collector {
    /// How much is held, and how the database is written.
    public struct Options: Hashable, Sendable {
        /// When SQLite waits for the disk.
        public enum Synchronous: String, Hashable, Sendable {
            case normal = "NORMAL"
            case full = "FULL"
        }

        /// Rows that wait at most; then the sources are not asked any more.
        public var capacity: Int
        /// Rows that make a flush due before its time, and that one pull takes at most.
        public var flushRows: Int
        /// How long a flush waits for another writer.
        public var lockTimeout: Duration
        /// How long opening waits for another opener's migrations.
        public var openTimeout: Duration
        public var synchronous: Synchronous

        public init(
            capacity: Int = 16_384,
            flushRows: Int = 4_096,
            lockTimeout: Duration = .seconds(1),
            openTimeout: Duration = .seconds(30),
            synchronous: Synchronous = .normal
        ) {
            precondition((1...capacity).contains(flushRows))
            self.capacity = capacity
            self.flushRows = flushRows
            self.lockTimeout = lockTimeout
            self.openTimeout = openTimeout
            self.synchronous = synchronous
        }
    }

    nonisolated private let executor: SerialThreadExecutor
    nonisolated public var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// What the collector is doing, for a watchdog.
    nonisolated public let progress = Progress("collector")

    private let options: Options
    private var store: SampleStore?
    private var sources: [SourceQueue] = []
    private var buffer: SampleBuffer
    private var elapsed: (@Sendable () -> Duration)?
    /// What a flush found out about the sources, for the next pull to tell.
    private var untold = PullReport()

    /// Opens or makes the database, brings its schema forward and opens the sources.
    ///
    /// - Parameters:
    ///   - path: The database file; its directory must exist.
    ///   - streams: At least one.
    ///   - options: How much is held, and how the database is written.
    ///   - now: The wall clock, read by the caller.
    ///   - executor: The thread to run on.
    /// - Returns: A collector whose sources have just been opened: time is counted from here.
    /// - Throws: `CollectorError.streams`, `SchemaError`, `SQLiteError`, `RecordingError`,
    ///   `FileError`.
    public static func open(
        path: String,
        streams: [StreamDefinition],
        options: Options = Options(),
        now: SampleTime,
        executor: SerialThreadExecutor = SerialThreadExecutor()
    ) async throws -> Collector {
        let problems = StreamDefinition.problems(in: streams)
        guard problems.isEmpty else { throw CollectorError.streams(problems) }
        let collector = Collector(streams: streams, options: options, executor: executor)
        try await collector.open(path: path, streams: streams, now: now)
        return collector
    }

    private init(
        streams: [StreamDefinition],
        options: Options,
        executor: SerialThreadExecutor
    ) {
        self.options = options
        self.executor = executor
        buffer = SampleBuffer(streamCount: streams.count, capacity: options.capacity)
    }

    private func open(path: String, streams: [StreamDefinition], now: SampleTime) throws {
        let store = try SampleStore(path: path, streams: streams, options: options)
        sources = try zip(streams, store.positions()).map { stream, saved in
            let (source, origin) = try stream.source.open(
                columns: stream.columns,
                resuming: saved,
                at: now
            )
            return SourceQueue(stream: stream.name, source: source, origin: origin)
        }
        self.store = store
    }

    /// Closes the database; what was not flushed is lost, and its sources know.
    public func close() throws {
        let store = self.store
        self.store = nil
        sources = []
        elapsed = nil
        try store?.close()
    }

    // MARK: Taking

    /// Lets each flush take what is due by then, beside what was taken before.
    ///
    /// - Parameter elapsed: Time since the sources were opened; `nil` ends it.
    public func follow(_ elapsed: (@Sendable () -> Duration)?) {
        self.elapsed = elapsed
    }

    /// Rows that wait for a flush.
    public var bufferedRows: Int { buffer.count }

    /// Takes what is due from every source, in turn, and at most `flushRows` rows.
    ///
    /// - Parameter elapsed: Time since the sources were opened.
    /// - Returns: What there is to do next, and what happened to the sources.
    public func pull(upTo elapsed: Duration) -> PullReport {
        var report = untold
        untold = PullReport()
        // What makes a flush due; while flushes fail, another portion of that size.
        let missing = options.flushRows - buffer.count
        var left = min(missing > 0 ? missing : options.flushRows, buffer.room)
        var tookAny = true
        while left > 0, tookAny {
            tookAny = false
            for index in sources.indices where left > 0 {
                guard let item = take(from: index, dueAt: elapsed, &report) else { continue }
                buffer.append(item.sample, position: item.position, to: index)
                tookAny = true
                left -= 1
            }
        }
        report.bufferedRows = buffer.count
        report.isFull = buffer.room == 0
        report.wantsFlush = buffer.count >= options.flushRows
        report.nextDue = sources.compactMap(\.nextDue).min()
        return report
    }

    private func take(
        from index: Int,
        dueAt elapsed: Duration,
        _ report: inout PullReport
    ) -> SourcedSample? {
        do {
            let wasOpen = sources[index].isOpen
            let item = try sources[index].take(dueAt: elapsed)
            if wasOpen, !sources[index].isOpen { report.ended.append(sources[index].stream) }
            return item
        } catch {
            report.failed.append(PullReport.Failure(stream: sources[index].stream, error: error))
            return nil
        }
    }

    /// Takes rows that come from elsewhere, as many as there is room for.
    ///
    /// - Parameters:
    ///   - samples: Rows with one value a column.
    ///   - stream: A configured stream's name.
    /// - Returns: How many were taken, from the first on.
    /// - Throws: `CollectorError` for a row that does not fit the stream; then none is taken.
    public func append(_ samples: [Sample], to stream: String) throws -> Int {
        guard let store else { throw CollectorError.closed }
        guard let index = store.streams.firstIndex(where: { $0.definition.name == stream }) else {
            throw CollectorError.unknownStream(stream)
        }
        let definition = store.streams[index].definition
        let taken = try samples.prefix(buffer.room).map { try definition.checked($0) }
        for sample in taken { buffer.append(sample, position: nil, to: index) }
        return taken.count
    }

    // MARK: Flushing

    /// Writes what is buffered, and due, in one transaction; when it returns, a kill loses nothing of it.
    ///
    /// - Returns: What was written; nothing is begun for an empty buffer.
    /// - Throws: `SQLiteError`; the rows stay buffered, to be tried again. `CollectorError.closed`.
    public func flush() throws -> FlushReport {
        guard let store else { throw CollectorError.closed }
        if let elapsed, buffer.count < options.flushRows {
            let report = pull(upTo: elapsed())
            untold.ended = report.ended
            untold.failed = report.failed
        }
        guard buffer.count > 0 else { return FlushReport() }
        let start = ContinuousClock.now
        let written = try progress.during("flushing") {
            try store.write(buffer, origins: sources.map(\.origin))
        }
        buffer.removeAll()
        return FlushReport(
            offered: written.offered,
            inserted: written.inserted,
            pages: written.pages,
            duration: ContinuousClock.now - start,
            newest: written.newest
        )
    }
}

extension StreamDefinition {
    /// The sample as it is stored, or what is wrong with it.
    fileprivate func checked(_ sample: Sample) throws(CollectorError) -> Sample {
        guard Sample.isDeviceName(sample.device) else {
            throw .deviceName(stream: name, sample.device)
        }
        guard SampleTime.range.contains(sample.time) else {
            throw .timeOutOfRange(stream: name, sample.time)
        }
        guard sample.values.count == columns.count else {
            throw .valueCount(stream: name, expected: columns.count, found: sample.values.count)
        }
        var sample = sample
        for (index, column) in columns.enumerated() {
            switch (column.type, sample.values[index]) {
            case (.real, .integer(let value)): sample.values[index] = .real(Double(value))
            // SQLite stores NaN as NULL, and a sum with an infinity in it says nothing.
            case (.real, .real(let value)) where !value.isFinite:
                throw .notFinite(stream: name, column: column.name)
            case (.integer, .real): throw .notAnInteger(stream: name, column: column.name)
            default: break
            }
        }
        return sample
    }
}
