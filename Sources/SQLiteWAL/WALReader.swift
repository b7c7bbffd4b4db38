/// Reads a WAL through a function that reads at an offset; opens nothing itself.
///
/// A reader holds no position and no page, so one serves for as long as its file stays open.
/// Nothing here takes a lock: whoever needs the frames to stay where they are (a restart
/// overwrites them from frame 1 on) holds a read transaction meanwhile.
public struct WALReader {
    /// Reads bytes at an offset into a buffer and says how many; 0 at or past the end.
    public typealias ReadAt = (Int64, UnsafeMutableRawBufferPointer) throws -> Int

    private let readAt: ReadAt

    /// Makes a reader of one file.
    ///
    /// - Parameter readAt: May return fewer bytes than asked for before the end, as `pread` may.
    public init(readAt: @escaping ReadAt) {
        self.readAt = readAt
    }

    /// Reads the WAL header.
    ///
    /// - Returns: `nil` if the file is empty or shorter than a header, as a WAL is before its
    ///   first write and after a checkpoint that truncates.
    /// - Throws: ``WALError`` if the header is not valid; what `readAt` throws.
    public func header() throws -> WALHeader? {
        try withUnsafeTemporaryAllocation(byteCount: WALHeader.size, alignment: 8) { buffer in
            guard try fill(buffer, at: 0) == WALHeader.size else { return nil }
            return try WALHeader(decoding: UnsafeRawBufferPointer(buffer))
        }
    }

    /// Reads the header of one frame, whatever generation it belongs to.
    ///
    /// - Parameters:
    ///   - frame: Frame number, from 1.
    ///   - pageSize: Bytes per page.
    /// - Returns: `nil` if the file ends before the end of the frame's header, or for frame 0.
    /// - Throws: ``WALError/pageSize(_:)``; what `readAt` throws.
    public func frameHeader(at frame: UInt32, pageSize: UInt32) throws -> WALFrameHeader? {
        guard WALHeader.isPageSize(pageSize) else { throw WALError.pageSize(pageSize) }
        guard let offset = WALFrameHeader.offset(ofFrame: frame, pageSize: pageSize) else {
            return nil
        }
        return try withUnsafeTemporaryAllocation(
            byteCount: WALFrameHeader.size,
            alignment: 8
        ) { buffer in
            guard try fill(buffer, at: offset) == WALFrameHeader.size else { return nil }
            return WALFrameHeader(decoding: UnsafeRawBufferPointer(buffer))
        }
    }

    /// Reads the page of one frame.
    ///
    /// - Parameters:
    ///   - frame: Frame number, from 1.
    ///   - pageSize: Bytes per page.
    ///   - page: Where it goes: exactly `pageSize` bytes.
    /// - Throws: ``WALError``, also if the file ends too early; what `readAt` throws.
    public func readPage(
        frame: UInt32,
        pageSize: UInt32,
        into page: UnsafeMutableRawBufferPointer
    ) throws {
        guard WALHeader.isPageSize(pageSize) else { throw WALError.pageSize(pageSize) }
        precondition(page.count == Int(pageSize), "the buffer holds one page")
        guard let start = WALFrameHeader.offset(ofFrame: frame, pageSize: pageSize) else {
            throw WALError.frameNumber(frame)
        }
        guard try fill(page, at: start + Int64(WALFrameHeader.size)) == page.count else {
            throw WALError.truncatedFrame(frame: frame, offset: start)
        }
    }

    /// Reads until the buffer is full or the file ends.
    ///
    /// - Returns: Bytes read.
    func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = try readAt(offset + Int64(filled), rest)
            precondition(count >= 0 && count <= rest.count, "a read gives 0 to as many bytes")
            guard count > 0 else { break }
            filled += count
        }
        return filled
    }
}
