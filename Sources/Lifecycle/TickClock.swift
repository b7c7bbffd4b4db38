import Glibc

/// Two clocks read one after the other.
///
/// Source: clock_gettime(2). `CLOCK_MONOTONIC` goes on while a process is stopped and stands while
/// the machine sleeps; `CLOCK_BOOTTIME` goes on in either case.
public struct ClockReading: Hashable, Sendable {
    public var monotonic: Duration
    public var boottime: Duration

    public init(monotonic: Duration, boottime: Duration) {
        self.monotonic = monotonic
        self.boottime = boottime
    }

    public static func now() -> ClockReading {
        ClockReading(monotonic: read(CLOCK_MONOTONIC), boottime: read(CLOCK_BOOTTIME))
    }

    private static func read(_ clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

/// The time in which a process did not run, though it should have.
public struct Suspension: Hashable, Sendable {
    /// From the last sign of life before it to the first one after it: at least as long as the
    /// process stood, and at most one tick longer.
    public var gap: Duration
    /// How much of it the machine slept.
    public var slept: Duration

    public init(gap: Duration, slept: Duration = .zero) {
        self.gap = gap
        self.slept = slept
    }
}

/// Finds suspensions in the gaps between ticks.
public struct TickClock: Hashable, Sendable {
    /// A busy machine may be late by so much and nobody was suspended.
    public static let tolerance = Duration.seconds(2)

    private var last: ClockReading

    public init(at now: ClockReading) {
        last = now
    }

    /// A tick.
    ///
    /// - Parameters:
    ///   - now: Both clocks.
    ///   - due: How long after the last tick this one had to come at the latest; `nil` where
    ///     nothing was due.
    ///   - wasContinued: SIGCONT came. Without it only a freezer or a sleeping machine is left.
    /// - Returns: What was missed; `nil` for a tick as it should be.
    public mutating func tick(
        at now: ClockReading,
        due: Duration?,
        wasContinued: Bool
    ) -> Suspension? {
        let gap = max(now.boottime - last.boottime, .zero)
        let slept = max(gap - max(now.monotonic - last.monotonic, .zero), .zero)
        last = now
        // The two clocks are read one after the other.
        let hasSlept = slept > .milliseconds(100)
        let isLate = due.map { gap > $0 + Self.tolerance } ?? false
        guard wasContinued || isLate || hasSlept else { return nil }
        return Suspension(gap: gap, slept: hasSlept ? slept : .zero)
    }
}
