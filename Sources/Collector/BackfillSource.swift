/// How banked history is drained.
public struct BackfillDefinition: Hashable, Sendable {
    /// How much faster than it was made: multiplies the speed of the strap or recording.
    public var multiple: Double
    /// Samples handed over at once; then the next batch has to become due.
    public var batch: Int
    /// How far back a strap's bank reached when it was seen for the first time.
    public var history: Duration
    /// How long a strap's bank is: an outage longer than this loses its beginning.
    public var bank: Duration

    public init(
        multiple: Double = 21,
        batch: Int = 630,
        history: Duration = .zero,
        bank: Duration = .seconds(14 * 86_400)
    ) {
        self.multiple = multiple
        self.batch = batch
        self.history = history
        self.bank = bank
    }

    func problems(of bank: SourceDefinition, for stream: String) -> [StreamProblem] {
        var problems: [StreamProblem] = []
        func refuse(_ name: String, _ value: some Any, _ allowed: String) {
            problems.append(
                .setting(stream: stream, name: name, value: "\(value)", allowed: allowed)
            )
        }
        if !(multiple >= 1 && multiple <= 1_000_000) {
            refuse("backfill multiple", multiple, "1 to 1000000")
        }
        if !(1...100_000).contains(batch) { refuse("backfill batch", batch, "1 to 100000") }
        let year = Duration.seconds(366 * 86_400)
        if !(Duration.zero...year).contains(history) {
            refuse("backfill history", history, "0 to a year")
        }
        if !(Duration.seconds(60)...year).contains(self.bank) {
            refuse("backfill bank", self.bank, "a minute to a year")
        }
        if case .backfill = bank { refuse("backfill source", "a backfill", "strap or recording") }
        return problems
    }

    /// Drains any source that is all history.
    func drain(_ bank: some SampleSource) -> any SampleSource {
        BackfillSource(bank, self, isLive: false)
    }
}

/// Drains a bank of samples at a multiple of the speed they were made at, in bounded batches.
///
/// The bank says when a sample happened (`dueAt`, negative in the past); this says when it is
/// handed over. With d for the bank's time and f for that of its first sample, a sample is due at
/// (d − f) / multiple while that is later than d, and live at d from where the two lines cross.
/// A batch is due at once, when its first sample is, and its length is all that ever waits in
/// memory for a flush.
public struct BackfillSource<Bank: SampleSource>: SampleSource {
    private var bank: Bank
    private let definition: BackfillDefinition
    private let isLive: Bool
    private var first: Duration?
    private var batchDue: Duration = .zero
    private var batchLeft = 0

    /// Wraps a bank.
    ///
    /// - Parameters:
    ///   - bank: What is drained.
    ///   - definition: How fast.
    ///   - isLive: Whether the bank's zero is now, and it goes on with samples yet to happen.
    public init(_ bank: Bank, _ definition: BackfillDefinition, isLive: Bool) {
        precondition(definition.multiple >= 1 && definition.batch >= 1)
        self.bank = bank
        self.definition = definition
        self.isLive = isLive
    }

    public mutating func next() throws -> SourcedSample? {
        guard var item = try bank.next() else { return nil }
        let first = self.first ?? item.dueAt
        self.first = first
        let drained = (item.dueAt - first) / definition.multiple
        if isLive, item.dueAt >= drained {
            batchLeft = 0
            return item
        }
        if batchLeft == 0 {
            batchLeft = definition.batch
            batchDue = drained
        }
        batchLeft -= 1
        // A batch never reaches past now.
        item.dueAt = isLive ? max(batchDue, item.dueAt) : batchDue
        return item
    }
}
