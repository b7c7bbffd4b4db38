/// Times of a scenario as people read them.
public enum TimeText {
    /// A point on the clock of a scenario: `0:05`, `1:02:03`, `2d 03:04:05`.
    public static func clock(_ time: Duration) -> String {
        let seconds = max(0, time.components.seconds)
        func padded(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24)
        let rest = "\(padded(seconds / 60 % 60)):\(padded(seconds % 60))"
        if days > 0 { return "\(days)d \(padded(hours)):\(rest)" }
        return hours > 0 ? "\(hours):\(rest)" : "\(seconds / 60):\(padded(seconds % 60))"
    }
}
