/// Why a scan reads no further.
///
/// Each of these is where a WAL ends for SQLite too. What lies behind are leftovers of earlier
/// generations, a transaction in the making, or damage that the chain of checksums keeps out.
public enum WALEnd: Hashable, Sendable {
    /// The file ends behind a whole frame.
    case endOfFile
    /// The file ends inside a frame.
    case tornFrame
    /// The next frame carries the salts of another generation.
    case saltMismatch
    /// The next frame has page number 0.
    case pageZero
    /// The next frame's checksum does not continue the chain.
    case checksumMismatch
}

/// What lies in a WAL between a cursor and the last commit frame.
public struct WALScan: Hashable, Sendable {
    /// The place behind the last commit frame, never behind frames that are not committed.
    ///
    /// SQLite rewrites the frames of a running transaction in place, so a place behind one would
    /// be worth nothing. Equal to the cursor that the scan began at if no commit followed it.
    public var end: WALCursor

    /// The newest committed frame of each page that is still inside the database.
    public var pages: WALPageMap

    /// The smallest size of the database, in pages, that a commit left; `nil` without a commit.
    public var smallestCommit: UInt32?

    /// Commits between the two places, one for each transaction that wrote.
    public var commits: Int

    /// Frames between the two places, all of them committed.
    public var frames: Int

    /// Valid frames from the first place on, with those of a transaction not yet committed.
    public var validFrames: Int

    /// Why the scan stopped behind the last valid frame; `endOfFile` too where it was told to.
    public var stop: WALEnd
}

/// One committed transaction that a scan went over.
public struct WALTransaction: Hashable, Sendable {
    /// Its first frame, counted from 1.
    public var firstFrame: UInt32

    /// The place behind its commit frame, with the size of the database it left.
    public var end: WALCursor
}
