internal import CLZ4

/// Writes an LTX file front to back.
///
/// Pages are stored as LZ4 blocks. Memory is one output buffer and three or four bytes a page
/// for the index, whatever the size of the file. A file without pages is valid: one that only
/// changes the commit size, or, with a commit of 0, one that deletes the database.
public struct LTXEncoder: ~Copyable {
    private let header: LTXHeader
    private var order: PageOrder
    private var frames = PageFrameList()
    private var crc = CRC64()
    /// Kept for snapshots that carry a database checksum, as readers compare it.
    private var database: DatabaseChecksum?

    private let write: (UnsafeRawBufferPointer) throws -> Void
    private let output: RawBytes
    private let compressor: RawBytes
    private let maxFrameSize: Int
    private var used = 0
    private var flushed: Int64 = 0
    private var failure: (any Error)?

    private static let outputSize = 256 << 10

    /// Starts a file.
    ///
    /// - Parameters:
    ///   - header: Must be valid; its reserved bytes are kept.
    ///   - write: Takes the next bytes of the file, all of them; called about once every 256 KiB
    ///     and never before there are so many or the file is finished.
    /// - Throws: `LTXError` if the header is not valid.
    public init(
        header: LTXHeader,
        write: @escaping (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        try header.validate()
        self.header = header
        self.write = write
        order = PageOrder(header)
        database = header.isSnapshot && !header.hasNoChecksum ? DatabaseChecksum() : nil
        output = RawBytes(count: LTXEncoder.outputSize)
        compressor = RawBytes(count: Int(LZ4_sizeofState()))
        maxFrameSize = PageFrame.maxSize(pageSize: header.pageSize)
        header.encode(
            into: UnsafeMutableRawBufferPointer(start: output.base, count: LTXHeader.size)
        )
        crc.update(UnsafeRawBufferPointer(start: output.base, count: LTXHeader.size))
        used = LTXHeader.size
    }

    /// Bytes of the file so far.
    public var sizeInBytes: Int64 {
        flushed + Int64(used)
    }

    /// Adds a page.
    ///
    /// - Parameters:
    ///   - pgno: Above the page before it, not above the header's commit, not the lock page; in a
    ///     snapshot, the next page.
    ///   - page: Exactly one page.
    /// - Throws: `LTXError` for a page that may not stand here, and the file goes on without it;
    ///   whatever `write` throws, and then the file cannot be finished.
    public mutating func append(pgno: Pgno, page: UnsafeRawBufferPointer) throws {
        if let failure { throw failure }
        guard pgno != 0 else {
            throw LTXError.pageNumber(flags: PageFrame.blockFlag, offset: sizeInBytes)
        }
        guard page.count == Int(header.pageSize) else {
            throw LTXError.pageLength(
                page.count,
                pageSize: header.pageSize,
                pgno: pgno,
                offset: sizeInBytes
            )
        }
        if output.count - used < maxFrameSize { try flush() }
        try order.admit(pgno, at: sizeInBytes)

        let head = PageFrame.headerSize + PageFrame.prefixSize
        let frame = output.base + used
        let size = LZ4_compress_fast_extState(
            compressor.base,
            page.baseAddress,
            frame + head,
            Int32(page.count),
            Int32(maxFrameSize - head),
            1
        )
        precondition(size > 0, "LZ4 keeps within its own bound")
        frame.setBigEndian(pgno, at: 0)
        frame.setBigEndian(PageFrame.blockFlag, at: 4)
        frame.setBigEndian(UInt32(size), at: PageFrame.headerSize)
        crc.update(UnsafeRawBufferPointer(start: frame, count: head))
        crc.update(page)
        database?.toggle(pgno: pgno, page: page)
        frames.append(pgno, size: head + Int(size))
        used += head + Int(size)
    }

    /// Ends the file: end marker, index, trailer.
    ///
    /// - Parameter postApplyChecksum: The checksum of the database after this file, present if
    ///   and only if the header says that checksums are kept.
    /// - Returns: What was written.
    /// - Throws: `LTXError` if pages of a snapshot are missing or the checksum is not the one of
    ///   its pages; whatever `write` throws.
    public consuming func finish(postApplyChecksum: Checksum = .none) throws -> LTXSummary {
        if let failure { throw failure }
        try order.finish(at: sizeInBytes)
        if output.count - used < PageFrame.headerSize { try flush() }
        (output.base + used).initializeMemory(
            as: UInt8.self,
            repeating: 0,
            count: PageFrame.headerSize
        )
        add(PageFrame.headerSize)

        try writeIndex()

        if output.count - used < LTXTrailer.size { try flush() }
        try header.validate(postApply: postApplyChecksum, at: sizeInBytes)
        if let computed = database?.value, computed != postApplyChecksum {
            throw LTXError.databaseChecksum(
                stored: postApplyChecksum,
                computed: computed,
                offset: sizeInBytes
            )
        }
        (output.base + used).setBigEndian(postApplyChecksum.rawValue, at: 0)
        add(8)
        let trailer = LTXTrailer(
            postApplyChecksum: postApplyChecksum,
            fileChecksum: Checksum(crc: crc.value)
        )
        (output.base + used).setBigEndian(trailer.fileChecksum.rawValue, at: 0)
        used += 8
        try flush()
        return LTXSummary(
            header: header,
            trailer: trailer,
            pageCount: frames.count,
            sizeInBytes: flushed
        )
    }

    /// Writes page number, offset and size of each page, a zero, and the size of all that.
    private mutating func writeIndex() throws {
        let start = sizeInBytes
        var cursor = PageFrameList.Cursor(frames)
        while let entry = cursor.next() {
            if output.count - used < 3 * Varint.maxSize { try flush() }
            let base = output.base + used
            var size = Varint.encode(UInt64(entry.pgno), to: base)
            size += Varint.encode(UInt64(entry.offset), to: base + size)
            size += Varint.encode(UInt64(entry.size), to: base + size)
            add(size)
        }
        if output.count - used < 9 { try flush() }
        (output.base + used).storeBytes(of: 0, as: UInt8.self)
        add(1)
        (output.base + used).setBigEndian(UInt64(sizeInBytes - start), at: 0)
        add(8)
    }

    /// Takes bytes just written into the buffer as part of the file and of its checksum.
    private mutating func add(_ count: Int) {
        crc.update(UnsafeRawBufferPointer(start: output.base + used, count: count))
        used += count
    }

    private mutating func flush() throws {
        do {
            try write(UnsafeRawBufferPointer(start: output.base, count: used))
        } catch {
            failure = error
            throw error
        }
        flushed += Int64(used)
        used = 0
    }
}

/// What an encoder has written.
public struct LTXSummary: Hashable, Sendable {
    public var header: LTXHeader
    public var trailer: LTXTrailer
    /// Pages in the file.
    public var pageCount: Int
    /// Bytes of the whole file.
    public var sizeInBytes: Int64

    public init(header: LTXHeader, trailer: LTXTrailer, pageCount: Int, sizeInBytes: Int64) {
        self.header = header
        self.trailer = trailer
        self.pageCount = pageCount
        self.sizeInBytes = sizeInBytes
    }
}
