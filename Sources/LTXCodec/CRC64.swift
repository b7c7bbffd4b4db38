internal import CCRC64

/// CRC-64/GO-ISO, the checksum of the LTX format.
///
/// Reflected polynomial 0xD800000000000000 (x⁶⁴ + x⁴ + x³ + x + 1), register preset to all ones
/// and inverted at the end. The check value of the ASCII digits 1 to 9 is 0xB90956C775A41001.
public struct CRC64: Hashable, Sendable {
    private var register: UInt64 = .max

    public init() {}

    /// The CRC of all bytes so far.
    public var value: UInt64 {
        ~register
    }

    /// Adds bytes.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        let tables = CRC64Tables.shared
        guard bytes.count >= 64, tables.canFold, let base = bytes.baseAddress else {
            register = tables.advance(register, over: bytes)
            return
        }
        let folded = bytes.count & ~15
        let remnant = crc64_fold(register, base, folded)
        register = tables.advance(0, first: remnant.first, second: remnant.second)
        register = tables.advance(
            register,
            over: UnsafeRawBufferPointer(rebasing: bytes[folded...])
        )
    }

    /// Adds bytes without the processor's help, as `update` does where it has none to give.
    package mutating func updatePortably(_ bytes: UnsafeRawBufferPointer) {
        register = CRC64Tables.shared.advance(register, over: bytes)
    }
}

/// What one byte does to the register when 0 to 15 bytes follow it: 16 bytes go in one step.
private struct CRC64Tables: @unchecked Sendable {
    // @unchecked because the tables are written once, before anyone else sees the pointer, and
    // never freed.
    private let entries: UnsafePointer<UInt64>
    let canFold: Bool

    static let shared = CRC64Tables()

    private init() {
        let entries = UnsafeMutablePointer<UInt64>.allocate(capacity: 16 * 256)
        for byte in 0..<256 {
            var register = UInt64(byte)
            for _ in 0..<8 {
                register = register & 1 == 1 ? register >> 1 ^ 0xD800_0000_0000_0000 : register >> 1
            }
            entries[byte] = register
        }
        for index in 256..<16 * 256 {
            let shorter = entries[index - 256]
            entries[index] = entries[Int(shorter & 0xFF)] ^ shorter >> 8
        }
        self.entries = UnsafePointer(entries)
        canFold = crc64_can_fold() != 0
    }

    func advance(_ register: UInt64, over bytes: UnsafeRawBufferPointer) -> UInt64 {
        guard var next = bytes.baseAddress else { return register }
        var register = register
        var left = bytes.count
        while left >= 16 {
            register = advance(
                register,
                first: UInt64(littleEndian: next.loadUnaligned(as: UInt64.self)),
                second: UInt64(littleEndian: next.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
            next += 16
            left -= 16
        }
        while left > 0 {
            let byte = UInt64(next.load(as: UInt8.self))
            register = entries[Int((register ^ byte) & 0xFF)] ^ register >> 8
            next += 1
            left -= 1
        }
        return register
    }

    @inline(__always)
    func advance(_ register: UInt64, first: UInt64, second: UInt64) -> UInt64 {
        let first = first ^ register
        return half(first, table: 15) ^ half(second, table: 7)
    }

    /// Eight bytes, of which the first is followed by `table` more.
    @inline(__always)
    private func half(_ word: UInt64, table: Int) -> UInt64 {
        let row = entries + table * 256
        return row[Int(word & 0xFF)]
            ^ (row - 256)[Int(word >> 8 & 0xFF)]
            ^ (row - 2 * 256)[Int(word >> 16 & 0xFF)]
            ^ (row - 3 * 256)[Int(word >> 24 & 0xFF)]
            ^ (row - 4 * 256)[Int(word >> 32 & 0xFF)]
            ^ (row - 5 * 256)[Int(word >> 40 & 0xFF)]
            ^ (row - 6 * 256)[Int(word >> 48 & 0xFF)]
            ^ (row - 7 * 256)[Int(word >> 56)]
    }
}
