/// What is wrong with a write-ahead log, or with a place in one that a caller remembers.
///
/// The end of the valid frames is no error (see ``WALEnd``); these are logs that SQLite itself
/// would not read, and requests that no log could answer.
public enum WALError: Error, Hashable, Sendable {
    /// Fewer bytes than a WAL header has.
    case truncatedHeader(size: Int)
    /// Header bytes 0–3 are neither 0x377f0682 nor 0x377f0683.
    case magic(UInt32)
    /// Header bytes 4–7 are not 3007000, the only version there is.
    case version(UInt32)
    /// A page size that is not a power of two in 512…65536.
    case pageSize(UInt32)
    /// Header bytes 24–31 are not the checksum of bytes 0–23.
    case headerChecksum(stored: WALChecksum, computed: WALChecksum)
    /// A frame number of 0, or one whose successor does not fit in 32 bits; frames count from 1.
    case frameNumber(UInt32)
    /// The file ends before the end of a frame that was asked for by its number.
    case truncatedFrame(frame: UInt32, offset: Int64)
}

extension WALError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .truncatedHeader(let size):
            "WAL header is cut short: \(size) of \(WALHeader.size) bytes"
        case .magic(let value):
            "WAL header offset 0: magic \(hex(value)) is not 0x377f0682 or 0x377f0683"
        case .version(let value):
            "WAL header offset 4: version \(value) is not \(WALHeader.version)"
        case .pageSize(let value):
            "WAL header offset 8: page size \(value) is not a power of two in 512…65536"
        case .headerChecksum(let stored, let computed):
            "WAL header offset 24: checksum \(stored) is stored, \(computed) is computed"
        case .frameNumber(let value):
            "WAL frame number \(value) is outside 1…\(UInt32.max - 1)"
        case .truncatedFrame(let frame, let offset):
            "WAL frame \(frame) at offset \(offset) is cut short"
        }
    }
}
