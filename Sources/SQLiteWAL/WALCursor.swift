/// A place in one generation of a WAL: which frame to read next, and what must lie before it.
///
/// The running checksum stands for every frame before the place, so that a cursor read back from
/// disk is confirmed by one 24-byte read (``WALReader/holds(_:)``). Cursors are stored and come
/// back as bytes from outside: reading with an impossible one throws and never traps.
public struct WALCursor: Hashable, Sendable {
    public var salt: WALSalt

    /// The checkpoint sequence number of the generation, WAL header bytes 12–15.
    public var sequence: UInt32

    /// Bytes per page.
    public var pageSize: UInt32

    public var bigEndianChecksums: Bool

    /// The frame to read next, counted from 1.
    public var nextFrame: UInt32

    /// The running checksum before ``nextFrame``; for frame 1 that of the WAL header.
    public var checksum: WALChecksum

    /// Size of the database in pages at the cursor; 0 if that is not known.
    public var commit: UInt32

    public init(
        salt: WALSalt,
        sequence: UInt32,
        pageSize: UInt32,
        bigEndianChecksums: Bool,
        nextFrame: UInt32,
        checksum: WALChecksum,
        commit: UInt32
    ) {
        self.salt = salt
        self.sequence = sequence
        self.pageSize = pageSize
        self.bigEndianChecksums = bigEndianChecksums
        self.nextFrame = nextFrame
        self.checksum = checksum
        self.commit = commit
    }

    /// The place before the first frame of a generation.
    ///
    /// - Parameters:
    ///   - header: The WAL header of the generation.
    ///   - commit: Size of the database in pages before the first frame; 0 if that is not known.
    /// - Returns: A cursor whose next frame is 1.
    public static func start(of header: WALHeader, commit: UInt32 = 0) -> WALCursor {
        WALCursor(
            salt: header.salt,
            sequence: header.sequence,
            pageSize: header.pageSize,
            bigEndianChecksums: header.bigEndianChecksums,
            nextFrame: 1,
            checksum: header.checksum,
            commit: commit
        )
    }

    /// Byte offset of ``nextFrame`` in the file.
    ///
    /// For frame 0, which does not exist, that of frame 1; `Int64.max` where it would not fit.
    public var offset: Int64 {
        WALFrameHeader.offset(ofFrame: max(nextFrame, 1), pageSize: pageSize) ?? .max
    }

    /// Refuses a place that no WAL can have.
    func validate() throws(WALError) {
        guard WALHeader.isPageSize(pageSize) else { throw .pageSize(pageSize) }
        guard nextFrame > 0, nextFrame < .max else { throw .frameNumber(nextFrame) }
    }
}
