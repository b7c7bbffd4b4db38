import CommandLineKit

extension ChaosReport {
    /// The verdict for a terminal: a table, and a sentence at its end.
    public var text: String {
        var table = Table([
            .init("", .left), .init("", .right), .init("expected", .left), .init(""),
        ])
        func row(_ name: String, _ value: String, _ expected: String = "", _ mark: String = "") {
            table.add([name, value, expected, mark])
        }
        row("rows acknowledged", closing.rowsAcknowledged.map { HumanText.count($0) } ?? "unknown")
        row("rows in the source", HumanText.count(closing.rowsInSource))
        row("rows in the mirror", closing.rowsInMirror.map { HumanText.count($0) } ?? "no mirror")
        row("rows restored", HumanText.count(closing.rowsRestored))
        row("pages compared", HumanText.count(closing.pagesCompared))
        row("ideal bytes", HumanText.bytes(closing.idealBytes))
        for metric in Metric.allCases {
            let value = verdict.values[metric] ?? 0
            let check = verdict.checks.first { $0.expectation.metric == metric }
            row(
                metric.title,
                metric.text(value),
                check?.expectation.text ?? "",
                check.map { $0.holds ? "ok" : "NOT AS EXPECTED" } ?? ""
            )
        }
        return table.text + reasons + "\n" + sentence + "\n"
    }

    /// What a person reads first.
    public var sentence: String {
        let place = "\(story.name), seed \(story.seed)"
        guard !verdict.holds else {
            return "\(place): as expected, in \(HumanText.duration(story.length))"
        }
        let list = verdict.failures.map { check in
            let metric = check.expectation.metric
            return "\(metric.title) \(metric.text(check.value)), expected \(check.expectation.text)"
        }
        return "\(place): NOT AS EXPECTED: " + list.joined(separator: "; ")
    }

    /// How often each outcome, each reason of a snapshot and each reason of a rescan was given.
    public var counts: [(name: String, reason: String, count: Int)] {
        var counts: [String: [String: Int]] = [:]
        for push in story.pushes {
            counts["push", default: [:]][
                push.outcome + (push.reason.map { " (\($0))" } ?? ""),
                default: 0
            ] += 1
        }
        for record in story.records {
            switch record.kind {
            case "snapshot":
                counts["snapshot", default: [:]][record["snapshot_reason"] ?? "", default: 0] += 1
            case "custody-lost":
                counts["rescan", default: [:]][record["reason"] ?? "", default: 0] += 1
            default: break
            }
        }
        return counts.sorted { $0.key < $1.key }.flatMap { name, reasons in
            reasons.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map {
                (name, $0.key, $0.value)
            }
        }
    }

    private var reasons: String {
        counts.map { "\($0.name) \($0.reason): \($0.count)\n" }.joined()
    }
}
