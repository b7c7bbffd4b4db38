import LTXCodec
import TestSupport
import Testing

@Suite("CRC-64")
struct CRC64Tests {
    /// The definition: one byte at a time, one bit at a time.
    private func definition(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var register = UInt64.max
        for byte in bytes {
            register ^= UInt64(byte)
            for _ in 0..<8 {
                register = register & 1 == 1 ? register >> 1 ^ 0xD800_0000_0000_0000 : register >> 1
            }
        }
        return ~register
    }

    private func fast(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        var crc = CRC64()
        bytes.withUnsafeBytes { crc.update($0) }
        return crc.value
    }

    private func portable(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        var crc = CRC64()
        bytes.withUnsafeBytes { crc.updatePortably($0) }
        return crc.value
    }

    @Test("the check value is the published one")
    func checkValue() {
        let digits = Array("123456789".utf8)
        #expect(fast(digits[...]) == 0xB909_56C7_75A4_1001)
        #expect(portable(digits[...]) == 0xB909_56C7_75A4_1001)
        #expect(CRC64().value == 0)
    }

    @Test("both ways equal the definition at every length and alignment")
    func lengths() {
        var random = SeededGenerator(seed: 64)
        let bytes = (0..<400).map { _ in UInt8.random(in: 0...255, using: &random) }
        for length in 0...300 {
            for start in 0..<17 {
                let slice = bytes[start..<start + length]
                let expected = definition(slice)
                #expect(fast(slice) == expected, "length \(length) from \(start)")
                #expect(portable(slice) == expected, "length \(length) from \(start)")
            }
        }
    }

    @Test("bytes may come in any pieces", arguments: 0..<32)
    func splits(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let bytes = (0..<70_000).map { _ in UInt8.random(in: 0...255, using: &random) }
        var crc = CRC64()
        var place = 0
        while place < bytes.count {
            let most = [3, 40, 400, 20_000].randomElement(using: &random) ?? 1
            let count = min(Int.random(in: 0...most, using: &random), bytes.count - place)
            bytes[place..<place + count].withUnsafeBytes { crc.update($0) }
            place += count
        }
        #expect(crc.value == definition(bytes))
    }

    @Test("every single bit of a page matters")
    func singleBits() {
        var page = [UInt8](repeating: 0, count: 512)
        var seen = Set([fast(page[...])])
        for bit in 0..<512 * 8 {
            page[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(fast(page[...]) == portable(page[...]))
            seen.insert(fast(page[...]))
            page[bit / 8] = 0
        }
        #expect(seen.count == 512 * 8 + 1)
    }
}
