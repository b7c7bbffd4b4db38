/// Unsigned numbers in groups of seven bits, the lowest first, bit 7 set in all bytes but the last.
enum Varint {
    /// Bytes of the longest 64-bit number.
    static let maxSize = 10

    enum Outcome {
        case value(UInt64, size: Int)
        /// The bytes end before the number does.
        case incomplete
        /// More than 64 bits.
        case overflow
    }

    @inline(__always)
    static func decode(_ bytes: UnsafeRawBufferPointer, at start: Int) -> Outcome {
        var value: UInt64 = 0
        for count in 0..<maxSize {
            guard start + count < bytes.count else { return .incomplete }
            let byte = bytes[start + count]
            if count == maxSize - 1, byte > 1 { return .overflow }
            value |= UInt64(byte & 0x7F) << UInt64(7 * count)
            if byte < 0x80 { return .value(value, size: count + 1) }
        }
        return .overflow
    }

    /// Writes a number and says how many bytes it took; there must be room for ten.
    @inline(__always)
    static func encode(_ value: UInt64, to destination: UnsafeMutableRawPointer) -> Int {
        var value = value
        var count = 0
        while value >= 0x80 {
            destination.storeBytes(
                of: UInt8(value & 0x7F) | 0x80,
                toByteOffset: count,
                as: UInt8.self
            )
            value >>= 7
            count += 1
        }
        destination.storeBytes(of: UInt8(value), toByteOffset: count, as: UInt8.self)
        return count + 1
    }
}
