import CommandLineKit
import TestSupport
import Testing

@Suite("progress")
struct ProgressTests {
    @Test("a terminal's line is redrawn, not more often than ten times a second, within its width")
    func terminal() {
        var renderer = ProgressRenderer(label: "restoring", total: 800_000_000, style: .terminal)
        #expect(
            renderer.update(completed: 0, at: .zero, columns: 80)
                == "\rrestoring: 0%, 0 B of 800 MB\u{1B}[K"
        )
        #expect(renderer.update(completed: 1, at: .milliseconds(99), columns: 80) == nil)
        #expect(
            renderer.update(completed: 200_000_000, at: .seconds(1), columns: 80)
                == "\rrestoring: 25%, 200 MB of 800 MB, 200 MB/s, 3s left\u{1B}[K"
        )
        #expect(
            renderer.update(completed: 400_000_000, at: .seconds(2), columns: 20)
                == "\rrestoring: 50%, 400\u{1B}[K"
        )
        #expect(
            renderer.finish(completed: 800_000_000, at: .seconds(4), columns: 80)
                == "\rrestoring: 800 MB in 4.00 s, 200 MB/s\u{1B}[K\n"
        )
    }

    @Test("elsewhere a line comes for every tenth and every five seconds, at most one a second")
    func lines() {
        var renderer = ProgressRenderer(label: "restoring", total: 1_000, style: .lines)
        var shown: [String] = []
        func update(_ completed: Int64, _ milliseconds: Int) {
            let text = renderer.update(
                completed: completed,
                at: .milliseconds(milliseconds),
                columns: 80
            )
            if let text { shown.append("\(milliseconds) \(text)") }
        }
        update(0, 0)
        update(150, 500)
        update(250, 1_000)
        update(260, 1_999)
        update(290, 2_100)
        update(301, 2_200)
        update(305, 7_100)
        update(309, 7_200)
        #expect(
            shown == [
                "1000 restoring: 25%, 250 B of 1.00 kB, 250 B/s, 3s left\n",
                "2200 restoring: 30%, 301 B of 1.00 kB, 136 B/s, 5s left\n",
                "7200 restoring: 30%, 309 B of 1.00 kB, 42 B/s, 16s left\n",
            ]
        )
        #expect(
            renderer.finish(completed: 1_000, at: .seconds(8), columns: 80)
                == "restoring: 1.00 kB in 8.00 s, 125 B/s\n"
        )
    }

    @Test("the rate is that of the last seconds, so a stall shows")
    func recentRate() {
        var renderer = ProgressRenderer(label: "x", total: 100_000, style: .terminal)
        var text: String?
        for second in 0...10 {
            text = renderer.update(
                completed: Int64(second) * 1_000,
                at: .seconds(second),
                columns: 80
            )
        }
        #expect(text?.contains("1.00 kB/s, 1m 30s left") == true)
        for second in 11...25 {
            text = renderer.update(completed: 10_000, at: .seconds(second), columns: 80)
        }
        #expect(text == "\rx: 10%, 10.0 kB of 100 kB, 0 B/s\u{1B}[K")
    }

    @Test("without a total there is neither share nor time left")
    func noTotal() {
        for total in [nil, 0, -5] as [Int64?] {
            var renderer = ProgressRenderer(label: "x", total: total, style: .terminal)
            let text = renderer.update(completed: 5_000, at: .seconds(1), columns: 80)
            #expect(text == "\rx: 5.00 kB, 5.00 kB/s\u{1B}[K")
        }
    }

    @Test("odd numbers are shown and never trap")
    func oddNumbers() {
        let moments: [Duration] = [
            .zero, .nanoseconds(1), .seconds(1), .seconds(Int64.max / 2),
        ]
        for completed in [.min, -1, 0, 1, .max] as [Int64] {
            for total in [nil, 1, .max] as [Int64?] {
                for style in [.terminal, .lines] as [ProgressRenderer.Style] {
                    var renderer = ProgressRenderer(label: "x", total: total, style: style)
                    for now in moments {
                        _ = renderer.update(completed: completed, at: now, columns: 0)
                        _ = renderer.finish(completed: completed, at: now, columns: 0)
                    }
                }
            }
        }
    }

    @Test("a failed job leaves the drawn line, and nothing where none was drawn")
    func abandon() {
        var renderer = ProgressRenderer(label: "x", total: 9, style: .terminal)
        #expect(renderer.abandon() == "")
        _ = renderer.update(completed: 1, at: .zero, columns: 80)
        #expect(renderer.abandon() == "\n")
    }

    @Test("a bar takes its time from the clock it is given")
    func injectedClock() {
        let clock = HandClock()
        let output = Output()
        let bar = ProgressBar("x", total: 1_000, on: output, clock: clock)
        clock.advance(by: .seconds(2))
        bar.update(completed: 500)
        clock.advance(by: .seconds(2))
        bar.finish(completed: 1_000)
        #expect(
            String(decoding: output.contents, as: UTF8.self) == """
                x: 50%, 500 B of 1.00 kB, 250 B/s, 2s left
                x: 1.00 kB in 4.00 s, 250 B/s

                """
        )
    }
}

/// A clock that stands still until it is moved.
private final class HandClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let offset = Locked(Duration.zero)

    var now: Instant { Instant(offset: offset.withLock { $0 }) }
    var minimumResolution: Duration { .nanoseconds(1) }

    func advance(by duration: Duration) { offset.withLock { $0 += duration } }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        preconditionFailure("nobody sleeps by this clock")
    }
}
