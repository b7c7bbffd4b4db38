#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// What to do about a bucket whose history is not what it acknowledged.
public enum ConflictPolicy: String, Sendable, CaseIterable {
    /// Take the bucket's head as the base and publish what differs from it.
    case rebase
    /// Change nothing and say so.
    case stop
}

/// How a replicator treats its database.
public struct ReplicatorOptions: Sendable {
    public var pin: PinMode = .hold
    /// Frames of the WAL from which on a checkpoint is due.
    public var checkpointFrames: UInt32 = 1000
    public var checkpointLimits = CheckpointLimits()
    public var onConflict: ConflictPolicy = .rebase
    /// How much may wait on the device while no bucket takes it.
    public var backlog = BacklogPolicy()
    /// The directory through which files are handed over to the transfer service; `nil`: none are.
    public var spool: String?
    /// The wall clock, milliseconds since 1970, for the timestamps of files.
    public var now: @Sendable () -> Int64 = Self.wallClock

    public init() {}

    public static let wallClock: @Sendable () -> Int64 = {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
