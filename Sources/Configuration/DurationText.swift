/// Durations as people write them: `500ms`, `30s`, `5m`, `2h`, `1h30m`.
public enum DurationText {
    /// Why a text is not a duration.
    public struct Invalid: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// Nanoseconds in each unit, largest first.
    private static let units: [(name: String, nanoseconds: Int64)] = [
        ("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("m", 60_000_000_000),
        ("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000),
    ]

    /// Reads whole numbers with their units, largest unit first, each unit at most once.
    ///
    /// A sign is read, so that callers can say that a negative duration makes no sense.
    public static func parse(_ text: String) throws(Invalid) -> Duration {
        let isNegative = text.hasPrefix("-")
        var rest = Substring(isNegative ? text.dropFirst() : text[...])
        guard !rest.isEmpty else { throw invalid(text) }
        var total: Int64 = 0
        var unitsLeft = units[...]
        while !rest.isEmpty {
            let digits = rest.prefix(while: isDigit)
            rest = rest.dropFirst(digits.count)
            let name = rest.prefix(while: { $0.isASCII && $0.isLetter })
            rest = rest.dropFirst(name.count)
            guard !digits.isEmpty else { throw invalid(text) }
            guard !name.isEmpty else {
                if rest.isEmpty, total == 0 {
                    throw Invalid(description: "has no unit: write \(digits)s for seconds")
                }
                throw invalid(text)
            }
            guard let unit = unitsLeft.firstIndex(where: { $0.name == name }) else {
                throw invalid(text)
            }
            guard let count = Int64(digits) else { throw Invalid(description: "is too long") }
            let (part, partOverflow) = count.multipliedReportingOverflow(
                by: units[unit].nanoseconds
            )
            let (sum, sumOverflow) = total.addingReportingOverflow(part)
            guard !partOverflow, !sumOverflow else { throw Invalid(description: "is too long") }
            total = sum
            unitsLeft = unitsLeft[(unit + 1)...]
        }
        return .nanoseconds(isNegative ? -total : total)
    }

    /// The text that `parse` reads as this duration, in the largest units that fit.
    ///
    /// Parts below a microsecond are cut off. A zero duration is `0s`.
    public static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let isNegative = seconds < 0 || attoseconds < 0
        var left = seconds.magnitude
        let microseconds = attoseconds.magnitude / 1_000_000_000_000
        var text = ""
        for (name, size) in [("h", 3_600), ("m", 60), ("s", 1)] as [(String, UInt64)]
        where left >= size {
            text += "\(left / size)\(name)"
            left %= size
        }
        if microseconds >= 1_000 { text += "\(microseconds / 1_000)ms" }
        if microseconds % 1_000 > 0 { text += "\(microseconds % 1_000)us" }
        return text.isEmpty ? "0s" : (isNegative ? "-" : "") + text
    }

    private static func isDigit(_ character: Character) -> Bool {
        ("0"..."9").contains(character)
    }

    private static func invalid(_ text: String) -> Invalid {
        Invalid(description: "is not a duration such as 500ms, 30s, 5m, 2h or 1h30m")
    }
}
