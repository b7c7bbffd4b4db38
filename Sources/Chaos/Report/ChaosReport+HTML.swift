import CommandLineKit

extension ChaosReport {
    /// One page that needs nothing beside itself: verdict, picture, numbers.
    public var html: String {
        var page = Canvas()
        page.raw("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n")
        page.raw(
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                + "<meta name=\"color-scheme\" content=\"light dark\">\n"
        )
        page.element(
            "title",
            [],
            "\(story.name): \(verdict.holds ? "as expected" : "not as expected")"
        )
        page.raw("<style>\n\(ReportStyle.css)</style></head><body><main>\n")
        heading(&page)
        tiles(&page)
        page.raw("<figure>\n")
        page.raw(Timeline(story: story).svg)
        legend(&page)
        page.raw("</figure>\n")
        checks(&page)
        reasons(&page)
        failures(&page)
        page.raw("</main></body></html>\n")
        return page.text
    }

    private func heading(_ page: inout Canvas) {
        let style = verdict.holds ? "good" : "bad"
        page.open("header", [("class", style)])
        page.element("p", [("class", "badge"), ("id", "verdict")], badge)
        page.element("h1", [], story.name)
        page.element("p", [("class", "about")], story.about)
        if !verdict.holds { page.element("p", [("class", "why")], sentence) }
        let scaled = story.pace.scale > 1 ? ", sizes ÷ \(story.pace.scale)" : ""
        let speed = story.pace.speed
        let shown = speed == speed.rounded() ? "\(Int(speed))" : "\(speed)"
        page.element(
            "p",
            [("class", "run")],
            "seed \(story.seed) · \(TimeText.clock(story.pace.told(story.length))) of its time in "
                + "\(HumanText.duration(story.length)) (\(shown)×\(scaled)) · "
                + HumanText.timestamp(milliseconds: story.began)
        )
        page.close("header")
    }

    private var badge: String { verdict.holds ? "✓ as expected" : "✗ not as expected" }

    private func tiles(_ page: inout Canvas) {
        page.open("section", [("class", "tiles"), ("aria-label", "Key figures")])
        func tile(_ value: String, _ name: String, isBad: Bool = false) {
            page.open("div", [("class", isBad ? "tile bad" : "tile")])
            page.element("b", [], value)
            page.element("span", [], name)
            page.close("div")
        }
        let failed = Set(verdict.failures.map(\.expectation.metric))
        tile(HumanText.count(closing.rowsRestored), "rows restored")
        for metric in [
            Metric.rowsLost, .forcedSnapshots, .rescans, .bytesShipped, .overhead, .worstWAL,
            .worstBacklog, .writerStall,
        ] {
            tile(
                metric.text(verdict.values[metric] ?? 0),
                metric.title,
                isBad: failed.contains(metric)
            )
        }
        page.close("section")
    }

    private func legend(_ page: inout Canvas) {
        page.open("figcaption")
        for (style, symbol, name) in [
            ("pushed", "●", "pushed"), ("in-sync", "•", "in sync"), ("retryable", "▲", "retryable"),
            ("unavailable", "◆", "unavailable"), ("snapshot", "◯", "snapshot"),
            ("rescan", "◌", "rescan"), ("launch", "▲", "launch"), ("death", "✕", "killed or ended"),
            ("foreign", "◆", "foreign checkpoint"),
        ] {
            page.open("span", [("class", "key")])
            page.element("i", [("class", "symbol \(style)"), ("aria-hidden", "true")], symbol)
            page.element("span", [], name)
            page.close("span")
        }
        page.element(
            "span",
            [("class", "key")],
            "a stem is as high as the magnitude of the bytes shipped; point at anything"
        )
        page.close("figcaption")
    }

    private func checks(_ page: inout Canvas) {
        page.open("section")
        page.element("h2", [], "Verdict")
        page.open("table")
        page.raw("<thead><tr><th>what</th><th>value</th><th>expected</th><th></th></tr></thead>")
        page.open("tbody")
        func row(_ cells: [String], _ style: String = "") {
            page.open("tr", style.isEmpty ? [] : [("class", style)])
            for cell in cells { page.element("td", [], cell) }
            page.close("tr")
        }
        for check in verdict.checks {
            let metric = check.expectation.metric
            row(
                [
                    metric.title, metric.text(check.value), check.expectation.text,
                    check.holds ? "✓" : "✗ not as expected",
                ],
                check.holds ? "" : "bad"
            )
        }
        let checked = Set(verdict.checks.map(\.expectation.metric))
        for metric in Metric.allCases where !checked.contains(metric) {
            row([metric.title, metric.text(verdict.values[metric] ?? 0), "", ""])
        }
        page.close("tbody")
        page.close("table")
        page.close("section")
    }

    private func reasons(_ page: inout Canvas) {
        page.open("section")
        page.element("h2", [], "Outcomes and reasons")
        page.open("table")
        page.raw("<thead><tr><th>what</th><th>reason</th><th>how often</th></tr></thead>")
        page.open("tbody")
        for (name, reason, count) in counts {
            page.open("tr")
            for cell in [name, reason, HumanText.count(count)] { page.element("td", [], cell) }
            page.close("tr")
        }
        page.close("tbody")
        page.close("table")
        page.close("section")
    }

    /// The pushes that did not get through, one line each; the picture has the others.
    private func failures(_ page: inout Canvas) {
        let failed = story.pushes.filter { !$0.isSuccess }
        guard !failed.isEmpty else { return }
        page.open("details")
        page.element("summary", [], "\(failed.count) pushes that did not get through")
        page.open("table")
        page.raw(
            "<thead><tr><th>at</th><th>outcome</th><th>streak</th><th>backlog</th><th>detail</th>"
                + "</tr></thead>"
        )
        page.open("tbody")
        for push in failed.prefix(500) {
            page.open("tr")
            for cell in [
                TimeText.clock(story.pace.told(push.end)),
                push.outcome + (push.reason.map { " (\($0))" } ?? ""),
                HumanText.count(push.streak),
                HumanText.bytes(push.backlogBytes),
                push.detail ?? "",
            ] {
                page.element("td", [], cell)
            }
            page.close("tr")
        }
        page.close("tbody")
        page.close("table")
        page.close("details")
    }
}
