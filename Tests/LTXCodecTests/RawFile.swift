import CLZ4
import LTXCodec

/// An LTX file put together part by part, so that any part can be odd or wrong while the index
/// and the file checksum fit the rest.
struct RawFile {
    var header: LTXHeader
    var frames: [Frame] = []
    var postApplyChecksum = Checksum.none

    /// Everything between two page headers, and the page that the checksum is made over.
    struct Frame {
        var pgno: Pgno
        var flags: UInt16
        var stored: [UInt8]
        var page: [UInt8]

        /// As Litestream 0.5.17 stores a page.
        static func block(_ pgno: Pgno, _ page: [UInt8]) -> Frame {
            var block = [Int8](repeating: 0, count: Int(LZ4_compressBound(Int32(page.count))))
            let size = page.withUnsafeBytes { page in
                LZ4_compress_default(
                    page.baseAddress,
                    &block,
                    Int32(page.count),
                    Int32(block.count)
                )
            }
            let bytes = block.prefix(Int(size)).map { UInt8(bitPattern: $0) }
            return Frame(pgno: pgno, flags: 1, stored: bigEndian(UInt32(size)) + bytes, page: page)
        }

        /// As Litestream 0.5.5 stores a page: an LZ4 frame with a content checksum.
        static func frame(_ pgno: Pgno, _ page: [UInt8]) -> Frame {
            var preferences = LZ4F_preferences_t()
            preferences.frameInfo.blockSizeID = LZ4F_max64KB
            preferences.frameInfo.blockMode = LZ4F_blockIndependent
            preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled
            var frame = [UInt8](
                repeating: 0,
                count: LZ4F_compressFrameBound(page.count, &preferences)
            )
            let size = page.withUnsafeBytes { page in
                LZ4F_compressFrame(
                    &frame,
                    frame.count,
                    page.baseAddress,
                    page.count,
                    &preferences
                )
            }
            return Frame(pgno: pgno, flags: 0, stored: Array(frame.prefix(size)), page: page)
        }
    }

    var bytes: [UInt8] {
        var file = [UInt8](repeating: 0, count: LTXHeader.size)
        file.withUnsafeMutableBytes { header.encode(into: $0) }
        var crc = CRC64()
        crc.add(file)
        var index: [UInt8] = []
        for frame in frames {
            let head = bigEndian(frame.pgno) + bigEndian(frame.flags)
            for number in [Int(frame.pgno), file.count, head.count + frame.stored.count] {
                index += varint(UInt64(number))
            }
            file += head + frame.stored
            crc.add(head)
            if frame.flags & 1 != 0 { crc.add(Array(frame.stored.prefix(4))) }
            crc.add(frame.page)
        }
        index.append(0)
        let end =
            [UInt8](repeating: 0, count: 6) + index + bigEndian(UInt64(index.count))
            + bigEndian(postApplyChecksum.rawValue)
        crc.add(end)
        return file + end + bigEndian(Checksum(crc: crc.value).rawValue)
    }
}

func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.bigEndian) { Array($0) }
}

private func varint(_ value: UInt64) -> [UInt8] {
    value < 0x80 ? [UInt8(value)] : [UInt8(value & 0x7F) | 0x80] + varint(value >> 7)
}

extension CRC64 {
    fileprivate mutating func add(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { update($0) }
    }
}
