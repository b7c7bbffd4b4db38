import LTXCodec
import Testing

@Suite("Checksums")
struct ChecksumTests {
    @Test(
        "the lock page holds byte 0x40000000",
        arguments: [(512, 2_097_153), (4096, 262_145), (65536, 16385)] as [(UInt32, Pgno)]
    )
    func lockPage(pageSize: UInt32, pgno: Pgno) {
        #expect(lockPgno(pageSize: pageSize) == pgno)
        let start = UInt64(pgno - 1) * UInt64(pageSize)
        #expect((start..<start + UInt64(pageSize)).contains(0x4000_0000))
    }

    @Test("a page's checksum covers its number")
    func pageNumberCounts() {
        let page = [UInt8](repeating: 7, count: 512)
        let checksums = page.withUnsafeBytes { page in
            (1...3).map { pageChecksum(pgno: $0, page: page) }
        }
        #expect(Set(checksums).count == 3)
        #expect(checksums.filter(\.isPresent) == checksums)
        #expect(!Checksum.none.isPresent)
        #expect("\(Checksum.none)" == "0000000000000000")
    }

    @Test("the database checksum does not depend on the way to a state")
    func rolls() {
        let old = [UInt8](repeating: 1, count: 512)
        let new = [UInt8](repeating: 2, count: 512)
        var direct = DatabaseChecksum()
        new.withUnsafeBytes { direct.toggle(pgno: 1, page: $0) }
        old.withUnsafeBytes { direct.toggle(pgno: 2, page: $0) }

        var rolled = DatabaseChecksum()
        old.withUnsafeBytes { page in
            rolled.toggle(pgno: 2, page: page)
            rolled.toggle(pgno: 1, page: page)
        }
        rolled = DatabaseChecksum(rolled.value)
        old.withUnsafeBytes { rolled.toggle(pgno: 1, page: $0) }
        new.withUnsafeBytes { rolled.toggle(pgno: 1, page: $0) }
        #expect(rolled.value == direct.value)
    }

    @Test("an empty database has bit 63 alone, whatever was in it before")
    func empty() {
        var checksum = DatabaseChecksum()
        #expect(checksum.value.rawValue == 1 << 63)
        let page = [UInt8](repeating: 9, count: 512)
        page.withUnsafeBytes { page in
            checksum.toggle(pgno: 1, page: page)
            checksum.toggle(pgno: 1, page: page)
        }
        #expect(checksum.value.rawValue == 1 << 63)
    }

    // BUGS B01
    @Test("the lock page counts for nothing in the database checksum")
    func skipsLockPage() {
        var checksum = DatabaseChecksum()
        let page = [UInt8](repeating: 9, count: 65536)
        page.withUnsafeBytes { checksum.toggle(pgno: 16385, page: $0) }
        #expect(checksum == DatabaseChecksum())
        page.withUnsafeBytes { checksum.toggle(pgno: 16386, page: $0) }
        #expect(checksum != DatabaseChecksum())
    }
}
