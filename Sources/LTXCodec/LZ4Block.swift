/// What the LZ4 library leaves open about blocks.
enum LZ4Block {
    /// Says whether a match of a block has offset 0.
    ///
    /// The library takes such a match for whatever the page buffer held before (seen with 1.9.4),
    /// so that the same file gives different pages.
    ///
    /// - Parameter block: A block that the library has unpacked.
    /// - Returns: Whether there is one.
    static func hasZeroOffset(_ block: UnsafeRawBufferPointer) -> Bool {
        guard let base = block.baseAddress else { return false }
        let end = base + block.count
        // Nothing behind the last two zero bytes of a block can be one: that saves most of the way.
        let last = base + lastZeroPair(block)
        var next = base
        while next < last {
            let token = next.load(as: UInt8.self)
            next += 1
            var literals = Int(token >> 4)
            if literals == 15 {
                literals += extraLength(&next, end)
            }
            guard end - next >= literals + 2 else { return false }
            next += literals
            if next.loadUnaligned(as: UInt16.self) == 0 { return true }
            next += 2
            if token & 15 == 15 {
                _ = extraLength(&next, end)
            }
        }
        return false
    }

    @inline(__always)
    private static func extraLength(
        _ next: inout UnsafeRawPointer,
        _ end: UnsafeRawPointer
    ) -> Int {
        var length = 0
        while next < end {
            let byte = next.load(as: UInt8.self)
            next += 1
            length += Int(byte)
            if byte != 255 { break }
        }
        return length
    }

    /// The end of the last two neighbouring zero bytes, or a place behind it.
    private static func lastZeroPair(_ block: UnsafeRawBufferPointer) -> Int {
        guard let base = block.baseAddress else { return 0 }
        var end = block.count
        while end >= 33 {
            // 32 pairs at a time: OR a byte with its neighbour, then look for a zero byte.
            let start = base + (end - 33)
            let pairs =
                start.loadUnaligned(as: SIMD4<UInt64>.self)
                | start.loadUnaligned(fromByteOffset: 1, as: SIMD4<UInt64>.self)
            let zeros = (pairs &- 0x0101_0101_0101_0101) & ~pairs & 0x8080_8080_8080_8080
            let halves = zeros.lowHalf | zeros.highHalf
            if halves.x | halves.y != 0 { return end }
            end -= 32
        }
        return end
    }
}
