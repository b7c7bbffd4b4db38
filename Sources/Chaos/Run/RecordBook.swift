import DurableFiles

/// One record of the agent, and when it came.
public struct AgentRecord: Hashable, Sendable {
    /// Real time since the run began.
    public var at: Duration
    public var fields: [String: String]

    public init(at: Duration, fields: [String: String]) {
        self.at = at
        self.fields = fields
    }

    public subscript(key: String) -> String? { fields[key] }

    public func number(_ key: String) -> Int64 { fields[key].flatMap { Int64($0) } ?? 0 }

    public var kind: String { fields["kind"] ?? "" }
}

/// What an agent has said so far, over all its lives, and a place to wait for more.
final class RecordBook: Sendable {
    fileprivate struct Waiter {
        let isMet: @Sendable (State) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    struct State {
        var records: [AgentRecord] = []
        var launches = 0
        /// Lives that have ended.
        var ends = 0
        /// Where the records of the present life begin.
        var life = 0
        /// As the last record of a phase says it.
        var phase: String?
        fileprivate var waiters: [Int: Waiter] = [:]
        fileprivate var nextWaiter = 0
    }

    private let state = Lock(State())
    let start: ContinuousClock.Instant

    init(start: ContinuousClock.Instant) {
        self.start = start
    }

    var now: Duration { ContinuousClock.now - start }

    var records: [AgentRecord] { state.withLock { $0.records } }
    var count: Int { state.withLock { $0.records.count } }
    func look<R>(_ body: (State) -> R) -> R { state.withLock { body($0) } }

    var launches: Int { state.withLock { $0.launches } }
    var ends: Int { state.withLock { $0.ends } }
    var phase: String? { state.withLock { $0.phase } }

    func add(_ fields: [String: String]) {
        change { state in
            state.records.append(AgentRecord(at: now, fields: fields))
            if fields["kind"] == "phase" { state.phase = fields["phase"] }
        }
    }

    func launched() {
        change { state in
            state.launches += 1
            state.life = state.records.count
        }
    }

    func ended() {
        change { state in
            state.ends += 1
            state.phase = nil
        }
    }

    /// Waits until something holds of what was said.
    ///
    /// - Returns: Whether it does; false when the time is over.
    @discardableResult
    func wait(
        within limit: Duration,
        until isMet: @escaping @Sendable (State) -> Bool
    ) async -> Bool {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        let alarm = Task { [state] in
            try await Task.sleep(for: limit)
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume()
        }
        defer { alarm.cancel() }
        await withCheckedContinuation { continuation in
            let isMetNow = state.withLock { state in
                if isMet(state) { return true }
                state.waiters[id] = Waiter(isMet: isMet, continuation: continuation)
                return false
            }
            if isMetNow { continuation.resume() }
        }
        return state.withLock { isMet($0) }
    }

    private func change(_ body: (inout State) -> Void) {
        let met = state.withLock { state -> [Waiter] in
            body(&state)
            let met = state.waiters.filter { $0.value.isMet(state) }
            for id in met.keys { state.waiters[id] = nil }
            return Array(met.values)
        }
        for waiter in met { waiter.continuation.resume() }
    }
}
