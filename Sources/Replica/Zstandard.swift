import CZstd

/// Why bytes are no Zstandard stream that can be taken.
package enum ZstandardError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The bytes end inside a frame.
    case truncated
    /// The library's words.
    case damaged(String)
    /// It unpacks to more than this many bytes.
    case tooLarge(limit: Int64)

    package var description: String {
        switch self {
        case .truncated: "the compressed data end too early"
        case .damaged(let why): "the compressed data cannot be unpacked: \(why)"
        case .tooLarge(let limit): "the data unpack to more than \(limit) bytes"
        }
    }
}

/// Zstandard streams, in constant memory.
package enum Zstandard {
    /// What a stream begins with (RFC 8878, section 3.1.1).
    package static let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]

    /// The largest window that is unpacked, 32 MiB: every level up to 19 keeps within 8 MiB, and
    /// whoever asks for more would have our memory.
    private static let windowLog: Int32 = 25

    /// Unpacks a stream.
    ///
    /// - Parameters:
    ///   - limit: Bytes that may come out at most; one more is an error, and nothing of the rest is
    ///     unpacked.
    ///   - read: Fills a buffer from its start and says by how many bytes, 0 at the end.
    ///   - write: Takes the next bytes, all of them.
    /// - Returns: Bytes that came out.
    /// - Throws: `ZstandardError`; what `read` and `write` throw.
    package static func decompress(
        limit: Int64,
        read: (UnsafeMutableRawBufferPointer) throws -> Int,
        write: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> Int64 {
        let context = try DecompressionContext(windowLog: windowLog)
        let input = StreamBuffer(count: ZSTD_DStreamInSize())
        let output = StreamBuffer(count: ZSTD_DStreamOutSize())
        var total: Int64 = 0
        // 0 between two frames, where a stream may end.
        var due = 1
        while true {
            let count = try read(input.bytes)
            guard count > 0 else { break }
            var source = ZSTD_inBuffer(src: input.bytes.baseAddress, size: count, pos: 0)
            var isFull = false
            // A full buffer may not have been all; at a frame's end it was.
            while source.pos < source.size || (isFull && due != 0) {
                var target = ZSTD_outBuffer(
                    dst: output.bytes.baseAddress,
                    size: output.bytes.count,
                    pos: 0
                )
                due = ZSTD_decompressStream(context.raw, &target, &source)
                guard ZSTD_isError(due) == 0 else {
                    throw ZstandardError.damaged(String(cString: ZSTD_getErrorName(due)))
                }
                isFull = target.pos == target.size
                total += Int64(target.pos)
                guard total <= limit else { throw ZstandardError.tooLarge(limit: limit) }
                if target.pos > 0 {
                    try write(UnsafeRawBufferPointer(rebasing: output.bytes[..<target.pos]))
                }
            }
        }
        guard due == 0 else { throw ZstandardError.truncated }
        return total
    }

    /// Packs a stream, with a checksum at its end.
    ///
    /// - Parameters:
    ///   - level: 1, the fastest, to 19.
    ///   - read: Fills a buffer from its start and says by how many bytes, 0 at the end.
    ///   - write: Takes the next bytes, all of them.
    /// - Returns: Bytes that came out.
    /// - Throws: `ZstandardError`; what `read` and `write` throw.
    @discardableResult
    package static func compress(
        level: Int32 = 3,
        read: (UnsafeMutableRawBufferPointer) throws -> Int,
        write: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> Int64 {
        let context = try CompressionContext(level: level)
        let input = StreamBuffer(count: ZSTD_CStreamInSize())
        let output = StreamBuffer(count: ZSTD_CStreamOutSize())
        var total: Int64 = 0
        var isEnding = false
        while !isEnding {
            let count = try read(input.bytes)
            isEnding = count == 0
            var source = ZSTD_inBuffer(src: input.bytes.baseAddress, size: count, pos: 0)
            var left = 1
            while source.pos < source.size || (isEnding && left != 0) {
                var target = ZSTD_outBuffer(
                    dst: output.bytes.baseAddress,
                    size: output.bytes.count,
                    pos: 0
                )
                left = ZSTD_compressStream2(
                    context.raw,
                    &target,
                    &source,
                    isEnding ? ZSTD_e_end : ZSTD_e_continue
                )
                guard ZSTD_isError(left) == 0 else {
                    throw ZstandardError.damaged(String(cString: ZSTD_getErrorName(left)))
                }
                total += Int64(target.pos)
                if target.pos > 0 {
                    try write(UnsafeRawBufferPointer(rebasing: output.bytes[..<target.pos]))
                }
            }
        }
        return total
    }
}

private final class DecompressionContext {
    let raw: OpaquePointer

    init(windowLog: Int32) throws {
        guard let raw = ZSTD_createDCtx() else { throw ZstandardError.damaged("out of memory") }
        self.raw = raw
        ZSTD_DCtx_setParameter(raw, ZSTD_d_windowLogMax, windowLog)
    }

    deinit {
        ZSTD_freeDCtx(raw)
    }
}

private final class CompressionContext {
    let raw: OpaquePointer

    init(level: Int32) throws {
        guard let raw = ZSTD_createCCtx() else { throw ZstandardError.damaged("out of memory") }
        self.raw = raw
        ZSTD_CCtx_setParameter(raw, ZSTD_c_compressionLevel, level)
        ZSTD_CCtx_setParameter(raw, ZSTD_c_checksumFlag, 1)
    }

    deinit {
        ZSTD_freeCCtx(raw)
    }
}

private final class StreamBuffer {
    let bytes: UnsafeMutableRawBufferPointer

    init(count: Int) {
        bytes = .allocate(byteCount: count, alignment: 16)
    }

    deinit {
        bytes.deallocate()
    }
}
