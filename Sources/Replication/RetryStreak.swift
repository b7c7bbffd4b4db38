/// Retryable outcomes in a row, and what follows from them (DESIGN §5).
///
/// It is persisted before a push returns, so a relaunch goes on counting; only a push that
/// succeeded resets it, never a whole-database upload.
public struct RetryStreak: Equatable, Sendable {
    public static let ingestThreshold: UInt32 = 3

    public private(set) var count: UInt32

    public init(count: UInt32 = 0) {
        self.count = count
    }

    /// Counts an outcome.
    ///
    /// An unverified in-sync proves nothing, and what a person must change is no failure of the
    /// transfer: neither touches the streak.
    public mutating func record(_ outcome: PushOutcome) {
        switch outcome {
        case .pushed, .inSync(verified: true): count = 0
        case .retryable: count = count == .max ? .max : count + 1
        case .inSync(verified: false), .unavailable: break
        }
    }

    /// Whether a whole-database upload may be tried.
    ///
    /// - Parameter lastPushMoved: Whether any byte offset advanced in the last push: a resumable
    ///   upload that moves is no failure.
    /// - Returns: `true` when one may be tried.
    public func opensIngest(lastPushMoved: Bool) -> Bool {
        count >= Self.ingestThreshold && !lastPushMoved
    }
}
