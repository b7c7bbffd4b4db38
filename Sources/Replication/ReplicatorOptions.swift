import DurableFiles

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
    public var now: @Sendable () -> Int64 = WallClock.now

    public init() {}
}
