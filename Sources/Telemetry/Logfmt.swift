import Glibc

/// Writes a record as one line of `key=value` pairs.
///
/// A value that holds anything but printable characters without space, quote, `=` and
/// backslash is quoted; inside quotes, `\"`, `\\`, `\n`, `\r`, `\t` and `\xNN` stand for what
/// cannot be there. Bytes that are not UTF-8 become `\xNN`, too, so a line is always text.
package enum Logfmt {
    /// - Returns: The line with its newline.
    package static func line(_ record: JournalRecord, seconds: Int64, nanoseconds: Int) -> [UInt8] {
        var line = Array("time=".utf8)
        line += Array(timestamp(seconds: seconds, nanoseconds: nanoseconds).utf8)
        append("level", Array(record.priority.name.utf8), to: &line)
        append("msg", Array(record.message.utf8), to: &line)
        append("kind", Array(record.kind.rawValue.utf8), to: &line)
        for entry in record.entries {
            append(entry.field.logfmtKey, entry.value.bytes, to: &line)
        }
        line.append(UInt8(ascii: "\n"))
        return line
    }

    private static func append(_ key: String, _ value: [UInt8], to line: inout [UInt8]) {
        line.append(UInt8(ascii: " "))
        line += Array(key.utf8)
        line.append(UInt8(ascii: "="))
        let needsQuotes = value.isEmpty || !value.allSatisfy(isBare)
        if needsQuotes { appendQuoted(value, to: &line) } else { line += value }
    }

    private static func isBare(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "=")
            && byte != UInt8(ascii: "\\")
    }

    private static func appendQuoted(_ value: [UInt8], to line: inout [UInt8]) {
        line.append(UInt8(ascii: "\""))
        var rest = value[...]
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "\""): line += Array("\\\"".utf8)
            case UInt8(ascii: "\\"): line += Array("\\\\".utf8)
            case UInt8(ascii: "\n"): line += Array("\\n".utf8)
            case UInt8(ascii: "\r"): line += Array("\\r".utf8)
            case UInt8(ascii: "\t"): line += Array("\\t".utf8)
            case 0x20...0x7E: line.append(byte)
            default:
                let length = printableLength(of: rest)
                if length > 0 {
                    line += rest.prefix(length)
                    rest = rest.dropFirst(length)
                    continue
                }
                line += Array("\\x".utf8)
                line.append(hexDigit(byte >> 4))
                line.append(hexDigit(byte & 15))
            }
            rest = rest.dropFirst()
        }
        line.append(UInt8(ascii: "\""))
    }

    /// Length of the character at the start when it is more than one byte and may be printed.
    ///
    /// C1 controls (U+0080 to U+009F) are not: terminals obey them.
    private static func printableLength(of bytes: ArraySlice<UInt8>) -> Int {
        let length =
            switch bytes.first ?? 0 {
            case 0xC2...0xDF: 2
            case 0xE0...0xEF: 3
            case 0xF0...0xF4: 4
            default: 0
            }
        guard length > 0, bytes.count >= length,
            let character = String(validating: bytes.prefix(length), as: UTF8.self),
            let scalar = character.unicodeScalars.first, scalar.value >= 0xA0,
            // Line and paragraph separator end a line for some readers.
            scalar.value != 0x2028, scalar.value != 0x2029
        else { return 0 }
        return length
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    /// UTC with milliseconds, as RFC 3339 writes it.
    private static func timestamp(seconds: Int64, nanoseconds: Int) -> String {
        var time = time_t(seconds)
        var parts = tm()
        guard gmtime_r(&time, &parts) != nil else { return String(seconds) }
        func padded(_ value: Int, _ width: Int = 2) -> String {
            let digits = String(value)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let date = [
            padded(Int(parts.tm_year) + 1_900, 4), padded(Int(parts.tm_mon) + 1),
            padded(Int(parts.tm_mday)),
        ].joined(separator: "-")
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { padded(Int($0)) }
            .joined(separator: ":")
        return "\(date)T\(clock).\(padded(nanoseconds / 1_000_000, 3))Z"
    }
}
