import Configuration

/// Ranges as people write them: `3`, `1..5`, `..5`, `1..`.
enum RangeText {
    struct Invalid: Error, CustomStringConvertible {
        let description: String
    }

    /// The two ends, each of which may be left out but not both.
    static func ends(_ text: String) throws(Invalid) -> (low: String?, high: String?) {
        guard let dots = text.firstRange(of: "..") else { return (text, text) }
        let low = trimmed(text[..<dots.lowerBound])
        let high = trimmed(text[dots.upperBound...])
        guard !low.isEmpty || !high.isEmpty else {
            throw Invalid(description: "has neither a lower nor an upper end")
        }
        return (low.isEmpty ? nil : low, high.isEmpty ? nil : high)
    }

    /// A duration, or two with dots between.
    static func duration(_ text: String) throws(Invalid) -> Scenario.Drawn {
        let (low, high) = try ends(text)
        guard let low, let high else { throw Invalid(description: "needs both ends") }
        let drawn = Scenario.Drawn(try duration(part: low), try duration(part: high))
        guard drawn.low <= drawn.high else { throw Invalid(description: "ends before it begins") }
        return drawn
    }

    static func count(_ text: String, in allowed: ClosedRange<Int>) throws(Invalid)
        -> ClosedRange<Int>
    {
        let (low, high) = try ends(text)
        guard let low = low.flatMap({ Int($0) }), let high = high.flatMap({ Int($0) }) else {
            throw Invalid(description: "is not a whole number, nor two such as 2..5")
        }
        guard low <= high else { throw Invalid(description: "ends before it begins") }
        guard allowed.contains(low), allowed.contains(high) else {
            throw Invalid(
                description: "is out of range: \(allowed.lowerBound) to \(allowed.upperBound)"
            )
        }
        return low...high
    }

    /// What a metric may be.
    static func expectation(_ metric: Metric, _ text: String) throws(Invalid) -> Allowance {
        let (low, high) = try ends(text)
        let expectation = Allowance(
            metric,
            try low.map { text throws(Invalid) in try value(text, metric.unit) },
            try high.map { text throws(Invalid) in try value(text, metric.unit) }
        )
        if let low = expectation.low, let high = expectation.high, low > high {
            throw Invalid(description: "ends before it begins")
        }
        return expectation
    }

    private static func value(_ text: String, _ unit: Metric.Unit) throws(Invalid) -> Int64 {
        switch unit {
        case .count:
            guard let count = Int64(text), count >= 0 else {
                throw Invalid(description: "is not a whole number, nor a range such as 1..5 or 1..")
            }
            return count
        case .bytes:
            guard let size = try? ByteSize.parse(text), size >= 0 else {
                throw Invalid(description: "is not a size such as 64MiB, nor a range such as ..1GB")
            }
            return size
        case .duration:
            let duration = try duration(part: text)
            return Int64(duration / .microseconds(1))
        case .ratio:
            guard let ratio = Double(text), (0...1_000_000).contains(ratio) else {
                throw Invalid(description: "is not a number such as 1.5, nor a range such as ..1.5")
            }
            return Int64((ratio * 1_000).rounded())
        }
    }

    private static func duration(part text: String) throws(Invalid) -> Duration {
        let duration: Duration
        do {
            duration = try DurationText.parse(text)
        } catch {
            throw Invalid(description: error.description)
        }
        guard duration >= .zero else { throw Invalid(description: "is negative") }
        return duration
    }

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop { $0 == " " }
        return String(start.prefix(start.count - start.reversed().prefix { $0 == " " }.count))
    }
}
