/// Which day of which device a row belongs to, within one stream.
struct DayKey: Hashable {
    let day: Int64
    let device: Int64
}

/// What the rows inserted by one flush add to the summary of one day.
struct DaySummary {
    /// The time first, which gives the number of rows and the first and last of them; then one a
    /// column, in the stream's order; `nil` until there is a reading.
    private(set) var columns: [ColumnSummary?]

    init(columnCount: Int) {
        columns = [ColumnSummary?](repeating: nil, count: 1 + columnCount)
    }

    mutating func add(_ sample: Sample) {
        add(.integer(sample.time.milliseconds), at: 0)
        for (index, value) in sample.values.enumerated() where value != .null {
            add(value, at: 1 + index)
        }
    }

    private mutating func add(_ value: SampleValue, at index: Int) {
        if columns[index] == nil {
            columns[index] = ColumnSummary(first: value)
        } else {
            columns[index]?.add(value)
        }
    }
}

/// Count, extremes and sum of one column's readings.
struct ColumnSummary: Hashable {
    private(set) var readings: Int64 = 1
    private(set) var minimum: SampleValue
    private(set) var maximum: SampleValue
    private(set) var total: SampleValue

    init(first value: SampleValue) {
        minimum = value
        maximum = value
        total = value
    }

    mutating func add(_ value: SampleValue) {
        readings += 1
        if value.isLess(than: minimum) { minimum = value }
        if maximum.isLess(than: value) { maximum = value }
        total = Self.sum(total, value)
    }

    /// Exact while it is whole and fits, a real number otherwise: what SQLite's `+` does.
    private static func sum(_ one: SampleValue, _ other: SampleValue) -> SampleValue {
        if case .integer(let one) = one, case .integer(let other) = other {
            let (sum, overflow) = one.addingReportingOverflow(other)
            if !overflow { return .integer(sum) }
        }
        return .real(one.number + other.number)
    }
}

extension SampleValue {
    /// Whole numbers are compared as such: beyond 2⁵³ a `Double` no longer tells them apart.
    fileprivate func isLess(than other: SampleValue) -> Bool {
        if case .integer(let one) = self, case .integer(let other) = other { return one < other }
        return number < other.number
    }

    fileprivate var number: Double {
        switch self {
        case .null: 0
        case .integer(let value): Double(value)
        case .real(let value): value
        }
    }
}
