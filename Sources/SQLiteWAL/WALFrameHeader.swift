/// The 24 bytes before each page in a WAL.
///
/// | bytes | field |
/// | --- | --- |
/// | 0–3 | page number, from 1 |
/// | 4–7 | database size in pages after the commit, or 0 if the frame is no commit frame |
/// | 8–15 | salts, equal to the header's if the frame belongs to its generation |
/// | 16–23 | running checksum up to and including this frame |
///
/// All fields are big-endian. Source: SQLite file format, section 4.1.
public struct WALFrameHeader: Hashable, Sendable {
    /// Bytes of a frame header in the file.
    public static let size = 24

    public var pgno: UInt32

    /// Size of the database in pages after the commit; 0 in a frame that does not commit.
    public var commit: UInt32

    public var salt: WALSalt
    public var checksum: WALChecksum

    /// Reads the fields; only a reader that follows the chain can say whether they are valid.
    ///
    /// - Returns: `nil` with fewer than 24 bytes.
    public init?(decoding bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.size else { return nil }
        pgno = bytes.bigEndianWord(at: 0)
        commit = bytes.bigEndianWord(at: 4)
        salt = WALSalt(salt1: bytes.bigEndianWord(at: 8), salt2: bytes.bigEndianWord(at: 12))
        checksum = WALChecksum(s1: bytes.bigEndianWord(at: 16), s2: bytes.bigEndianWord(at: 20))
    }

    /// Where a frame begins in the file.
    ///
    /// - Parameters:
    ///   - frame: Frame number, from 1.
    ///   - pageSize: Bytes per page.
    /// - Returns: Bytes from the start of the file; `nil` for frame 0, or if it does not fit.
    public static func offset(ofFrame frame: UInt32, pageSize: UInt32) -> Int64? {
        guard frame > 0 else { return nil }
        let (body, tooLong) = Int64(frame - 1)
            .multipliedReportingOverflow(by: Int64(size) + Int64(pageSize))
        let (offset, tooFar) = body.addingReportingOverflow(Int64(WALHeader.size))
        return tooLong || tooFar ? nil : offset
    }

    /// Which frame begins at an offset, the inverse of ``offset(ofFrame:pageSize:)``.
    ///
    /// - Returns: `nil` if no frame can begin there: below the end of the WAL header, between two
    ///   frames, past the last frame number, or if the page size is none.
    public static func frame(atOffset offset: Int64, pageSize: UInt32) -> UInt32? {
        guard WALHeader.isPageSize(pageSize), offset >= Int64(WALHeader.size) else { return nil }
        let (index, rest) = (offset - Int64(WALHeader.size))
            .quotientAndRemainder(dividingBy: Int64(size) + Int64(pageSize))
        guard rest == 0, index < Int64(UInt32.max) else { return nil }
        return UInt32(index) + 1
    }

    /// Which frame follows a range of the file, given as LTX headers give it.
    ///
    /// - Parameters:
    ///   - offset: Byte offset of the range's first frame.
    ///   - size: Bytes in the range, 0 for an empty one.
    ///   - pageSize: Bytes per page.
    /// - Returns: `nil` if the range does not begin at a frame or is not made of whole frames.
    public static func frame(
        behindOffset offset: Int64,
        size: Int64,
        pageSize: UInt32
    ) -> UInt32? {
        let (end, tooFar) = offset.addingReportingOverflow(size)
        guard size >= 0, !tooFar, frame(atOffset: offset, pageSize: pageSize) != nil else {
            return nil
        }
        return frame(atOffset: end, pageSize: pageSize)
    }
}
