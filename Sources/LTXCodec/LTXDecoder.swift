/// Reads an LTX file front to back and checks everything that can be checked.
///
/// The first fault from front to back is thrown. Memory is one input buffer and three or four
/// bytes a page, whatever the file says of itself.
///
/// ```swift
/// var decoder = try LTXDecoder { try file.read(into: $0) }
/// while let pgno = try decoder.nextPage(into: page) { … }
/// let trailer = try decoder.finish()
/// ```
public struct LTXDecoder: ~Copyable {
    public let header: LTXHeader

    private var input: InputBuffer
    private var unpacker: PageUnpacker
    private var order: PageOrder
    private var frames = PageFrameList()
    private var crc = CRC64()
    /// Kept for snapshots that carry a database checksum.
    private var database: DatabaseChecksum?
    private var pagesEnded = false
    private var failure: (any Error)?

    /// Starts a file by reading and checking its header.
    ///
    /// - Parameters:
    ///   - bufferSize: Bytes to read at once; made larger where a page needs more.
    ///   - read: Fills a buffer from its start and says by how many bytes, 0 at the end of the
    ///     file. Any number from 1 will do.
    /// - Throws: `LTXError` for a bad header; whatever `read` throws.
    public init(
        bufferSize: Int = 256 << 10,
        read: @escaping (UnsafeMutableRawBufferPointer) throws -> Int
    ) throws {
        var input = InputBuffer(capacity: max(bufferSize, LTXHeader.size)) { _, free in
            try read(free)
        }
        _ = try input.require(LTXHeader.size)
        header = try LTXHeader(decoding: input.bytes)
        crc.update(UnsafeRawBufferPointer(rebasing: input.bytes[..<LTXHeader.size]))
        input.consume(LTXHeader.size)
        input.reserve(PageFrame.maxSize(pageSize: header.pageSize))
        self.input = input
        unpacker = PageUnpacker(pageSize: header.pageSize)
        order = PageOrder(header)
        database = header.isSnapshot && !header.hasNoChecksum ? DatabaseChecksum() : nil
    }

    /// Pages read so far.
    public var pageCount: Int {
        frames.count
    }

    /// Reads the next page.
    ///
    /// - Parameter page: A buffer of exactly `header.pageSize` bytes.
    /// - Returns: The page's number; `nil` after the last page, and then ever after.
    /// - Throws: `LTXError`; whatever the source throws. Then nothing more can be read.
    public mutating func nextPage(into page: UnsafeMutableRawBufferPointer) throws -> Pgno? {
        precondition(page.count == Int(header.pageSize), "the buffer is not one page")
        if let failure { throw failure }
        if pagesEnded { return nil }
        do {
            return try readPage(into: page)
        } catch {
            failure = error
            throw error
        }
    }

    private mutating func readPage(into page: UnsafeMutableRawBufferPointer) throws -> Pgno? {
        let offset = input.position
        guard try input.require(PageFrame.headerSize) else {
            throw LTXError.truncated(.pageHeader, offset: input.endOffset)
        }
        let pgno = input.bytes.bigEndian(UInt32.self, at: 0)
        let flags = input.bytes.bigEndian(UInt16.self, at: 4)
        crc.update(UnsafeRawBufferPointer(rebasing: input.bytes[..<PageFrame.headerSize]))
        guard pgno != 0 else {
            guard flags == 0 else { throw LTXError.pageNumber(flags: flags, offset: offset) }
            input.consume(PageFrame.headerSize)
            try order.finish(at: offset)
            pagesEnded = true
            return nil
        }
        guard flags & ~PageFrame.blockFlag == 0 else {
            throw LTXError.pageFlags(flags, pgno: pgno, offset: offset)
        }
        try order.admit(pgno, at: offset)
        input.consume(PageFrame.headerSize)
        try unpacker.unpack(pgno, flags: flags, from: &input, into: page, crc: &crc)
        crc.update(UnsafeRawBufferPointer(page))
        database?.toggle(pgno: pgno, page: UnsafeRawBufferPointer(page))
        frames.append(pgno, size: Int(input.position - offset))
        return pgno
    }

    /// Reads and checks what follows the pages: the index, its size, the trailer, and the end.
    ///
    /// - Precondition: `nextPage` has returned `nil`.
    /// - Throws: `LTXError`; whatever the source throws.
    public mutating func finish() throws -> LTXTrailer {
        if let failure { throw failure }
        precondition(pagesEnded, "finish() comes after the last page")
        do {
            return try readEnd()
        } catch {
            failure = error
            throw error
        }
    }

    private mutating func readEnd() throws -> LTXTrailer {
        let mismatch = try readIndex()

        guard try input.require(LTXTrailer.size) else {
            throw LTXError.truncated(.trailer, offset: input.endOffset)
        }
        let offset = input.position
        let trailer = LTXTrailer(
            postApplyChecksum: Checksum(rawValue: input.bytes.bigEndian(UInt64.self, at: 0)),
            fileChecksum: Checksum(rawValue: input.bytes.bigEndian(UInt64.self, at: 8))
        )
        crc.update(UnsafeRawBufferPointer(rebasing: input.bytes[..<8]))
        input.consume(LTXTrailer.size)
        guard try !input.require(1) else {
            throw LTXError.trailingData(offset: input.position)
        }
        // An index that differs is worth a word only if it is all there.
        if let mismatch { throw mismatch }

        let computed = Checksum(crc: crc.value)
        guard trailer.fileChecksum == computed else {
            throw LTXError.fileChecksum(
                stored: trailer.fileChecksum,
                computed: computed,
                offset: offset + 8
            )
        }
        try header.validate(postApply: trailer.postApplyChecksum, at: offset)
        if let pages = database?.value, pages != trailer.postApplyChecksum {
            throw LTXError.databaseChecksum(
                stored: trailer.postApplyChecksum,
                computed: pages,
                offset: offset
            )
        }
        return trailer
    }

    /// Reads the index and its size field; returns where the entries differ from the pages.
    private mutating func readIndex() throws -> LTXError? {
        let start = input.position
        var due = PageFrameList.Cursor(frames)
        var mismatch: LTXError?
        try LTXIndexParser.parse(&input, crc: &crc) { entry, offset in
            let page = due.next()
            guard mismatch == nil, page.map(entry.describes) != true else { return }
            mismatch = .index(
                .entry(
                    pgno: entry.pgno,
                    offset: entry.offset,
                    size: entry.size,
                    due: page?.pgno
                ),
                offset: offset
            )
        }
        let size = UInt64(input.position - start)
        if mismatch == nil, let page = due.next() {
            mismatch = .index(.missing(page.pgno), offset: input.position - 1)
        }
        guard try input.require(8) else {
            throw LTXError.truncated(.indexSize, offset: input.endOffset)
        }
        let stored = input.bytes.bigEndian(UInt64.self, at: 0)
        guard stored == size else {
            throw LTXError.index(.size(stored: stored, computed: size), offset: input.position)
        }
        crc.update(UnsafeRawBufferPointer(rebasing: input.bytes[..<8]))
        input.consume(8)
        return mismatch
    }
}

extension LTXIndexParser.RawEntry {
    fileprivate func describes(_ frame: LTXPageIndex.Entry) -> Bool {
        pgno == UInt64(frame.pgno) && offset == UInt64(frame.offset)
            && size == UInt64(frame.size)
    }
}
