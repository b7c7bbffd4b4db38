import Glibc

extension HumanText {
    /// A moment in UTC with milliseconds, as RFC 3339 writes it.
    ///
    /// - Parameter milliseconds: Since 1970; any value.
    /// - Returns: The number itself for years that have no four digits.
    public static func timestamp(milliseconds: Int64) -> String {
        // Rounded down, also before 1970.
        let (quotient, remainder) = milliseconds.quotientAndRemainder(dividingBy: 1_000)
        var seconds = time_t(remainder < 0 ? quotient - 1 : quotient)
        let fraction = remainder < 0 ? remainder + 1_000 : remainder
        var parts = tm()
        guard gmtime_r(&seconds, &parts) != nil, (-1_900...8_099).contains(parts.tm_year) else {
            return "\(milliseconds) ms"
        }
        func padded(_ value: some BinaryInteger, _ width: Int = 2) -> String {
            let digits = String(value)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let date = [
            padded(parts.tm_year + 1_900, 4), padded(parts.tm_mon + 1), padded(parts.tm_mday),
        ]
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { padded($0) }
        return date.joined(separator: "-") + "T" + clock.joined(separator: ":")
            + ".\(padded(fraction, 3))Z"
    }
}
