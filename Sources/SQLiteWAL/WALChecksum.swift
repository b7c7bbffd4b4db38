/// The two salts of one generation of a WAL.
///
/// Every restart adds one to the first and draws the second at random, so frames of an earlier
/// generation that still lie in the file do not count. Source: SQLite file format, section 4.1.
public struct WALSalt: Hashable, Sendable {
    public var salt1: UInt32
    public var salt2: UInt32

    public init(salt1: UInt32, salt2: UInt32) {
        self.salt1 = salt1
        self.salt2 = salt2
    }
}

/// SQLite's running checksum over a WAL: two 32-bit sums that feed each other.
///
/// It starts at zero with the header's first 24 bytes and goes on over the first 8 bytes and the
/// page of each frame, so its value after a frame stands for everything before it.
/// Source: SQLite file format, section 4.2.
public struct WALChecksum: Hashable, Sendable {
    public var s1: UInt32
    public var s2: UInt32

    /// The value before the first byte.
    public static let zero = WALChecksum(s1: 0, s2: 0)

    public init(s1: UInt32, s2: UInt32) {
        self.s1 = s1
        self.s2 = s2
    }

    /// Goes on over some bytes, read as pairs of 32-bit words.
    ///
    /// - Parameters:
    ///   - bytes: A multiple of 8 bytes, at any alignment.
    ///   - bigEndian: How the words are read: the low bit of the WAL's magic.
    @inlinable
    public mutating func update(_ bytes: UnsafeRawBufferPointer, bigEndian: Bool) {
        precondition(bytes.count % 8 == 0, "the checksum goes by pairs of 32-bit words")
        // The choice of byte order stays outside the loop: this is where a scan spends its time.
        if bigEndian {
            sum(bytes) { UInt32(bigEndian: $0) }
        } else {
            sum(bytes) { UInt32(littleEndian: $0) }
        }
    }

    @inlinable
    @inline(__always)
    mutating func sum(_ bytes: UnsafeRawBufferPointer, _ word: (UInt32) -> UInt32) {
        guard var next = bytes.baseAddress else { return }
        let end = next + bytes.count
        var (s1, s2) = (s1, s2)
        while next < end {
            s1 = (s1 &+ word(next.loadUnaligned(as: UInt32.self))) &+ s2
            s2 = (s2 &+ word(next.loadUnaligned(fromByteOffset: 4, as: UInt32.self))) &+ s1
            next += 8
        }
        (self.s1, self.s2) = (s1, s2)
    }
}

extension WALChecksum: CustomStringConvertible {
    public var description: String { "\(hex(s1)) \(hex(s2))" }
}
