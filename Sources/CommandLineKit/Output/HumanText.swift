/// Sizes, counts, rates and durations as people read them.
public enum HumanText {
    /// Bytes in decimal units, three digits that count: `0 B`, `999 B`, `1.23 kB`, `473 MB`.
    public static func bytes(_ count: some BinaryInteger) -> String {
        let magnitude = UInt64(clamping: count.magnitude)
        let sign = count < 0 ? "-" : ""
        guard magnitude >= 1_000 else { return "\(sign)\(magnitude) B" }
        var value = Double(magnitude) / 1_000
        var names = ["kB", "MB", "GB", "TB", "PB", "EB"][...]
        // From 999.5 on, three digits are the next unit's 1.00.
        while value >= 999.5, names.count > 1 {
            value /= 1_000
            names = names.dropFirst()
        }
        return "\(sign)\(threeDigits(value)) \(names[names.startIndex])"
    }

    /// A whole number with commas between thousands.
    public static func count(_ value: some BinaryInteger) -> String {
        var groups: [Substring] = []
        var digits = Substring(String(value.magnitude))
        while digits.count > 3 {
            groups.append(digits.suffix(3))
            digits = digits.dropLast(3)
        }
        groups.append(digits)
        return (value < 0 ? "-" : "") + groups.reversed().joined(separator: ",")
    }

    /// A duration in its two largest units: `2h 05m`, `1m 30s`, `1.52 s`, `12.0 ms`, `7 µs`.
    public static func duration(_ duration: Duration) -> String {
        let seconds = duration / .seconds(1)
        let magnitude = seconds.magnitude
        let sign = seconds < 0 ? "-" : ""
        if magnitude < 0.000_999_5 { return "\(sign)\(Int((magnitude * 1e6).rounded())) µs" }
        if magnitude < 0.999_5 { return "\(sign)\(threeDigits(magnitude * 1_000)) ms" }
        if magnitude < 59.95 { return "\(sign)\(threeDigits(magnitude)) s" }
        return sign + clock(magnitude)
    }

    /// Whole seconds in two units; for time left, where fractions would be a pretence.
    static func clock(_ seconds: Double) -> String {
        guard seconds < 100 * 86_400 else { return "over 99d" }
        let whole = Int(seconds.rounded())
        let (days, hours, minutes) = (whole / 86_400, whole / 3_600 % 24, whole / 60 % 60)
        if days > 0 { return "\(days)d \(padded(hours))h" }
        if hours > 0 { return "\(hours)h \(padded(minutes))m" }
        return minutes > 0 ? "\(minutes)m \(padded(whole % 60))s" : "\(whole)s"
    }

    private static func padded(_ value: Int) -> String {
        value < 10 ? "0\(value)" : "\(value)"
    }

    /// A number below 1000 with three digits, above it without a fraction.
    private static func threeDigits(_ value: Double) -> String {
        let decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0
        let scale: Int64 = decimals == 2 ? 100 : decimals == 1 ? 10 : 1
        let scaled = Int64((value * Double(scale)).rounded())
        guard decimals > 0 else { return String(scaled) }
        let fraction = String(scaled % scale)
        let zeros = String(repeating: "0", count: decimals - fraction.count)
        return "\(scaled / scale).\(zeros)\(fraction)"
    }
}
