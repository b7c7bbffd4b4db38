/// What was counted at the end of a run, with everybody at rest.
public struct Closing: Hashable, Sendable {
    /// Rows that the collector and the other writers were told are safe; `nil` when the agent's
    /// records of them are not written.
    public var rowsAcknowledged: Int64?
    public var rowsInSource: Int64 = 0
    /// `nil` without a mirror of our own to look at.
    public var rowsInMirror: Int64?
    public var rowsRestored: Int64 = 0
    public var pagesCompared = 0
    /// Pages that differ between the source and its bucket.
    public var pagesDiffering = 0
    /// Pages that differ between the mirror and the restored database.
    public var mirrorPagesDiffering = 0
    public var databaseBytes: Int64 = 0
    /// Bytes of request bodies that left the device; what the agent says without a proxy.
    public var bytesShipped: Int64 = 0
    /// Bytes of accepted page frames that the bucket did not hold already.
    public var idealBytes: Int64 = 0
    public var resumedUploads = 0

    public init() {}

    /// Rows that were acknowledged and are missing in the place that has the fewest.
    public var rowsLost: Int64 {
        let kept = min(rowsInSource, rowsRestored, rowsInMirror ?? .max)
        return max(0, (rowsAcknowledged ?? rowsInSource) - kept)
    }
}
