/// Times as text, `2026-11-30T08:38:28.351Z`, without Foundation and without a locale.
public enum RFC3339 {
    /// The UTC text of a time in milliseconds since 1970.
    public static func text(_ milliseconds: Int64) -> String {
        let (days, inDay) = floorDivide(milliseconds, 86_400_000)
        let (year, month, day) = date(daysSince1970: days)
        let (seconds, fraction) = floorDivide(inDay, 1000)
        let date = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
        let hour = padded(seconds / 3600, 2)
        let minute = padded(seconds / 60 % 60, 2)
        return "\(date)T\(hour):\(minute):\(padded(seconds % 60, 2)).\(padded(fraction, 3))Z"
    }

    /// Reads `YYYY-MM-DDTHH:MM:SS[.fraction](Z|±HH:MM)`; `nil` for anything else.
    ///
    /// A space may stand for the `T`. Digits beyond the millisecond are cut off.
    ///
    /// - Returns: Milliseconds since 1970.
    public static func milliseconds(_ text: String) -> Int64? {
        var reader = Reader(text)
        guard let year = reader.number(4), reader.skip("-"),
            let month = reader.number(2), (1...12).contains(month), reader.skip("-"),
            let day = reader.number(2), day >= 1, day <= daysIn(month: month, year: year),
            reader.skip("Tt "),
            let hour = reader.number(2), hour < 24, reader.skip(":"),
            let minute = reader.number(2), minute < 60, reader.skip(":"),
            let second = reader.number(2), second < 60,
            let fraction = reader.fraction(),
            let offset = reader.offset(), reader.isAtEnd
        else { return nil }
        let days = daysSince1970(year: year, month: month, day: day)
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset
        return seconds * 1000 + fraction
    }

    private struct Reader {
        private var rest: Substring.UTF8View

        init(_ text: String) {
            rest = Substring(text).utf8
        }

        var isAtEnd: Bool { rest.isEmpty }

        mutating func skip(_ any: String) -> Bool {
            guard let first = rest.first, any.utf8.contains(first) else { return false }
            rest.removeFirst()
            return true
        }

        mutating func number(_ digits: Int) -> Int64? {
            let text = rest.prefix(digits)
            guard text.count == digits, text.allSatisfy(RFC3339.isDigit) else { return nil }
            rest.removeFirst(digits)
            return text.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        }

        /// Milliseconds; 0 where no fraction stands, `nil` for a point without digits.
        mutating func fraction() -> Int64? {
            guard skip(".") else { return 0 }
            let digits = rest.prefix(while: RFC3339.isDigit)
            guard !digits.isEmpty else { return nil }
            rest.removeFirst(digits.count)
            let padded = Array(digits.prefix(3)) + [48, 48, 48]
            return padded.prefix(3).reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        }

        /// Seconds east of UTC.
        mutating func offset() -> Int64? {
            if skip("Zz") { return 0 }
            let sign: Int64 = skip("+") ? 1 : -1
            guard sign == 1 || skip("-"),
                let hours = number(2), hours < 24, skip(":"),
                let minutes = number(2), minutes < 60
            else { return nil }
            return sign * (hours * 3600 + minutes * 60)
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func padded(_ value: Int64, _ width: Int) -> String {
        let digits = String(value.magnitude)
        let zeros = String(repeating: "0", count: max(0, width - digits.utf8.count))
        return (value < 0 ? "-" : "") + zeros + digits
    }

    private static func floorDivide(_ value: Int64, _ divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    private static func daysIn(month: Int64, year: Int64) -> Int64 {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return switch month {
        case 2: isLeap ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    // A year is counted from March here, so that the leap day is its last; an era is 400 years.

    private static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let (era, yearOfEra) = floorDivide(month > 2 ? year : year - 1, 400)
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private static func date(daysSince1970 days: Int64) -> (Int64, Int64, Int64) {
        let (era, dayOfEra) = floorDivide(days + 719_468, 146_097)
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }
}
