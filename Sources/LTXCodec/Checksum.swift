/// A checksum as LTX files store it: 63 bits of CRC-64 with bit 63 set, or 0 for none.
public struct Checksum: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public var rawValue: UInt64

    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Marks a CRC as a checksum that is there.
    public init(crc: UInt64) {
        rawValue = crc | Checksum.flag
    }

    /// No checksum is kept.
    public static let none = Checksum(rawValue: 0)

    /// Bit 63, set in every checksum that is there.
    static let flag: UInt64 = 1 << 63

    /// Bit 63 is set.
    public var isPresent: Bool {
        rawValue & Checksum.flag != 0
    }

    public var description: String {
        Hexadecimal.text(rawValue)
    }
}

/// The checksum of one page: CRC-64 of its number (4 bytes, big-endian) and its bytes.
public func pageChecksum(pgno: Pgno, page: UnsafeRawBufferPointer) -> Checksum {
    var crc = CRC64()
    withUnsafeBytes(of: pgno.bigEndian) { crc.update($0) }
    crc.update(page)
    return Checksum(crc: crc.value)
}

/// The rolling checksum of a whole database: the XOR of its pages' checksums.
///
/// A page's change is two toggles: its old checksum out, its new one in. The lock page counts
/// for nothing. An empty database has bit 63 alone.
public struct DatabaseChecksum: Hashable, Sendable {
    private var bits: UInt64 = 0

    /// Starts with an empty database.
    public init() {}

    /// Goes on from a known state, such as a header's pre-apply checksum.
    public init(_ start: Checksum) {
        bits = start.rawValue
    }

    /// Takes a page in, or out if it was in.
    ///
    /// The lock page is left out, whose number follows from the size of `page`.
    public mutating func toggle(pgno: Pgno, page: UnsafeRawBufferPointer) {
        guard pgno != lockPgno(pageSize: UInt32(page.count)) else { return }
        toggle(pageChecksum(pgno: pgno, page: page))
    }

    /// Takes a page in, or out if it was in, by its checksum; never the lock page's.
    public mutating func toggle(_ checksum: Checksum) {
        bits ^= checksum.rawValue
    }

    public var value: Checksum {
        Checksum(crc: bits)
    }
}
