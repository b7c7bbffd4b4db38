/// A moment on a device's clock, in milliseconds since 1970-01-01 00:00:00 UTC.
public struct SampleTime: Hashable, Comparable, Sendable, CustomStringConvertible {
    public var milliseconds: Int64

    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Whole seconds since 1970; cut to `range`.
    public init(seconds: Int64) {
        let first = Self.range.lowerBound.milliseconds / 1000
        let last = Self.range.upperBound.milliseconds / 1000
        milliseconds = min(max(seconds, first), last) * 1000
    }

    /// The years 1 to 9999: what a sample may carry, far from where arithmetic overflows.
    public static let range: ClosedRange<SampleTime> =
        SampleTime(
            milliseconds: -62_135_596_800_000
        )...SampleTime(milliseconds: 253_402_300_799_999)

    /// Whole seconds since 1970, rounded down.
    public var seconds: Int64 { milliseconds.dividedDown(by: 1000) }

    /// Whole days (UTC) since 1970, rounded down: the key of the daily summaries.
    public var day: Int64 { milliseconds.dividedDown(by: 86_400_000) }

    /// The time this much later, cut to `range`.
    public func advanced(by duration: Duration) -> SampleTime {
        let (seconds, attoseconds) = duration.components
        let span = Self.range.upperBound.milliseconds - Self.range.lowerBound.milliseconds
        let bounded = min(max(seconds, -span / 1000), span / 1000)
        let shift = bounded * 1000 + attoseconds / 1_000_000_000_000_000
        let sum = SampleTime(milliseconds: milliseconds.clamped(to: Self.range) + shift)
        return min(max(sum, Self.range.lowerBound), Self.range.upperBound)
    }

    public static func < (one: SampleTime, other: SampleTime) -> Bool {
        one.milliseconds < other.milliseconds
    }

    public var description: String { "\(milliseconds) ms" }
}

/// One value of one column.
public enum SampleValue: Hashable, Sendable {
    /// The sensor had no reading; not the same as zero.
    case null
    case integer(Int64)
    case real(Double)
}

/// One row: what one device measured at one moment.
///
/// Device and time are its natural key: the same sample offered again is the same row.
public struct Sample: Hashable, Sendable {
    /// The device's name, 1...64 bytes.
    public var device: String
    public var time: SampleTime
    /// One value a column, in the order of the stream's columns.
    public var values: [SampleValue]

    public init(device: String, time: SampleTime, values: [SampleValue]) {
        self.device = device
        self.time = time
        self.values = values
    }

    static func isDeviceName(_ name: String) -> Bool { (1...64).contains(name.utf8.count) }
}

extension Int64 {
    /// The quotient, rounded towards the past.
    func dividedDown(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }

    fileprivate func clamped(to range: ClosedRange<SampleTime>) -> Int64 {
        Swift.min(
            Swift.max(self, range.lowerBound.milliseconds),
            range.upperBound.milliseconds
        )
    }
}
