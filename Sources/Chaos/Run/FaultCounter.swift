import DurableFiles

/// How many more requests a fault strikes.
final class FaultCounter: Sendable {
    private struct State {
        var left: Int?
        var struckLast: ContinuousClock.Instant?
    }

    private let state: Lock<State>

    /// - Parameter count: `nil` for no end.
    init(_ count: Int?) {
        state = Lock(State(left: count))
    }

    func takesOne() -> Bool {
        state.withLock { state in
            guard let left = state.left else { return true }
            guard left > 0 else { return false }
            state.left = left - 1
            if left == 1 { state.struckLast = .now }
            return true
        }
    }

    /// When the last one was struck; `nil` while there are more.
    var ended: ContinuousClock.Instant? { state.withLock { $0.struckLast } }
}
