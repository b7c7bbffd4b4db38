import DurableFiles
import Lifecycle
import Testing

@Suite("The watchdog's ping")
struct WatchdogTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    private func watchdog() -> Watchdog { Watchdog(timeout: .seconds(10), now: start) }

    private func reading(
        _ name: String = "replicator",
        _ operation: String? = nil,
        steps: UInt64 = 0
    ) -> Progress.Reading {
        Progress.Reading(name: name, operation: operation, steps: steps)
    }

    @Test("is due at half of what the manager waits for")
    func half() {
        var watchdog = watchdog()
        #expect(watchdog.next(after: start) == at(5))
        #expect(watchdog.judge([reading()], at: at(4.9)) == .wait)
        #expect(watchdog.judge([reading()], at: at(5)) == .ping)
        #expect(watchdog.judge([reading()], at: at(5.1)) == .wait)
        #expect(watchdog.next(after: at(5.1)) == at(10))
    }

    @Test("is sent for who has nothing to do, and for who gets on")
    func sent() {
        var watchdog = watchdog()
        for second in 1...5 {
            let readings = [
                reading("collector"),
                reading("replicator", "converting the WAL", steps: UInt64(second)),
            ]
            #expect(watchdog.judge(readings, at: at(Double(second) * 5)) == .ping)
        }
    }

    @Test("is kept back by one that stands still, and sent at once when it moves")
    func keptBack() {
        var watchdog = watchdog()
        let begun = reading("replicator", "checkpointing", steps: 7)
        // It has just begun: that is a step.
        #expect(watchdog.judge([reading("collector"), begun], at: at(5)) == .ping)
        let stuck = Watchdog.Stuck(actor: "replicator", operation: "checkpointing", since: at(5))
        #expect(watchdog.judge([reading("collector"), begun], at: at(10)) == .stuck([stuck]))
        // Looked for again soon, and told of once.
        #expect(watchdog.next(after: at(10)) == at(11))
        #expect(watchdog.news(of: [stuck]) == [stuck])
        #expect(watchdog.judge([reading("collector"), begun], at: at(11)) == .stuck([stuck]))
        #expect(watchdog.news(of: [stuck]).isEmpty)
        let moved = reading("replicator", "checkpointing", steps: 8)
        #expect(watchdog.judge([reading("collector"), moved], at: at(12)) == .ping)
        #expect(
            watchdog.judge([reading("collector"), moved], at: at(17))
                == .stuck([
                    Watchdog.Stuck(actor: "replicator", operation: "checkpointing", since: at(12))
                ])
        )
        #expect(watchdog.news(of: [stuck]) == [stuck])
    }

    @Test("after a suspension it is sent first, and nobody is blamed for not having run")
    func resumed() {
        var watchdog = watchdog()
        let busy = reading("replicator", "converting the WAL", steps: 1)
        #expect(watchdog.judge([busy], at: at(5)) == .ping)
        watchdog.resumed(at: at(100))
        #expect(watchdog.judge([busy], at: at(101)) == .wait)
        #expect(watchdog.next(after: at(101)) == at(105))
    }

    @Test("an actor's progress: the operation, the one within it, and a step for each file step")
    func progress() throws {
        let progress = Progress("replicator")
        #expect(progress.reading == reading())
        try progress.during("checkpointing") {
            #expect(progress.reading.operation == "checkpointing")
            let before = progress.reading.steps
            progress.during("converting the WAL") {
                #expect(progress.reading.operation == "converting the WAL")
            }
            #expect(progress.reading.operation == "checkpointing")
            #expect(progress.reading.steps > before)
            let file = try FileDescriptor(reading: "/proc/self/stat")
            var buffer = [UInt8](repeating: 0, count: 16)
            let steps = progress.reading.steps
            _ = try buffer.withUnsafeMutableBytes { try file.read(at: 0, into: $0) }
            #expect(progress.reading.steps == steps + 1)
        }
        #expect(progress.reading.operation == nil)
    }
}
