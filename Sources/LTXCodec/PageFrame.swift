internal import CLZ4

/// How a page is stored: a page header of six bytes, then its compressed bytes.
///
/// Page flag bit 0 set: four bytes with the size of an LZ4 block, and the block. Clear: an LZ4
/// frame, as older releases of Litestream (0.5.5) wrote it. Both kinds may stand in one file.
enum PageFrame {
    /// Page number (4 bytes) and flags (2 bytes); six zero bytes end the pages.
    static let headerSize = 6
    static let prefixSize = 4
    /// A size and an LZ4 block follow, not an LZ4 frame.
    static let blockFlag: UInt16 = 1

    /// The most bytes that an LZ4 block of one page can have, whoever wrote it.
    ///
    /// A sequence never takes more bytes than it gives but for the length bytes of its literals,
    /// so a block of literals alone is the longest.
    static func maxBlockSize(pageSize: UInt32) -> Int {
        Int(LZ4_compressBound(Int32(pageSize)))
    }

    /// Bytes of the longest block with everything before it.
    static func maxSize(pageSize: UInt32) -> Int {
        headerSize + prefixSize + maxBlockSize(pageSize: pageSize)
    }
}

/// Unpacks the compressed bytes of pages.
struct PageUnpacker: ~Copyable {
    private let pageSize: UInt32
    private let maxBlockSize: Int
    private var frames: LZ4FrameContext?

    init(pageSize: UInt32) {
        self.pageSize = pageSize
        maxBlockSize = PageFrame.maxBlockSize(pageSize: pageSize)
    }

    /// Reads what follows a page header; `input` stands behind it, and then behind the page.
    ///
    /// `page` gets exactly one page, and anything at all before an error. `crc` gets the size
    /// prefix, if there is one; the page is the caller's to add.
    mutating func unpack(
        _ pgno: Pgno,
        flags: UInt16,
        from input: inout InputBuffer,
        into page: UnsafeMutableRawBufferPointer,
        crc: inout CRC64
    ) throws {
        if flags & PageFrame.blockFlag != 0 {
            try unpackBlock(pgno, from: &input, into: page, crc: &crc)
        } else {
            let frames = try frames ?? LZ4FrameContext()
            self.frames = frames
            try frames.unpack(pgno, from: &input, into: page)
        }
    }

    private func unpackBlock(
        _ pgno: Pgno,
        from input: inout InputBuffer,
        into page: UnsafeMutableRawBufferPointer,
        crc: inout CRC64
    ) throws {
        let offset = input.position
        guard try input.require(PageFrame.prefixSize) else {
            throw LTXError.truncated(.pageSizePrefix, offset: input.endOffset)
        }
        let size = input.bytes.bigEndian(UInt32.self, at: 0)
        guard size <= maxBlockSize else {
            throw LTXError.compression(.declaredSize(size), pgno: pgno, offset: offset)
        }
        guard try input.require(PageFrame.prefixSize + Int(size)) else {
            throw LTXError.truncated(.pageData, offset: input.endOffset)
        }
        let prefix = UnsafeRawBufferPointer(rebasing: input.bytes[..<PageFrame.prefixSize])
        let block = UnsafeRawBufferPointer(
            rebasing: input.bytes[PageFrame.prefixSize..<PageFrame.prefixSize + Int(size)]
        )
        crc.update(prefix)
        let length = LZ4_decompress_safe(
            block.baseAddress,
            page.baseAddress,
            Int32(block.count),
            Int32(page.count)
        )
        guard length >= 0 else {
            throw LTXError.compression(.block, pgno: pgno, offset: offset)
        }
        guard length == page.count else {
            throw LTXError.pageLength(
                Int(length),
                pageSize: pageSize,
                pgno: pgno,
                offset: offset
            )
        }
        guard !LZ4Block.hasZeroOffset(block) else {
            throw LTXError.compression(.matchOffset, pgno: pgno, offset: offset)
        }
        input.consume(PageFrame.prefixSize + Int(size))
    }
}
