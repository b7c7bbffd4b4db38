/// How long the transfer service waits after a failure that can pass by itself.
///
/// The delays grow from a second to a minute; an upload that moved has not failed as far as this is
/// concerned. A server that names a time is obeyed, up to an hour.
public struct Backoff: Equatable, Sendable {
    static let cap = Duration.seconds(60)
    static let longestObeyed = Duration.seconds(3600)

    private var failures = 0

    public init() {}

    public mutating func succeeded() {
        failures = 0
    }

    /// The delay after a failure.
    ///
    /// - Parameters:
    ///   - asked: What the server asked for.
    ///   - moved: The bucket holds more of the file than before.
    ///   - jitter: 0…1; spreads retries over the second half of their delay.
    /// - Returns: How long to wait.
    public mutating func failed(asked: Duration?, moved: Bool, jitter: Double) -> Duration {
        failures = moved ? 1 : failures + 1
        let base = min(Self.cap, .seconds(1) * (1 << min(failures - 1, 16)))
        let delay = base * (0.5 + 0.5 * min(max(jitter, 0), 1))
        return max(delay, min(max(asked ?? .zero, .zero), Self.longestObeyed))
    }
}
