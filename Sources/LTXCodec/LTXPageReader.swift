/// Reads single pages of an LTX file through its index.
///
/// Checks the header, the trailer and the whole index before the first page, and each page frame
/// as it is read. The file checksum is not checked, as that takes the whole file; `LTXDecoder`
/// does.
public struct LTXPageReader: ~Copyable {
    public let header: LTXHeader
    public let trailer: LTXTrailer
    public let index: LTXPageIndex
    /// Where the index stands, without its size field, in bytes from the start of the file.
    public let indexRange: Range<Int64>

    private var input: InputBuffer
    private var unpacker: PageUnpacker

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - size: Bytes of the file.
    ///   - readAt: Fills a buffer from an offset in the file and says by how many bytes, 0 at the
    ///     end of the file.
    /// - Throws: `LTXError` for a header, index or trailer that does not fit the file; whatever
    ///   `readAt` throws.
    public init(
        size: Int64,
        readAt: @escaping (Int64, UnsafeMutableRawBufferPointer) throws -> Int
    ) throws {
        var input = InputBuffer(capacity: 64 << 10, read: readAt)
        input.seek(to: 0, limit: size)
        _ = try input.require(LTXHeader.size)
        let header = try LTXHeader(decoding: input.bytes)
        let end = try LTXPageReader.readEnd(header, fileSize: size, from: &input)
        let index = try LTXPageReader.readIndex(header, at: end.index, from: &input)
        input.reserve(PageFrame.maxSize(pageSize: header.pageSize))
        self.header = header
        self.index = index
        indexRange = end.index
        trailer = end.trailer
        self.input = input
        unpacker = PageUnpacker(pageSize: header.pageSize)
    }

    /// Reads a page.
    ///
    /// - Parameters:
    ///   - pgno: Any number.
    ///   - page: A buffer of exactly `header.pageSize` bytes; untouched if the file does not
    ///     carry the page.
    /// - Returns: Whether the file carries the page.
    /// - Throws: `LTXError` if the index does not lead to a good page; whatever the source throws.
    public mutating func readPage(
        _ pgno: Pgno,
        into page: UnsafeMutableRawBufferPointer
    ) throws -> Bool {
        precondition(page.count == Int(header.pageSize), "the buffer is not one page")
        guard let entry = index.lookup(pgno) else { return false }
        input.seek(to: entry.offset, limit: entry.offset + entry.size)
        guard
            try input.require(PageFrame.headerSize),
            input.bytes.bigEndian(UInt32.self, at: 0) == pgno
        else {
            throw LTXError.index(.frame(pgno), offset: entry.offset)
        }
        let flags = input.bytes.bigEndian(UInt16.self, at: 4)
        guard flags & ~PageFrame.blockFlag == 0 else {
            throw LTXError.pageFlags(flags, pgno: pgno, offset: entry.offset)
        }
        input.consume(PageFrame.headerSize)
        var crc = CRC64()
        try unpacker.unpack(pgno, flags: flags, from: &input, into: page, crc: &crc)
        guard input.position == entry.offset + entry.size else {
            throw LTXError.index(.frame(pgno), offset: entry.offset)
        }
        return true
    }
}

// MARK: - Opening

extension LTXPageReader {
    /// Reads the size field of the index and the trailer.
    private static func readEnd(
        _ header: LTXHeader,
        fileSize: Int64,
        from input: inout InputBuffer
    ) throws -> (index: Range<Int64>, trailer: LTXTrailer) {
        let pagesStart = Int64(LTXHeader.size)
        let endSize = 8 + LTXTrailer.size
        // An end marker and an empty index at least.
        guard fileSize >= pagesStart + Int64(PageFrame.headerSize + 1 + endSize) else {
            throw LTXError.truncated(.trailer, offset: fileSize)
        }
        let end = fileSize - Int64(endSize)
        input.seek(to: end, limit: fileSize)
        guard try input.require(endSize) else {
            throw LTXError.truncated(.trailer, offset: input.endOffset)
        }
        let size = input.bytes.bigEndian(UInt64.self, at: 0)
        let room = UInt64(end - pagesStart - Int64(PageFrame.headerSize))
        guard size >= 1, size <= room else {
            throw LTXError.index(.size(stored: size, computed: room), offset: end)
        }
        let trailer = LTXTrailer(
            postApplyChecksum: Checksum(rawValue: input.bytes.bigEndian(UInt64.self, at: 8)),
            fileChecksum: Checksum(rawValue: input.bytes.bigEndian(UInt64.self, at: 16))
        )
        try header.validate(postApply: trailer.postApplyChecksum, at: end + 8)
        return (end - Int64(size)..<end, trailer)
    }

    /// Reads the index; its frames must follow each other from the header to the end marker.
    private static func readIndex(
        _ header: LTXHeader,
        at range: Range<Int64>,
        from input: inout InputBuffer
    ) throws -> LTXPageIndex {
        let pagesEnd = range.lowerBound - Int64(PageFrame.headerSize)
        var index = LTXPageIndex()
        var order = PageOrder(header)
        var crc = CRC64()
        input.seek(to: range.lowerBound, limit: range.upperBound)
        do {
            try LTXIndexParser.parse(&input, crc: &crc) { entry, offset in
                let start = index.endOffset
                guard
                    let pgno = Pgno(exactly: entry.pgno),
                    entry.offset == UInt64(start),
                    entry.size >= 1, entry.size <= UInt64(pagesEnd - start)
                else {
                    throw LTXError.index(
                        .entry(
                            pgno: entry.pgno,
                            offset: entry.offset,
                            size: entry.size,
                            due: nil
                        ),
                        offset: offset
                    )
                }
                try order.admit(pgno, at: offset)
                index.append(pgno, size: Int64(entry.size))
            }
        } catch LTXError.truncated(.index, let offset) where offset == range.upperBound {
            throw LTXError.index(.unterminated, offset: offset)
        }
        guard input.position == range.upperBound else {
            throw LTXError.index(
                .size(
                    stored: UInt64(range.count),
                    computed: UInt64(input.position - range.lowerBound)
                ),
                offset: range.upperBound
            )
        }
        try order.finish(at: range.upperBound)
        guard index.endOffset == pagesEnd else {
            throw LTXError.index(.gap(upTo: pagesEnd), offset: range.upperBound)
        }
        return index
    }
}
