/// `Retry-After`: seconds, or a date (RFC 9110, section 10.2.3).
package enum RetryAfter {
    /// Nobody is put off for longer.
    static let limit: Int64 = 86_400

    /// How long to wait; `nil` for what is neither.
    package static func duration(_ text: String, now: Int64) -> Duration? {
        if !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
            return .seconds(min(limit, Int64(text) ?? limit))
        }
        return HTTPDate.seconds(text).map { .seconds(min(limit, max(0, $0 &- now))) }
    }
}

/// Dates as HTTP writes them (RFC 9110, section 5.6.7): the one form that is sent, and the two old
/// ones that are read.
package enum HTTPDate {
    /// Seconds since 1970; `nil` for what is no date.
    package static func seconds(_ text: String) -> Int64? {
        var words = text.split { $0 == " " || $0 == "," || $0 == "-" }.map(String.init)
        guard !words.isEmpty else { return nil }
        words.removeFirst()
        // asctime: Sun Nov  6 08:49:37 1994
        if words.count == 4, month(words[0]) != nil {
            words = [words[1], words[0], words[3], words[2]]
        } else {
            guard words.count == 5, words[4] == "GMT" else { return nil }
        }
        guard let day = number(words[0], 1...31), let month = month(words[1]),
            let year = year(words[2]), let time = time(words[3])
        else { return nil }
        return days(year, month, day) * 86_400 + time
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func month(_ text: String) -> Int64? {
        months.firstIndex(of: text).map { Int64($0) + 1 }
    }

    /// Four digits, or RFC 850's two.
    private static func year(_ text: String) -> Int64? {
        if text.utf8.count == 2 {
            return number(text, 0...99).map { $0 < 70 ? 2000 + $0 : 1900 + $0 }
        }
        return text.utf8.count == 4 ? number(text, 1...9999) : nil
    }

    /// Seconds of a day; a leap second counts as the one after.
    private static func time(_ text: String) -> Int64? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let hour = number(parts[0], 0...23),
            let minute = number(parts[1], 0...59), let second = number(parts[2], 0...60)
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    private static func number(_ text: String, _ range: ClosedRange<Int64>) -> Int64? {
        guard text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let value = Int64(text),
            range.contains(value)
        else { return nil }
        return value
    }

    /// Days since 1970 in the Gregorian calendar, counted from March so that leap days come last.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month > 2 ? year : year - 1
        let monthFromMarch = (month + 9) % 12
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        let leapDays = shifted / 4 - shifted / 100 + shifted / 400
        return 365 * shifted + leapDays + dayOfYear - 719_468
    }
}
