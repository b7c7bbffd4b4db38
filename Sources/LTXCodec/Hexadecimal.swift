/// Numbers as fixed-width hexadecimal text, without Foundation.
enum Hexadecimal {
    /// All bits of a number, two lower-case digits a byte.
    static func text(_ value: some FixedWidthInteger & UnsignedInteger) -> String {
        let digits = String(value, radix: 16)
        let width = value.bitWidth / 4
        return String(repeating: "0", count: width - digits.utf8.count) + digits
    }

    /// The number that 1 to 16 hexadecimal digits of either case stand for.
    static func number(_ text: some Sequence<UInt8>) -> UInt64? {
        var value: UInt64 = 0
        var count = 0
        for byte in text {
            guard let digit = digit(byte), count < 16 else { return nil }
            value = value << 4 | digit
            count += 1
        }
        return count == 0 ? nil : value
    }

    private static func digit(_ byte: UInt8) -> UInt64? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}
