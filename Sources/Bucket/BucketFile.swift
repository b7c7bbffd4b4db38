public import LTXCodec

/// One LTX file of a bucket: where it stands and what the listing says about it.
public struct BucketFile: Hashable, Sendable {
    /// The compaction level: 0 is one file a sync, 9 holds snapshots.
    public let level: Int
    public let name: LTXFileName
    public let sizeInBytes: Int64
    /// When the changes were made, milliseconds since 1970: the LTX header's timestamp, which the
    /// bucket keeps as the file's modification time.
    public let timestamp: Int64

    /// The levels a bucket has, in ascending order.
    public static let levels = 0...9
    /// The level that holds snapshots.
    public static let snapshotLevel = 9

    /// - Precondition: `level` is one of `levels`.
    public init(level: Int, name: LTXFileName, sizeInBytes: Int64, timestamp: Int64) {
        precondition(Self.levels.contains(level), "no such level")
        self.level = level
        self.name = name
        self.sizeInBytes = sizeInBytes
        self.timestamp = timestamp
    }

    /// First TXID covered.
    public var minTXID: TXID { name.minTXID }
    /// Last TXID covered.
    public var maxTXID: TXID { name.maxTXID }
}

extension BucketFile: Comparable {
    /// Orders by level, then by first and last TXID.
    public static func < (left: BucketFile, right: BucketFile) -> Bool {
        (left.level, left.name, left.sizeInBytes, left.timestamp)
            < (right.level, right.name, right.sizeInBytes, right.timestamp)
    }
}

extension BucketFile: CustomStringConvertible {
    /// The level and the name, as in a bucket's tree: `0/{min}-{max}.ltx`.
    public var description: String { "\(level)/\(name)" }
}
