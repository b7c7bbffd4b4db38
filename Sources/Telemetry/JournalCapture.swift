import Synchronization

/// Keeps records in memory, so that tests can look at them and wait for them.
public final class JournalCapture: Sendable {
    private struct State {
        var records: [JournalRecord] = []
        var followers: [AsyncStream<JournalRecord>.Continuation] = []
    }

    private let state = Mutex(State())

    public init() {}

    public var records: [JournalRecord] {
        state.withLock { $0.records }
    }

    /// Every record of one kind.
    public func records(of kind: RecordKind) -> [JournalRecord] {
        records.filter { $0.kind == kind }
    }

    /// All records from the first on, and then each as it comes; ends with the capture.
    public var stream: AsyncStream<JournalRecord> {
        let (stream, continuation) = AsyncStream.makeStream(of: JournalRecord.self)
        state.withLock { state in
            for record in state.records { continuation.yield(record) }
            state.followers.append(continuation)
        }
        return stream
    }

    func append(_ record: JournalRecord) {
        // Yielding inside the lock keeps the order; it resumes nobody synchronously.
        state.withLock { state in
            state.records.append(record)
            for follower in state.followers { follower.yield(record) }
        }
    }

    deinit {
        state.withLock { state in
            for follower in state.followers { follower.finish() }
        }
    }
}
