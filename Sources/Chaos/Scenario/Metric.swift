/// What a run is judged by; docs/chaos.md defines each.
public enum Metric: String, CaseIterable, Sendable {
    case rowsLost = "rows-lost"
    case differences
    case forcedSnapshots = "forced-snapshots"
    case snapshots
    case rescans
    case unexplainedRescans = "unexplained-rescans"
    case lineages
    case locksHeld = "locks-held"
    case lateSuspensions = "late-suspensions"
    case exits
    case overhead
    case bytesShipped = "bytes-shipped"
    case worstWAL = "worst-wal"
    case worstBacklog = "worst-backlog"
    case writerStall = "writer-stall"
    case pushes
    case pushed
    case inSync = "in-sync"
    case retryable
    case unavailable
    case worstStreak = "worst-streak"
    case resumedUploads = "resumed-uploads"
    case ingests
    case launches
    case suspensions
    case windows

    /// How its values are written.
    public enum Unit: Sendable {
        case count, bytes, duration, ratio
    }

    public var unit: Unit {
        switch self {
        case .overhead: .ratio
        case .bytesShipped, .worstWAL, .worstBacklog: .bytes
        case .writerStall: .duration
        default: .count
        }
    }

    /// What is expected of every run unless its scenario says otherwise.
    public static let always: [Allowance] = [
        Allowance(.rowsLost, 0, 0),
        Allowance(.differences, 0, 0),
        Allowance(.forcedSnapshots, 0, 0),
        Allowance(.unexplainedRescans, 0, 0),
        Allowance(.lineages, nil, 1),
        Allowance(.locksHeld, 0, 0),
        Allowance(.lateSuspensions, 0, 0),
        Allowance(.exits, 0, 0),
    ]
}

/// What a metric may be: counts, bytes, microseconds, or thousandths of a ratio.
public struct Allowance: Hashable, Sendable {
    public var metric: Metric
    public var low: Int64?
    public var high: Int64?

    public init(_ metric: Metric, _ low: Int64?, _ high: Int64?) {
        self.metric = metric
        self.low = low
        self.high = high
    }

    public func holds(for value: Int64) -> Bool {
        value >= low ?? .min && value <= high ?? .max
    }
}
