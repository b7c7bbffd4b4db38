import Collector
import Foundation
import SQLiteBridge
import TestSupport
import Testing

@Suite("Collector loop")
struct CollectorLoopTests {
    /// A loop on a manual clock, running while the body does, and cancelled after it.
    private func withLoop(
        streams: [StreamDefinition],
        options: Collector.Options = Collector.Options(),
        in directory: URL,
        _ body: (ManualClock, Collector, EventLog) async throws -> Void
    ) async throws -> [CollectorEvent] {
        let clock = ManualClock()
        let collector = try await Collector.open(
            path: directory.appending(path: "a.db").path,
            streams: streams,
            options: options,
            now: monday
        )
        let log = EventLog()
        let loop = CollectorLoop(collector: collector, clock: clock) { await log.add($0) }
        try await withThrowingTaskGroup { group in
            group.addTask {
                defer { clock.finish() }
                try await loop.run()
            }
            try await body(clock, collector, log)
            group.cancelAll()
            try await group.waitForAll()
        }
        try await collector.close()
        return await log.events
    }

    @Test("rows are flushed every 30 s, and the rest when it is cancelled")
    func regularFlushes() async throws {
        try await withTemporaryDirectory { directory in
            // Seed 3 has no disconnect in its first half hour.
            let streams = StreamDefinition.simulatedStrap(seed: 3)
            let events = try await withLoop(streams: streams, in: directory) { clock, _, log in
                await clock.run(until: ManualClock.Instant(offset: .seconds(100)))
                _ = await clock.nextDeadline()
                #expect(await log.flushes.map(\.inserted) == [93, 90, 90])
            }
            let inserted = events.map { event in
                if case .flushed(let report) = event { report.inserted } else { -1 }
            }
            #expect(inserted == [93, 90, 90, 30])
        }
    }

    @Test("a flush on demand writes what is buffered at once")
    func onDemand() async throws {
        try await withTemporaryDirectory { directory in
            let streams = StreamDefinition.simulatedStrap(seed: 3)
            _ = try await withLoop(streams: streams, in: directory) { clock, collector, log in
                await clock.run(until: ManualClock.Instant(offset: .seconds(9)))
                _ = await clock.nextDeadline()
                let report = try await collector.flush()
                #expect(report.inserted == 30)
                let path = directory.appending(path: "a.db").path
                let stored = try integer("SELECT count(*) FROM sample_gravity", in: path)
                #expect(stored == 10)
                await clock.run(until: ManualClock.Instant(offset: .seconds(30)))
                _ = await clock.nextDeadline()
                #expect(await log.flushes.map(\.inserted) == [63])
            }
        }
    }

    @Test(
        "a recording at 60× takes a sixtieth of its time and ends the loop",
        .enabled(if: Shared.isPresent, Shared.missing)
    )
    func recordingAtSpeed() async throws {
        try await withTemporaryDirectory { directory in
            let stream = recordedStream(speed: 60)
            let events = try await withLoop(streams: [stream], in: directory) { clock, _, _ in
                var last = clock.now
                while let deadline = await clock.nextDeadline() {
                    last = deadline
                    clock.advance(to: deadline)
                }
                // Its end is found by the next look, half an interval later at most.
                let late = last.offset / .seconds(1) - 24_624.0 / 60
                #expect(late > -1 && late <= 15)
            }
            var inserted: [Int] = []
            var ended: [String] = []
            for event in events {
                switch event {
                case .flushed(let report): inserted.append(report.inserted)
                case .sourceEnded(let stream): ended.append(stream)
                default: Issue.record("unexpected \(event)")
                }
            }
            #expect(ended == ["watch"])
            #expect(inserted.reduce(0, +) == 24_232)
            #expect(inserted.dropLast().allSatisfy { (1_500...1_801).contains($0) })
        }
    }

    @Test("a locked database is told, tried again, and loses nothing")
    func lockedDatabase() async throws {
        try await withTemporaryDirectory { directory in
            let streams = StreamDefinition.simulatedStrap(seed: 3)
            let options = Collector.Options(
                capacity: 240,
                flushRows: 240,
                lockTimeout: .milliseconds(2)
            )
            let events = try await withLoop(
                streams: streams,
                options: options,
                in: directory
            ) { clock, _, log in
                let other = try Connection(path: directory.appending(path: "a.db").path)
                try other.beginImmediate(within: .seconds(1))
                await clock.run(until: ManualClock.Instant(offset: .seconds(120)))
                _ = await clock.nextDeadline()
                try other.endRead()
                try other.close()
                #expect(await log.flushes.isEmpty)
                await clock.run(until: ManualClock.Instant(offset: .seconds(240)))
                _ = await clock.nextDeadline()
            }
            var story: [String] = []
            var inserted = 0
            for event in events {
                switch event {
                case .flushed(let report):
                    inserted += report.inserted
                    story.append("flushed")
                case .flushFailed(let error, let rows):
                    #expect((error as? SQLiteError)?.isBusy == true)
                    #expect((93...240).contains(rows))
                    story.append("failed")
                case .bufferFull(let rows):
                    #expect(rows == 240)
                    story.append("full")
                default: Issue.record("unexpected \(event)")
                }
            }
            #expect(story.filter { $0 == "full" }.count == 1)
            #expect(story.first == "failed" && story.last == "flushed")
            // Seconds 0 to 240 of three streams.
            #expect(inserted == 3 * 241)
        }
    }

    @Test("a suspended process finds its samples due, and takes them in bounded portions")
    func suspension() async throws {
        try await withTemporaryDirectory { directory in
            let streams = StreamDefinition.simulatedStrap(seed: 3)
            let options = Collector.Options(capacity: 2_000, flushRows: 500)
            let events = try await withLoop(
                streams: streams,
                options: options,
                in: directory
            ) { clock, _, _ in
                _ = await clock.nextDeadline()
                clock.advance(by: .seconds(1_000))
                _ = await clock.nextDeadline()
            }
            let inserted = events.compactMap { event in
                if case .flushed(let report) = event { report.inserted } else { nil }
            }
            #expect(inserted.allSatisfy { $0 <= 500 })
            #expect(inserted.reduce(0, +) == 3 * 1_001)
        }
    }
}
