internal import CLZ4

/// Unpacks LZ4 frames, one a page.
///
/// The library takes exactly the bytes of the frame, however the input is cut, and holds at most
/// two blocks of the largest kind a frame can announce (4 MiB each; 64 KiB in practice).
final class LZ4FrameContext {
    private static let magic: UInt32 = 0x184D_2204

    private let context: OpaquePointer

    init() throws {
        var context: OpaquePointer?
        let code = LZ4F_createDecompressionContext(&context, UInt32(LZ4F_VERSION))
        guard LZ4F_isError(code) == 0, let context else { throw LZ4OutOfMemory() }
        self.context = context
    }

    deinit {
        LZ4F_freeDecompressionContext(context)
    }

    /// Reads one frame that gives exactly one page.
    func unpack(
        _ pgno: Pgno,
        from input: inout InputBuffer,
        into page: UnsafeMutableRawBufferPointer
    ) throws {
        let offset = input.position
        guard try input.require(4) else {
            throw LTXError.truncated(.pageData, offset: input.endOffset)
        }
        // The library would also step over skippable frames, of up to 4 GiB.
        let magic = UInt32(littleEndian: input.bytes.loadUnaligned(as: UInt32.self))
        guard magic == LZ4FrameContext.magic else {
            throw LTXError.compression(.frameMagic(magic), pgno: pgno, offset: offset)
        }
        LZ4F_resetDecompressionContext(context)
        var produced = 0
        var hint = 1
        while hint != 0 {
            guard try input.require(1) else {
                throw LTXError.truncated(.pageData, offset: input.endOffset)
            }
            var taken = input.bytes.count
            var given = page.count - produced
            if given > 0 {
                hint = LZ4F_decompress(
                    context,
                    page.baseAddress.map { $0 + produced },
                    &given,
                    input.bytes.baseAddress,
                    &taken,
                    nil
                )
            } else {
                // The page is full: a frame that goes on gives itself away by one byte more. Fed
                // byte by byte, it does so before anything that follows can be wrong.
                var spare: UInt8 = 0
                given = 1
                taken = 1
                hint = LZ4F_decompress(
                    context,
                    &spare,
                    &given,
                    input.bytes.baseAddress,
                    &taken,
                    nil
                )
            }
            guard LZ4F_isError(hint) == 0 else {
                let message = String(cString: LZ4F_getErrorName(hint))
                throw LTXError.compression(.frame(message), pgno: pgno, offset: offset)
            }
            guard taken > 0 || given > 0 else {
                throw LTXError.compression(.frame("no progress"), pgno: pgno, offset: offset)
            }
            input.consume(taken)
            produced += given
            guard produced <= page.count else { break }
        }
        guard produced == page.count else {
            throw LTXError.pageLength(
                produced,
                pageSize: UInt32(page.count),
                pgno: pgno,
                offset: offset
            )
        }
    }
}

/// The LZ4 library could not get memory for its state.
struct LZ4OutOfMemory: Error {}
