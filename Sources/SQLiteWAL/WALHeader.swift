/// The first 32 bytes of a WAL: one generation's page size, salts and checksum.
///
/// | bytes | field |
/// | --- | --- |
/// | 0–3 | magic: 0x377f0682, or 0x377f0683 with big-endian checksums |
/// | 4–7 | version, 3007000 |
/// | 8–11 | page size (65536 is stored as it is) |
/// | 12–15 | checkpoint sequence number, one more after each restart |
/// | 16–23 | salts |
/// | 24–31 | checksum of bytes 0–23 |
///
/// All fields are big-endian. Source: SQLite file format, section 4.1.
public struct WALHeader: Hashable, Sendable {
    /// Bytes of a header in the file.
    public static let size = 32

    /// The one value of the version field.
    public static let version: UInt32 = 3_007_000

    /// Whether checksums read their words as big-endian: the low bit of the magic.
    public var bigEndianChecksums: Bool

    /// Bytes per page, a power of two in 512…65536.
    public var pageSize: UInt32

    /// The checkpoint sequence number.
    public var sequence: UInt32

    public var salt: WALSalt

    /// The checksum of the header, from which that of frame 1 goes on.
    public var checksum: WALChecksum

    /// Reads a header and checks every field, in the order in which SQLite's recovery does.
    ///
    /// - Parameter bytes: The start of the file, at least 32 bytes.
    /// - Throws: ``WALError`` naming the first field that is wrong.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(WALError) {
        guard bytes.count >= Self.size else { throw .truncatedHeader(size: bytes.count) }
        let magic = bytes.bigEndianWord(at: 0)
        guard magic & ~1 == 0x377f_0682 else { throw .magic(magic) }
        pageSize = bytes.bigEndianWord(at: 8)
        guard Self.isPageSize(pageSize) else { throw .pageSize(pageSize) }
        bigEndianChecksums = magic & 1 == 1
        checksum = WALChecksum(s1: bytes.bigEndianWord(at: 24), s2: bytes.bigEndianWord(at: 28))
        var computed = WALChecksum.zero
        computed.update(UnsafeRawBufferPointer(rebasing: bytes[..<24]), bigEndian: magic & 1 == 1)
        guard computed == checksum else {
            throw .headerChecksum(stored: checksum, computed: computed)
        }
        let version = bytes.bigEndianWord(at: 4)
        guard version == Self.version else { throw .version(version) }
        sequence = bytes.bigEndianWord(at: 12)
        salt = WALSalt(salt1: bytes.bigEndianWord(at: 16), salt2: bytes.bigEndianWord(at: 20))
    }

    /// The first four bytes of the file.
    public var magic: UInt32 { bigEndianChecksums ? 0x377f_0683 : 0x377f_0682 }

    /// Whether this generation is the very next one after that of a cursor: exactly one restart.
    ///
    /// A restart adds one to the first salt, modulo 2³². The sequence number is no help: each
    /// connection counts its own restarts, so with two writers it stands still or jumps. Only 0
    /// says something: that connection never restarted, and drew both salts by lot (after a
    /// TRUNCATE by another one). Nor does the answer say whether frames were written behind the
    /// cursor before the restart.
    public func isNextGeneration(after cursor: WALCursor) -> Bool {
        salt.salt1 == cursor.salt.salt1 &+ 1 && sequence != 0
    }

    /// Whether a page size is one that SQLite knows: a power of two in 512…65536.
    public static func isPageSize(_ size: UInt32) -> Bool {
        (512...65_536).contains(size) && size.nonzeroBitCount == 1
    }
}
