public import DurableFiles

/// Decides when the service manager hears that all is well: only if it is.
///
/// All is well if each actor either has nothing to do or got on since the last time. An actor that
/// stands still in the middle of something keeps the ping back; once it moves again, the ping is
/// sent at once.
public struct Watchdog: Hashable, Sendable {
    public typealias Instant = ContinuousClock.Instant

    /// An actor that does not get on.
    public struct Stuck: Hashable, Sendable {
        public var actor: String
        public var operation: String
        /// When it was last seen to get on.
        public var since: Instant

        public init(actor: String, operation: String, since: Instant) {
            self.actor = actor
            self.operation = operation
            self.since = since
        }
    }

    public enum Verdict: Hashable, Sendable {
        case ping
        /// Nothing is due yet.
        case wait
        case stuck([Stuck])
    }

    /// How often a ping is due: half of what the manager waits for.
    public let interval: Duration
    private var lastPing: Instant
    private var seen: [String: Seen] = [:]
    /// Whom the last verdict named, so that each is told of once.
    private var known: Set<String> = []

    private struct Seen: Hashable {
        var steps: UInt64
        var at: Instant
    }

    /// Starts with a ping that was just sent.
    ///
    /// - Parameters:
    ///   - timeout: `WATCHDOG_USEC`.
    ///   - now: Now.
    public init(timeout: Duration, now: Instant) {
        interval = timeout / 2
        lastPing = now
    }

    /// When to ask again.
    public func next(after now: Instant) -> Instant {
        // An overdue ping waits for an actor to move, which is looked for again and again.
        max(lastPing + interval, now + min(interval / 4, .seconds(1)))
    }

    /// The manager is told at once, whatever is known: after a suspension nobody could get on.
    public mutating func resumed(at now: Instant) {
        lastPing = now
        seen = seen.mapValues { Seen(steps: $0.steps, at: now) }
    }

    /// Whether to tell the manager now.
    ///
    /// - Parameters:
    ///   - readings: Every actor's.
    ///   - now: Now.
    /// - Returns: To do so, to wait for its time, or who keeps it back.
    public mutating func judge(_ readings: [Progress.Reading], at now: Instant) -> Verdict {
        guard now >= lastPing + interval else { return .wait }
        var stuck: [Stuck] = []
        for reading in readings {
            let before = seen[reading.name]
            guard let operation = reading.operation, let before, before.steps == reading.steps
            else {
                seen[reading.name] = Seen(steps: reading.steps, at: now)
                continue
            }
            stuck.append(Stuck(actor: reading.name, operation: operation, since: before.at))
        }
        guard stuck.isEmpty else { return .stuck(stuck) }
        lastPing = now
        known = []
        return .ping
    }

    /// Of those who are stuck, the ones that were not told of since all was well.
    public mutating func news(of stuck: [Stuck]) -> [Stuck] {
        stuck.filter { known.insert($0.actor).inserted }
    }
}
