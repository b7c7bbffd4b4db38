public import LTXCodec

/// The facts of one state of a database in a bucket.
public struct BucketState: Hashable, Sendable {
    public let txid: TXID
    /// When it was made, milliseconds since 1970: the header timestamp of the last file.
    public let timestamp: Int64
    /// Bytes a page.
    public let pageSize: UInt32
    /// Size in pages; 0 if the database was deleted.
    public let commit: UInt32

    /// Size in bytes.
    public var sizeInBytes: Int64 { Int64(commit) * Int64(pageSize) }
    /// The page that no file holds, in a database that is that large.
    var lockPgno: Pgno { LTXCodec.lockPgno(pageSize: pageSize) }
}

/// How far reading a bucket has come.
public struct RestoreProgress: Hashable, Sendable {
    /// Bytes of LTX files read.
    public let bytes: Int64
    /// Bytes of all files of the plan.
    public let totalBytes: Int64
    /// Pages found that belong to the state.
    public let pages: Int
    /// The state's pages; 0 until the first header is read.
    public let totalPages: Int
}
