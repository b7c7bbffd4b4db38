import Configuration

extension Plan {
    /// One line an item: when it begins at the earliest, what it is, how long it lasts.
    public var text: String {
        var at = Duration.zero
        var lines = "seed \(seed), \(items.count) events\n"
        for item in items {
            lines += "\(TimeText.clock(at))  \(item.action.label)"
            if item.lasts > .zero { lines += ", \(DurationText.text(item.lasts))" }
            lines += "\n"
            if item.action != .settle { at += item.lasts }
        }
        return lines
    }
}
