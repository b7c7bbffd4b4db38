/// A source with the one sample that was asked of it and is not due yet.
struct SourceQueue {
    let stream: String
    let origin: SampleTime
    private var source: (any SampleSource)?
    private var next: SourcedSample?

    init(stream: String, source: any SampleSource, origin: SampleTime) {
        self.stream = stream
        self.source = source
        self.origin = origin
    }

    /// Whether there may be more: it has neither ended nor failed.
    var isOpen: Bool { source != nil }

    /// When its next sample is due; zero when it has not been asked yet, `nil` when it is closed.
    var nextDue: Duration? { isOpen ? next?.dueAt ?? .zero : nil }

    /// The next sample if it is due.
    ///
    /// - Throws: What the source met; from then on it is closed.
    mutating func take(dueAt elapsed: Duration) throws -> SourcedSample? {
        if next == nil {
            do {
                next = try source?.next()
            } catch {
                source = nil
                throw error
            }
            if next == nil { source = nil }
        }
        guard let item = next, item.dueAt <= elapsed else { return nil }
        next = nil
        return item
    }
}
