import TestSupport

/// A wall clock that a test moves.
final class HandClock: Sendable {
    private let milliseconds = Locked<Int64>(1_000_000)

    var now: Int64 { milliseconds.withLock { $0 } }

    func advance(_ amount: Int64) {
        milliseconds.withLock { $0 += amount }
    }
}
