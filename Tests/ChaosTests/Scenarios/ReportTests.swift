import Chaos
import Foundation
import TestSupport
import Testing
import Wire

@Suite("The report of a run")
struct ReportTests {
    static func report(lost: Bool = false) -> ChaosReport {
        var story = VerdictTests.story(
            VerdictTests.pushes,
            marks: [
                .init(.launch, "launched (1)", at: .zero),
                .init(.foreign, "foreign <checkpoint> & \"more\"", at: .seconds(5)),
            ]
        )
        story.about = "A made story."
        story.spans = [
            .init(.phase, "foreground", from: .zero, to: .seconds(40)),
            .init(.phase, "suspended", from: .seconds(40), to: .seconds(100)),
            .init(.network, "network off", from: .seconds(10), to: .seconds(20)),
        ]
        story.wal = [.init(at: .zero, bytes: 10), .init(at: .seconds(50), bytes: 4_000)]
        var closing = Closing()
        closing.rowsAcknowledged = lost ? 5 : 4
        (closing.rowsInSource, closing.rowsRestored, closing.rowsInMirror) = (4, 4, 4)
        return ChaosReport(
            story: story,
            closing: closing,
            verdict: Verdict(story, closing, expectations: [])
        )
    }

    @Test("as text says what was not as expected, and ends in one sentence")
    func text() {
        #expect(Self.report().text.hasSuffix("made, seed 1: as expected, in 1m 40s\n"))
        let lost = Self.report(lost: true).text
        #expect(
            lost.hasSuffix("made, seed 1: NOT AS EXPECTED: rows lost 1, expected 0\n"),
            "\(lost)"
        )
    }

    @Test("as JSON has the checks and every push")
    func json() throws {
        let text = Self.report(lost: true).json.pretty
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        )
        #expect(json["as_expected"] as? Bool == false)
        #expect((json["pushes"] as? [Any])?.count == 4)
        let checks = try #require(json["checks"] as? [[String: Any]])
        #expect(checks.first { $0["metric"] as? String == "rows-lost" }?["holds"] as? Bool == false)
        let values = try #require(json["values"] as? [String: Any])
        #expect(values.count == Metric.allCases.count)
        #expect(values["worst_backlog"] as? Int == 77)
    }

    @Test("as a page needs nothing beside itself")
    func selfContained() {
        let page = Self.report().html
        for word in ["http:", "https:", "src=", "href=", "@import", "<script", "<link", "url(\""] {
            #expect(!page.contains(word), "\(word)")
        }
        #expect(page.contains("prefers-color-scheme: dark"))
    }

    @Test("as a page has a title for each push, mark and span, and escapes what they say")
    func titles() {
        let page = Self.report().html
        #expect(page.components(separatedBy: "<g class=\"push ").count - 1 == 4)
        #expect(page.components(separatedBy: "<g class=\"mark ").count - 1 == 2)
        #expect(page.contains("retryable (network)\nat 0:02"))
        #expect(page.contains("foreign &lt;checkpoint&gt; &amp; &quot;more&quot;, at 0:05</title>"))
        #expect(page.contains("<title>network off, 0:10 to 0:20</title>"))
        #expect(page.contains("✓ as expected"))
        #expect(Self.report(lost: true).html.contains("✗ not as expected"))
    }

    @Test(
        "tells times as a clock does",
        arguments: [
            (0, "0:00"), (59, "0:59"), (61, "1:01"), (3_600, "1:00:00"), (90_061, "1d 01:01:01"),
        ]
    )
    func clock(seconds: Int, text: String) {
        #expect(TimeText.clock(.seconds(seconds)) == text)
    }

    @Test(
        "opens in a browser, in light and in dark",
        .enabled(if: Chromium.path != nil, Chromium.missing),
        .timeLimit(.minutes(3))
    )
    func browser() async throws {
        try await withTemporaryDirectory { directory in
            let page = directory.appending(path: "report.html")
            try Data(Self.report().html.utf8).write(to: page)
            let dom = try await Chromium.run(["--dump-dom", page.absoluteString], directory)
            #expect(dom.contains("<p class=\"badge\" id=\"verdict\">✓ as expected</p>"))
            #expect(dom.components(separatedBy: "class=\"push ").count - 1 == 4)
            var pictures: [Data] = []
            for scheme in ["1", "0"] {
                let picture = directory.appending(path: "\(scheme).png")
                _ = try await Chromium.run(
                    [
                        "--blink-settings=preferredColorScheme=\(scheme)",
                        "--window-size=1280,900", "--screenshot=\(picture.path)",
                        page.absoluteString,
                    ],
                    directory
                )
                pictures.append(try Data(contentsOf: picture))
            }
            // An empty page is a few kilobytes.
            #expect(pictures.allSatisfy { $0.count > 20_000 })
            #expect(pictures[0] != pictures[1])
        }
    }
}

/// A browser without a window.
enum Chromium {
    static let path: URL? = {
        let places = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        for name in ["chromium", "chromium-browser", "google-chrome"] {
            for place in places {
                let path = "\(place)/\(name)"
                if FileManager.default.isExecutableFile(atPath: path) {
                    return URL(filePath: path)
                }
            }
        }
        return nil
    }()

    static let missing: Comment =
        "no chromium in PATH: on Debian, apt-get install chromium, as scripts/test does"

    /// Runs it with a profile of its own and no network.
    static func run(_ arguments: [String], _ directory: URL) async throws -> String {
        let path = try #require(path)
        let outcome = try await runProcess(
            path,
            [
                "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND",
                "--user-data-dir=\(directory.appending(path: "profile").path)",
            ] + arguments
        )
        try #require(outcome.status == 0, "\(outcome.stderr)")
        return outcome.stdout
    }
}
