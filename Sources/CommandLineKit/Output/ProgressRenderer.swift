/// Decides when progress is shown and what the line says; knows neither clock nor terminal.
package struct ProgressRenderer {
    package enum Style: Equatable, Sendable {
        /// One line, drawn over and over.
        case terminal
        /// A line of its own each time, for logs and files.
        case lines
    }

    /// A redraw in a terminal at most this often.
    private static let redrawInterval: Duration = .milliseconds(100)
    /// A plain line at least this often while there is progress.
    private static let lineInterval: Duration = .seconds(5)
    /// A plain line for every tenth too, but not more often than this.
    private static let stepInterval: Duration = .seconds(1)
    /// The rate is that of the recent past, over this much of it.
    private static let window: Duration = .seconds(8)
    private static let sampleInterval: Duration = .milliseconds(500)

    private let label: String
    private var total: Int64?
    private let style: Style
    private var shownAt: Duration?
    private var shownStep: Int64 = 0
    private var samples: [(at: Duration, completed: Int64)] = [(.zero, 0)]

    /// - Parameters:
    ///   - label: What is going on, such as `restoring`.
    ///   - total: Bytes in all; `nil` when nobody knows. Progress may exceed it.
    ///   - style: How it is shown.
    package init(label: String, total: Int64?, style: Style) {
        self.label = label
        self.total = total.flatMap { $0 > 0 ? $0 : nil }
        self.style = style
    }

    /// Takes note of how many bytes there are in all, for who learns it later.
    package mutating func setTotal(_ total: Int64) {
        self.total = total > 0 ? total : nil
    }

    /// - Parameters:
    ///   - completed: Bytes done.
    ///   - now: Time since the start.
    ///   - columns: Width of the terminal.
    /// - Returns: What to write, or `nil` when it is not time.
    package mutating func update(
        completed: Int64,
        at now: Duration,
        columns: Int
    ) -> String? {
        sample(completed, now)
        guard isDue(completed, now) else { return nil }
        shownAt = now
        shownStep = step(completed)
        switch style {
        case .terminal: return "\r" + fitted(line(completed, now), columns) + "\u{1B}[K"
        case .lines: return line(completed, now) + "\n"
        }
    }

    /// The last line: how much in how long.
    package mutating func finish(completed: Int64, at now: Duration, columns: Int) -> String {
        let seconds = now / .seconds(1)
        var line = "\(label): \(HumanText.bytes(completed)) in \(HumanText.duration(now))"
        if seconds > 0.001 { line += ", \(Self.speed(Double(completed) / seconds))" }
        switch style {
        case .terminal: return "\r" + fitted(line, columns) + "\u{1B}[K\n"
        case .lines: return line + "\n"
        }
    }

    /// Leaves the drawn line where it is and begins a new one, when there is a drawn line.
    package func abandon() -> String {
        style == .terminal && shownAt != nil ? "\n" : ""
    }

    private mutating func sample(_ completed: Int64, _ now: Duration) {
        guard let last = samples.last, now - last.at >= Self.sampleInterval else { return }
        samples.append((now, completed))
        // One sample older than the window stays, so that the window is always covered.
        while samples.count > 2, now - samples[1].at > Self.window { samples.removeFirst() }
    }

    private func isDue(_ completed: Int64, _ now: Duration) -> Bool {
        let since = now - (shownAt ?? .zero)
        switch style {
        case .terminal:
            return shownAt == nil || since >= Self.redrawInterval
        case .lines:
            return since >= Self.lineInterval
                || (since >= Self.stepInterval && step(completed) > shownStep)
        }
    }

    private func step(_ completed: Int64) -> Int64 {
        percent(completed).map { $0 / 10 } ?? 0
    }

    private func percent(_ completed: Int64) -> Int64? {
        guard let total else { return nil }
        return Int64(min(100, max(0, Double(completed) / Double(total) * 100)))
    }

    /// Bytes a second over the recent past; `nil` before there is one.
    private func rate(_ completed: Int64, _ now: Duration) -> Double? {
        guard let first = samples.first else { return nil }
        let seconds = (now - first.at) / .seconds(1)
        guard seconds >= 0.25 else { return nil }
        return max(0, Double(completed) - Double(first.completed)) / seconds
    }

    private func line(_ completed: Int64, _ now: Duration) -> String {
        var parts = [HumanText.bytes(completed)]
        if let total { parts[0] += " of \(HumanText.bytes(total))" }
        if let rate = rate(completed, now) {
            parts.append(Self.speed(rate))
            if let total, rate >= 1 {
                let left = max(0, Double(total) - Double(completed)) / rate
                parts.append("\(HumanText.clock(left)) left")
            }
        }
        let share = percent(completed).map { "\($0)%, " } ?? ""
        return "\(label): \(share)" + parts.joined(separator: ", ")
    }

    private static func speed(_ bytesASecond: Double) -> String {
        "\(HumanText.bytes(Int64(min(max(bytesASecond, 0), 1e18))))/s"
    }

    /// A line that wrapped could not be drawn over.
    private func fitted(_ line: String, _ columns: Int) -> String {
        String(line.prefix(max(1, columns - 1)))
    }
}
