/// Where samples come from, one after the other, for as long as there are any.
///
/// A source is asked, it never calls: whoever asks decides how much is in memory. It knows no
/// clock either; it says when a sample is due and leaves the waiting to the caller.
public protocol SampleSource {
    /// The next sample; `nil` when the source has ended for good.
    ///
    /// - Throws: What the source met; it is not asked again.
    mutating func next() throws -> SourcedSample?
}

/// A sample with what its source knows about it.
public struct SourcedSample: Hashable, Sendable {
    public var sample: Sample
    /// When it is there to be had, counted from when the source was opened.
    ///
    /// Zero or less: at once. Ascending within a source.
    public var dueAt: Duration
    /// Where to go on once this sample is durable.
    ///
    /// Nothing after it is skipped; a few samples before it may be offered again.
    public var position: Int64

    public init(sample: Sample, dueAt: Duration, position: Int64) {
        self.sample = sample
        self.dueAt = dueAt
        self.position = position
    }
}

/// How far a source was drained, as the database knows it.
///
/// It is written in the transaction that writes the rows, so the two never disagree.
public struct SourceState: Hashable, Sendable {
    /// Which source the position belongs to; another one starts at its beginning.
    public var source: String
    /// `SourcedSample.position` of the last durable sample.
    public var position: Int64
    /// The time of the source's own zero, where it counts from one.
    public var origin: SampleTime

    public init(source: String, position: Int64, origin: SampleTime) {
        self.source = source
        self.position = position
        self.origin = origin
    }
}

/// A source by configuration.
public indirect enum SourceDefinition: Hashable, Sendable {
    /// The simulated strap, live: it starts now, and what happened while nobody listened is lost.
    case strap(StrapDefinition)
    /// A recorded CSV file.
    case recording(RecordingDefinition)
    /// Banked history first, at a multiple of real time; where the source is live, it goes on so.
    case backfill(SourceDefinition, BackfillDefinition)
}

extension SourceDefinition {
    /// Which source this is, stable across launches; how fast it is drained is no part of it.
    var identity: String {
        switch self {
        case .strap(let strap): strap.identity
        case .recording(let recording): recording.identity
        case .backfill(let bank, _): bank.identity
        }
    }

    func problems(for stream: StreamDefinition) -> [StreamProblem] {
        switch self {
        case .strap(let strap): strap.problems(for: stream)
        case .recording(let recording): recording.problems(for: stream)
        case .backfill(let bank, let backfill):
            backfill.problems(of: bank, for: stream.name) + bank.problems(for: stream)
        }
    }

    /// Opens the source where it was left.
    ///
    /// - Parameters:
    ///   - columns: The stream's columns, which the values follow.
    ///   - saved: What the database knows of an earlier launch; of another source it is ignored.
    ///   - now: The wall clock, read once by the caller.
    /// - Returns: The source and the origin to save with its positions.
    /// - Throws: `RecordingError`, `FileError`.
    func open(
        columns: [ColumnDefinition],
        resuming saved: SourceState?,
        at now: SampleTime
    ) throws -> (source: any SampleSource, origin: SampleTime) {
        let saved = saved.flatMap { $0.source == identity ? $0 : nil }
        switch self {
        case .strap(let strap):
            let first = max(saved?.position ?? now.seconds, now.seconds)
            let source = StrapSource(strap, columns: columns, from: first, edge: first)
            return (source, SampleTime(seconds: 0))
        case .recording(let recording):
            let origin = saved?.origin ?? recording.start ?? now
            let source = try RecordingSource(
                recording,
                columns: columns,
                origin: origin,
                skipping: saved?.position ?? 0
            )
            return (source, origin)
        case .backfill(.strap(let strap), let backfill):
            // The bank is a ring: what is older than its length has been written over.
            let banked = now.advanced(by: .zero - backfill.history).seconds
            let oldest = now.advanced(by: .zero - backfill.bank).seconds
            let first = max(saved?.position ?? banked, oldest)
            // A wall clock that went back must not make the strap wait until it is right again.
            let edge = max(first, now.seconds)
            let bank = StrapSource(strap, columns: columns, from: first, edge: edge)
            return (BackfillSource(bank, backfill, isLive: true), SampleTime(seconds: 0))
        case .backfill(let bank, let backfill):
            let (source, origin) = try bank.open(columns: columns, resuming: saved, at: now)
            return (backfill.drain(source), origin)
        }
    }
}
