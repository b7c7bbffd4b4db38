import DurableFiles

/// How many more requests a fault strikes.
final class FaultCounter: Sendable {
    private let left: Lock<Int?>

    /// - Parameter count: `nil` for no end.
    init(_ count: Int?) {
        left = Lock(count)
    }

    func takesOne() -> Bool {
        left.withLock { left in
            guard let count = left else { return true }
            guard count > 0 else { return false }
            left = count - 1
            return true
        }
    }
}
