import Collector
import Foundation
import SQLiteBridge
import TestSupport
import Testing

@Suite("Backfill source")
struct BackfillSourceTests {
    private static let hour: Int64 = 3600

    /// One strap signal with an hour banked.
    private static func source(_ definition: BackfillDefinition) -> BackfillSource<StrapSource> {
        BackfillSource(
            StrapSource(
                StrapDefinition(seed: 5, signal: .heartRate),
                columns: StrapDefinition.Signal.heartRate.columns,
                from: monday.seconds - hour,
                edge: monday.seconds
            ),
            definition,
            isLive: true
        )
    }

    @Test("history is drained at its multiple, in bounded batches", arguments: [2, 21, 500])
    func rate(multiple: Double) throws {
        var source = Self.source(BackfillDefinition(multiple: multiple, batch: 100))
        var handedOver: [Duration: Int] = [:]
        while let item = try source.next() {
            let happened = item.sample.time.seconds - monday.seconds
            if happened >= 0 { break }
            handedOver[item.dueAt, default: 0] += 1
            // Never faster than the multiple, but for what is left of one batch and of a gap.
            let drained = Double(Self.hour + happened)
            let seconds = item.dueAt / .seconds(1)
            #expect(drained / multiple - seconds < 130 / multiple + 10)
            #expect(seconds <= drained / multiple + 1e-6)
        }
        #expect(handedOver.values.allSatisfy { $0 <= 100 })
        let end = try #require(handedOver.keys.max()) / .seconds(1)
        #expect(end <= Double(Self.hour) / (multiple - 1) + 1)
    }

    @Test("once the history is drained, samples come live and none is missing")
    func becomesLive() throws {
        var source = Self.source(BackfillDefinition())
        var plain = StrapSource(
            StrapDefinition(seed: 5, signal: .heartRate),
            columns: StrapDefinition.Signal.heartRate.columns,
            from: monday.seconds - Self.hour,
            edge: monday.seconds
        )
        var previous = Duration.zero
        var liveFrom: Int64?
        while let item = try source.next(), item.dueAt < .seconds(1800) {
            let bare = try #require(try plain.next())
            #expect(item.sample == bare.sample)
            #expect(item.position == bare.position)
            #expect(item.dueAt >= previous)
            #expect(item.dueAt >= bare.dueAt)
            previous = item.dueAt
            if item.dueAt == bare.dueAt, liveFrom == nil {
                liveFrom = item.sample.time.seconds - monday.seconds
            }
        }
        // The lines cross at 3600 / (21 - 1) seconds, at most one batch of 30 s after its release.
        #expect((150...182).contains(liveFrom ?? 0))
    }

    @Test("on a clock, an hour of history takes 1/21 of an hour to be written")
    func onAClock() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            let clock = ManualClock()
            let collector = try await Collector.open(
                path: path,
                streams: StreamDefinition.simulatedStrap(
                    seed: 5,
                    backfill: BackfillDefinition(history: .seconds(Self.hour))
                ),
                now: monday
            )
            let log = EventLog()
            let loop = CollectorLoop(collector: collector, clock: clock) { await log.add($0) }
            let task = Task {
                defer { clock.finish() }
                try await loop.run()
            }
            await clock.run(until: ManualClock.Instant(offset: .seconds(30)))
            _ = await clock.nextDeadline()
            let flushes = await log.flushes
            #expect(flushes.count == 1)
            // 630 s of history in 30 s, from three streams, and a batch on top.
            let inserted = flushes.first?.inserted ?? 0
            #expect((3 * 500...3 * 1260).contains(inserted))

            await clock.run(until: ManualClock.Instant(offset: .seconds(210)))
            _ = await clock.nextDeadline()
            let newest = try integer(
                "SELECT max(maximum) FROM daily_summary WHERE ordinal = 0",
                in: path
            )
            #expect(abs(newest / 1000 - monday.seconds - 210) <= 2)
            task.cancel()
            try await task.value
            try await collector.close()
        }
    }

    @Test("an outage is drained from the bank, as far back as the bank reaches")
    func outage() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            let streams = StreamDefinition.simulatedStrap(
                seed: 9,
                backfill: BackfillDefinition(bank: .seconds(600))
            )
            func collect(from seconds: Int64, for duration: Duration) async throws {
                let collector = try await Collector.open(
                    path: path,
                    streams: streams,
                    now: SampleTime(seconds: monday.seconds + seconds)
                )
                while await collector.pull(upTo: duration).wantsFlush {
                    _ = try await collector.flush()
                }
                _ = try await collector.flush()
                try await collector.close()
            }
            try await collect(from: 0, for: .seconds(59))
            try await collect(from: 400, for: .seconds(100))
            #expect(try integer("SELECT count(*) FROM sample_heart_rate", in: path) == 501)
            // Longer than the bank: its beginning is lost, and only that.
            try await collect(from: 2_000, for: .seconds(100))
            let times = try rows(
                "SELECT time_ms / 1000 FROM sample_heart_rate ORDER BY 1",
                in: path
            ).compactMap { $0.first?.integer.map { $0 - monday.seconds } }
            #expect(times.contains(1_400) && !times.contains(1_399) && times.contains(2_100))
        }
    }

    @Test("a wall clock that went back does not hold the strap up")
    func clockWentBack() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            let streams = StreamDefinition.simulatedStrap(seed: 9)
            for now in [monday, SampleTime(seconds: monday.seconds - 86_400)] {
                let collector = try await Collector.open(path: path, streams: streams, now: now)
                _ = await collector.pull(upTo: .seconds(9))
                let flushed = try await collector.flush()
                #expect(flushed.inserted == 30)
                try await collector.close()
            }
            let span = try rows(
                "SELECT min(time_ms), max(time_ms) FROM sample_gravity",
                in: path
            )
            let expected = [monday.milliseconds, monday.milliseconds + 19_000]
            #expect(span.first == expected.map { .integer($0) })
        }
    }

    @Test("a recording is drained at the multiple too")
    func recording() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "in.csv")
            let lines = (0..<1000).map { "\($0),\($0)" }.joined(separator: "\n")
            try Data("offset_s,n\n\(lines)\n".utf8).write(to: file)
            let stream = StreamDefinition(
                name: "n",
                columns: [ColumnDefinition("n", .integer)],
                source: .backfill(
                    .recording(RecordingDefinition(path: file.path, start: monday)),
                    BackfillDefinition(multiple: 10, batch: 50)
                )
            )
            let collector = try await Collector.open(
                path: directory.appending(path: "a.db").path,
                streams: [stream],
                now: monday
            )
            for (elapsed, expected) in [(0, 50), (4, 50), (5, 100), (50, 550), (95, 1000)] {
                let report = await collector.pull(upTo: .seconds(elapsed))
                #expect(report.bufferedRows == expected)
            }
            try await collector.close()
        }
    }
}
