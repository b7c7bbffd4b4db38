/// The header of a wal-index (`-shm`): what SQLite's connections tell each other about a WAL.
///
/// | bytes | field | C name |
/// | --- | --- | --- |
/// | 0–3 | version, 3007000 | `iVersion` |
/// | 8–11 | change counter | `iChange` |
/// | 12 | 1 once initialized | `isInit` |
/// | 13 | 1 with big-endian checksums | `bigEndCksum` |
/// | 14–15 | page size; 1 stands for 65536 | `szPage` |
/// | 16–19 | last valid frame with a commit | `mxFrame` |
/// | 20–23 | size of the database in pages | `nPage` |
/// | 24–31 | checksum of that frame | `aFrameCksum` |
/// | 32–39 | salts, as the WAL header has them | `aSalt` |
/// | 40–47 | checksum of bytes 0–39 | `aCksum` |
/// | 48–95 | the same again | |
/// | 96–99 | frames copied back into the database | `nBackfill` |
/// | 100–119 | five read marks | `aReadMark` |
/// | 120–127 | lock bytes | `aLock` |
/// | 128–131 | frames a checkpoint has begun to copy | `nBackfillAttempted` |
///
/// Integers are in the machine's byte order; the salts alone are the bytes of the WAL header.
/// Source: SQLite's "WAL-mode File Format", section 2.
public struct WALIndexHeader: Hashable, Sendable {
    /// Bytes to read from the start of the file.
    public static let size = 136

    /// The change counter: one more with each commit of any connection.
    ///
    /// Recovery starts it anew, so it compares only while a connection has stayed open.
    public var changeCounter: UInt32

    public var bigEndianChecksums: Bool

    /// Bytes per page; 0 while there has been no frame yet.
    public var pageSize: UInt32

    /// The last committed frame, counted from 1; 0 if the WAL has none.
    public var maxFrame: UInt32

    /// Size of the database in pages.
    public var pageCount: UInt32

    /// The running checksum up to ``maxFrame``.
    public var frameChecksum: WALChecksum

    public var salt: WALSalt

    /// How many frames are known to be copied back into the database.
    public var backfilled: UInt32

    /// How many frames a checkpoint has at least begun to copy back.
    public var backfillAttempted: UInt32

    /// Up to which frame the readers behind each of the five locks read.
    ///
    /// 0xffffffff marks one that is not in use; the first is always 0 (database file only).
    public var readMarks: [UInt32]

    /// Reads the header, if it is whole.
    ///
    /// - Parameter bytes: The start of the `-shm`, at least 136 bytes.
    /// - Returns: `nil` while a writer is at it (the copies differ or the checksum is wrong),
    ///   before the first connection has initialized it, or if it is of another version.
    ///   Read again, a bounded number of times.
    public static func read(from bytes: UnsafeRawBufferPointer) -> WALIndexHeader? {
        guard bytes.count >= size else { return nil }
        let first = UnsafeRawBufferPointer(rebasing: bytes[..<copySize])
        let second = UnsafeRawBufferPointer(rebasing: bytes[copySize..<2 * copySize])
        guard first.elementsEqual(second) else { return nil }
        guard first[12] != 0, first.nativeWord(at: 0) == WALHeader.version else { return nil }
        var computed = WALChecksum.zero
        computed.update(
            UnsafeRawBufferPointer(rebasing: first[..<40]),
            bigEndian: UInt32(bigEndian: 1) == 1
        )
        guard computed == checksum(in: first, at: 40) else { return nil }
        return WALIndexHeader(verified: bytes)
    }

    private static let copySize = 48

    private static func checksum(in bytes: UnsafeRawBufferPointer, at offset: Int) -> WALChecksum {
        WALChecksum(s1: bytes.nativeWord(at: offset), s2: bytes.nativeWord(at: offset + 4))
    }

    private init?(verified bytes: UnsafeRawBufferPointer) {
        let size = UInt32(bytes.loadUnaligned(fromByteOffset: 14, as: UInt16.self))
        // 65536 does not fit in 16 bits; its bit 16 is kept in bit 0, which no other size uses.
        pageSize = size & 0xfe00 | (size & 1) << 16
        let frames = bytes.nativeWord(at: 16)
        guard WALHeader.isPageSize(pageSize) || (pageSize == 0 && frames == 0) else { return nil }
        changeCounter = bytes.nativeWord(at: 8)
        bigEndianChecksums = bytes[13] != 0
        maxFrame = frames
        pageCount = bytes.nativeWord(at: 20)
        frameChecksum = Self.checksum(in: bytes, at: 24)
        salt = WALSalt(salt1: bytes.bigEndianWord(at: 32), salt2: bytes.bigEndianWord(at: 36))
        backfilled = bytes.nativeWord(at: 96)
        readMarks = (0..<5).map { bytes.nativeWord(at: 100 + 4 * $0) }
        backfillAttempted = bytes.nativeWord(at: 128)
    }
}
