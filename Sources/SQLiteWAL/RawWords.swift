extension UnsafeRawBufferPointer {
    /// The big-endian 32-bit word at an offset that the caller has checked.
    func bigEndianWord(at offset: Int) -> UInt32 {
        UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    /// The 32-bit word at an offset that the caller has checked, in the machine's byte order.
    func nativeWord(at offset: Int) -> UInt32 {
        loadUnaligned(fromByteOffset: offset, as: UInt32.self)
    }
}

/// Eight hexadecimal digits with their prefix, the way SQLite's documents write such words.
func hex(_ value: UInt32) -> String {
    let digits = String(value, radix: 16)
    return "0x" + String(repeating: "0", count: 8 - digits.count) + digits
}
