import SQLiteWAL
import Testing

@Suite("the wal-index header")
struct WALIndexHeaderTests {
    @Test("a wal-index header that is not whole is not read", arguments: 0..<136)
    func damagedIndex(offset: Int) throws {
        var bytes = [UInt8](repeating: 0, count: 136)
        bytes.withUnsafeBytes { #expect(WALIndexHeader.read(from: $0) == nil) }
        bytes = Self.indexBytes
        bytes.withUnsafeBytes { #expect(WALIndexHeader.read(from: $0) != nil) }
        bytes.withUnsafeBytes {
            let cut = UnsafeRawBufferPointer(rebasing: $0[..<offset])
            #expect(WALIndexHeader.read(from: cut) == nil)
        }
        bytes[offset] ^= 0x40
        let damaged = bytes.withUnsafeBytes { WALIndexHeader.read(from: $0) }
        #expect((damaged == nil) == (offset < 96))
        // Both copies changed alike: only the checksum can tell.
        guard offset < 48 else { return }
        bytes[offset + 48] ^= 0x40
        #expect(bytes.withUnsafeBytes { WALIndexHeader.read(from: $0) } == nil)
    }

    /// The first bytes of a real `-shm`, little-endian.
    private static let indexBytes: [UInt8] = {
        var copy: [UInt32] = [3_007_000, 0, 9, 0x1000_0001, 3, 2, 0x1234, 0x5678, 0x0100, 0x99]
        var sums: (UInt32, UInt32) = (0, 0)
        for at in stride(from: 0, to: 10, by: 2) {
            sums.0 = sums.0 &+ copy[at] &+ sums.1
            sums.1 = sums.1 &+ copy[at + 1] &+ sums.0
        }
        copy += [sums.0, sums.1]
        let words = copy + copy + [UInt32](repeating: 0, count: 10)
        return words.withUnsafeBytes { Array($0) }
    }()
}
