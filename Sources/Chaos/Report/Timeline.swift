import CommandLineKit

/// The picture: one SVG whose rows share a time axis.
struct Timeline {
    let story: Story

    private static let width = 1200.0
    private static let left = 92.0
    private static let right = 16.0

    private static let phaseRow = (top: 8.0, height: 44.0)
    private static let pushRow = (top: 66.0, height: 132.0)
    private static let markRow = (top: 206.0, height: 22.0)
    private static let walRow = (top: 240.0, height: 86.0)
    private static let backlogRow = (top: 340.0, height: 72.0)
    private static let networkRow = (top: 426.0, height: 24.0)
    private static let troubleRow = (top: 458.0, height: 24.0)
    private static let axis = 494.0
    private static let height = 524.0

    private var length: Double { max(0.001, story.length / .seconds(1)) }

    private func x(_ time: Duration) -> Double {
        let share = min(1, max(0, time / .seconds(1) / length))
        return Self.left + share * (Self.width - Self.left - Self.right)
    }

    /// The SVG element, with a title for every thing that can be pointed at.
    var svg: String {
        var canvas = Canvas()
        canvas.open(
            "svg",
            [
                ("viewBox", "0 0 \(Canvas.number(Self.width)) \(Canvas.number(Self.height))"),
                ("role", "img"), ("aria-labelledby", "picture-title picture-text"),
                ("class", "timeline"),
            ]
        )
        canvas.element("title", [("id", "picture-title")], "Timeline of \(story.name)")
        canvas.element("desc", [("id", "picture-text")], description)
        canvas.raw(Self.patterns)
        grid(&canvas)
        phases(&canvas)
        pushes(&canvas)
        marks(&canvas)
        area(
            &canvas,
            story.wal,
            Self.walRow,
            "WAL",
            "wal",
            "The WAL was at most"
        )
        area(
            &canvas,
            story.backlog,
            Self.backlogRow,
            "Backlog",
            "backlog",
            "The backlog was at most"
        )
        states(&canvas, .network, Self.networkRow, "Network")
        states(&canvas, .trouble, Self.troubleRow, "Trouble")
        canvas.close("svg")
        return canvas.text
    }

    private var description: String {
        "\(story.pushes.count) pushes over \(TimeText.clock(story.pace.told(story.length))), with "
            + "phases above and WAL size, backlog, network and troubles below on the same time axis."
    }

    /// Textures, so that states differ without colour, too.
    private static let patterns = """
        <defs>\
        <pattern id="stopped" width="7" height="7" patternUnits="userSpaceOnUse" \
        patternTransform="rotate(45)"><rect width="7" height="7" class="suspended"/>\
        <rect width="2" height="7" class="hatch"/></pattern>\
        <pattern id="away" width="6" height="6" patternUnits="userSpaceOnUse" \
        patternTransform="rotate(-45)"><rect width="6" height="6" class="off"/>\
        <rect width="2.2" height="6" class="hatch"/></pattern></defs>
        """

    // MARK: Rows

    private func grid(_ canvas: inout Canvas) {
        let told = max(0.001, story.pace.told(story.length) / .seconds(1))
        let step = Ticks.step(for: told, count: 10)
        var tick = 0.0
        while tick <= told {
            let x = Self.left + tick / told * (Self.width - Self.left - Self.right)
            canvas.line(x, Self.phaseRow.top, x, Self.axis, "grid")
            canvas.label(x, Self.axis + 18, Ticks.text(tick, step: step), "tick")
            tick += step
        }
        canvas.line(Self.left, Self.axis, Self.width - Self.right, Self.axis, "axis")
        for (row, name) in [(Self.phaseRow, "Phase"), (Self.markRow, "Events")] {
            canvas.label(Self.left - 10, row.top + row.height / 2 + 4, name, "name")
        }
        // Above the scale of the stems.
        canvas.label(Self.left - 10, Self.pushRow.top + 14, "Pushes", "name")
    }

    private func phases(_ canvas: inout Canvas) {
        for span in story.spans where span.lane == .phase {
            let (from, to) = (x(span.from), x(span.to))
            canvas.group("\(span.label), \(extent(span))") { canvas in
                canvas.rectangle(
                    from,
                    Self.phaseRow.top,
                    max(0.6, to - from),
                    Self.phaseRow.height,
                    "phase-\(span.label)"
                )
                if to - from > 7.2 * Double(span.label.count) + 8 {
                    canvas.label(
                        (from + to) / 2,
                        Self.phaseRow.top + Self.phaseRow.height / 2 + 4,
                        span.label,
                        "on-\(span.label)"
                    )
                }
            }
        }
        for lock in story.marks where lock.kind == .lock {
            canvas.line(x(lock.at), Self.phaseRow.top - 6, x(lock.at), Self.axis, "lock")
        }
    }

    /// Each push is a stem as high as the magnitude of what it shipped, with a head that tells its
    /// outcome by form and colour.
    private func pushes(_ canvas: inout Canvas) {
        let row = Self.pushRow
        let floor = row.top + row.height - 10
        canvas.line(Self.left, floor, Self.width - Self.right, floor, "axis")
        for (bytes, name) in [(1_000, "1 kB"), (1_000_000, "1 MB")] as [(Int64, String)] {
            let y = floor - Self.stem(bytes)
            canvas.line(Self.left, y, Self.width - Self.right, y, "faint")
            canvas.label(Self.left - 10, y + 4, name, "scale")
        }
        for push in story.pushes {
            let at = x(push.end)
            let top = floor - Self.stem(push.bytes)
            canvas.group(title(of: push), class: "push \(push.outcome)") { canvas in
                let start = x(push.start)
                if at - start > 1.5 {
                    canvas.rectangle(start, floor - 2, at - start, 4, "length")
                }
                canvas.line(at, floor, at, top, "stem")
                switch push.outcome {
                case "pushed": canvas.circle(at, top, 4.2, "head")
                case "in-sync": canvas.circle(at, floor, 2.6, "head")
                case "retryable":
                    canvas.polygon(
                        [(at, top - 7), (at - 5.2, top + 3), (at + 5.2, top + 3)],
                        "head"
                    )
                default:
                    canvas.polygon(
                        [(at, top - 6), (at + 6, top), (at, top + 6), (at - 6, top)],
                        "head"
                    )
                }
                if push.kind == "snapshot" || push.kind == "rescan" {
                    canvas.circle(at, top, 8.5, "ring-\(push.kind)")
                }
            }
        }
    }

    /// Height of a stem: nothing for nothing, then a decade of bytes is as high as another.
    private static func stem(_ bytes: Int64) -> Double {
        guard bytes > 0 else { return 0 }
        var decades = 0.0
        var rest = Double(bytes)
        while rest >= 10 {
            rest /= 10
            decades += 1
        }
        decades += (rest - 1) / 9
        return min(pushRow.height - 22, 6 + decades * 12.5)
    }

    private func marks(_ canvas: inout Canvas) {
        let middle = Self.markRow.top + Self.markRow.height / 2
        for mark in story.marks {
            let at = x(mark.at)
            canvas.group("\(mark.label), at \(clock(mark.at))", class: "mark \(mark.kind.rawValue)")
            {
                canvas in
                switch mark.kind {
                case .launch:
                    canvas.polygon(
                        [(at, middle - 6), (at + 6, middle + 5), (at - 6, middle + 5)],
                        "head"
                    )
                case .death, .exit, .lock:
                    canvas.line(at - 5, middle - 5, at + 5, middle + 5, "cross")
                    canvas.line(at - 5, middle + 5, at + 5, middle - 5, "cross")
                case .foreign:
                    canvas.polygon(
                        [
                            (at, middle - 6), (at + 6, middle), (at, middle + 6), (at - 6, middle),
                        ],
                        "head"
                    )
                case .clock, .write, .control:
                    canvas.circle(at, middle, 4, "head")
                }
            }
        }
    }

    private func area(
        _ canvas: inout Canvas,
        _ levels: [Story.Level],
        _ row: (top: Double, height: Double),
        _ name: String,
        _ style: String,
        _ sentence: String
    ) {
        let floor = row.top + row.height
        let peak = max(1, levels.map(\.bytes).max() ?? 1)
        canvas.label(Self.left - 10, row.top + row.height / 2 + 4, name, "name")
        canvas.label(Self.left - 10, row.top + 10, HumanText.bytes(peak), "scale")
        canvas.line(Self.left, floor, Self.width - Self.right, floor, "axis")
        var points: [(Double, Double)] = []
        for level in Levels.thinned(levels, to: 1_500, over: story.length) {
            let y = floor - Double(level.bytes) / Double(peak) * (row.height - 4)
            if let last = points.last { points.append((x(level.at), last.1)) }
            points.append((x(level.at), y))
        }
        guard let first = points.first, let last = points.last else { return }
        let end = (x(story.length), last.1)
        let outline = points + [end]
        canvas.group("\(sentence) \(HumanText.bytes(peak))") { canvas in
            canvas.polygon([(first.0, floor)] + outline + [(end.0, floor)], "area-\(style)")
            canvas.polyline(outline, "line-\(style)")
        }
        // Small targets on top, so that each moment can be asked for its value.
        for level in Levels.thinned(levels, to: 240, over: story.length) {
            canvas.group("\(name) \(HumanText.bytes(level.bytes)), at \(clock(level.at))") {
                canvas in
                canvas.rectangle(x(level.at) - 2, row.top, 4, row.height, "target")
            }
        }
    }

    private func states(
        _ canvas: inout Canvas,
        _ lane: Story.Lane,
        _ row: (top: Double, height: Double),
        _ name: String
    ) {
        let middle = row.top + row.height / 2
        canvas.label(Self.left - 10, middle + 4, name, "name")
        canvas.line(Self.left, middle, Self.width - Self.right, middle, "calm-\(lane.rawValue)")
        for span in story.spans where span.lane == lane {
            let (from, to) = (x(span.from), x(span.to))
            let style =
                lane == .trouble
                ? "trouble"
                : span.label.hasPrefix("network off")
                    ? "network-off"
                    : span.label.hasPrefix("network flapping") ? "network-flapping" : "network-slow"
            canvas.group("\(span.label), \(extent(span))") { canvas in
                canvas.rectangle(from, row.top, max(1.5, to - from), row.height, style)
                let label =
                    span.label.hasPrefix("network ")
                    ? String(span.label.dropFirst("network ".count)) : span.label
                if to - from > 6.6 * Double(label.count) + 8 {
                    canvas.label((from + to) / 2, middle + 4, label, "on-\(style)")
                }
            }
        }
    }

    // MARK: Words

    private func clock(_ time: Duration) -> String { TimeText.clock(story.pace.told(time)) }

    private func extent(_ span: Story.Span) -> String {
        "\(clock(span.from)) to \(clock(span.to))"
    }

    private func title(of push: PushFact) -> String {
        var words = [
            push.outcome + (push.reason.map { " (\($0))" } ?? ""),
            "at \(clock(push.end))",
            "TXID \(push.txid.drop { $0 == "0" })",
            "\(HumanText.count(push.pages)) pages, \(HumanText.bytes(push.bytes))",
        ]
        if push.kind == "snapshot" || push.kind == "rescan" {
            words.append(push.kind + (push.evidence.map { " (\($0))" } ?? ""))
        }
        if push.streak > 0 { words.append("streak \(push.streak)") }
        if push.backlogFiles > 0 {
            words.append("backlog \(HumanText.bytes(push.backlogBytes))")
        }
        if let detail = push.detail { words.append(detail) }
        return words.joined(separator: "\n")
    }
}
