import Collector
import Foundation
import SQLiteBridge
import TestSupport
import Testing

@Suite("Collector")
struct CollectorTests {
    private func withDatabase<R>(
        _ body: (_ path: String, _ directory: URL) async throws -> R
    ) async throws -> R {
        try await withTemporaryDirectory { directory in
            try await body(directory.appending(path: "a.db").path, directory)
        }
    }

    @Test(
        "the recorded file gives exactly its rows, with its gaps and missing readings",
        .enabled(if: Shared.isPresent, Shared.missing)
    )
    func recordedFile() async throws {
        try await withDatabase { path, _ in
            let collector = try await Collector.open(
                path: path,
                streams: [recordedStream()],
                now: monday
            )
            let sum = try await collector.drain()
            try await collector.close()
            #expect(sum.offered == 24_232)
            #expect(sum.inserted == 24_232)
            let facts = try rows(
                """
                SELECT count(*), count(heart_rate_bpm), count(cadence_rpm), count(altitude_m),
                    min(time_ms), max(time_ms), max(heart_rate_bpm), min(altitude_m)
                FROM sample_watch
                """,
                in: path
            )
            let first = monday.milliseconds
            #expect(
                facts == [
                    [
                        .integer(24_232), .integer(24_220), .integer(21_101), .integer(24_232),
                        .integer(first), .integer(first + 24_624_000), .integer(172), .real(-34),
                    ]
                ]
            )
            let steps = try rows(
                """
                SELECT step, count(*) FROM (
                    SELECT (time_ms - lag(time_ms) OVER (ORDER BY time_ms)) / 1000 AS step
                    FROM sample_watch
                ) WHERE step > 1 GROUP BY step ORDER BY step
                """,
                in: path
            )
            let expected: [[Int64]] = [[2, 238], [3, 15], [4, 12], [5, 15], [30, 1]]
            #expect(steps == expected.map { $0.map { .integer($0) } })
        }
    }

    @Test(
        "replayed again, the same rows change nothing",
        .enabled(if: Shared.isPresent, Shared.missing)
    )
    func replayedTwice() async throws {
        try await withDatabase { path, directory in
            let copy = directory.appending(path: "copy.csv").path
            try FileManager.default.copyItem(atPath: recordingPath(), toPath: copy)
            var inserted: [Int] = []
            var summaries: [[[SQLiteValue]]] = []
            // Another path is another source, so nothing is skipped; the rows are the same.
            for file in [recordingPath(), copy, recordingPath()] {
                let collector = try await Collector.open(
                    path: path,
                    streams: [recordedStream(path: file)],
                    now: monday
                )
                let sum = try await collector.drain()
                try await collector.close()
                #expect(sum.offered == 24_232)
                inserted.append(sum.inserted)
                summaries.append(try rows("SELECT * FROM daily_summary", in: path))
            }
            #expect(inserted == [24_232, 0, 0])
            #expect(summaries[1] == summaries[0] && summaries[2] == summaries[0])
        }
    }

    @Test(
        "what was not flushed is taken again by the next launch, nothing twice",
        .enabled(if: Shared.isPresent, Shared.missing),
        arguments: [1, 2, 3] as [UInt64]
    )
    func abandonedBuffers(seed: UInt64) async throws {
        print("abandoned buffers, seed \(seed)")
        var random = SeededGenerator(seed: seed)
        try await withDatabase { path, _ in
            var flushed = 0
            var launches = 0
            while flushed < 24_232 {
                launches += 1
                // The wall clock of the first launch is the recording's second 0 for all.
                let collector = try await Collector.open(
                    path: path,
                    streams: [recordedStream(start: nil)],
                    options: Collector.Options(flushRows: 1_500),
                    now: SampleTime(seconds: monday.seconds + Int64(launches) * 7_777)
                )
                let limit = Duration.seconds(1_000_000)
                for _ in 0..<Int.random(in: 0...3, using: &random) {
                    _ = await collector.pull(upTo: limit)
                    let report = try await collector.flush()
                    #expect(report.duplicates == 0)
                    flushed += report.inserted
                }
                // Buffered and never flushed: this launch ends here.
                _ = await collector.pull(upTo: limit)
                try await collector.close()
                #expect(try integer("SELECT count(*) FROM sample_watch", in: path) == flushed)
            }
            #expect(launches > 3)
            let first = try integer("SELECT min(time_ms) FROM sample_watch", in: path)
            let last = try integer("SELECT max(time_ms) FROM sample_watch", in: path)
            #expect(last - first == 24_624_000)
            #expect(
                try integer("SELECT sum(readings) FROM daily_summary WHERE ordinal = 0", in: path)
                    == 24_232
            )
        }
    }

    @Test("another source for a stream starts at its own beginning")
    func otherSource() async throws {
        try await withDatabase { path, directory in
            for (name, expected) in [("one", 2), ("two", 2), ("one", 0)] {
                let file = directory.appending(path: "\(name).csv")
                if expected > 0 {
                    let offset = name == "one" ? 0 : 100
                    try Data("offset_s,n\n\(offset),1\n\(offset + 1),2\n".utf8).write(to: file)
                }
                let stream = StreamDefinition(
                    name: "n",
                    columns: [ColumnDefinition("n", .integer)],
                    source: .recording(RecordingDefinition(path: file.path, start: monday))
                )
                let collector = try await Collector.open(
                    path: path,
                    streams: [stream],
                    now: monday
                )
                #expect(try await collector.drain().inserted == expected)
                try await collector.close()
            }
        }
    }

    @Test("daily summaries are what the rows add up to", arguments: [11, 12] as [UInt64])
    func summaries(seed: UInt64) async throws {
        try await withDatabase { path, _ in
            let streams = StreamDefinition.simulatedStrap(seed: seed)
            // From 21:00 over midnight.
            let start = SampleTime(seconds: monday.seconds + 21 * 3600)
            let collector = try await Collector.open(path: path, streams: streams, now: start)
            var duplicates = 0
            for elapsed in stride(from: 30, through: 6 * 3600, by: 30) {
                _ = await collector.pull(upTo: .seconds(elapsed))
                duplicates += try await collector.flush().duplicates
            }
            try await collector.close()
            #expect(duplicates > 0)
            let stored = try rows(
                """
                SELECT stream.name, day, stream_column.name, readings, minimum, maximum, total
                FROM daily_summary
                JOIN stream ON stream.id = stream_id
                JOIN stream_column USING (stream_id, ordinal)
                ORDER BY 1, 2, 3
                """,
                in: path
            )
            #expect(stored.count >= 2 * (2 + 4 + 4))
            for row in stored {
                let stream = try #require(row[0].text)
                let column = try #require(row[2].text)
                let day = try #require(row[1].integer)
                let fresh = try rows(
                    """
                    SELECT count("\(column)"), min("\(column)"), max("\(column)"), sum("\(column)")
                    FROM "sample_\(stream)" WHERE time_ms / 86400000 = \(day)
                    """,
                    in: path
                )[0]
                #expect(Array(row[3...5]) == Array(fresh[0...2]), "\(stream).\(column)")
                let total = try #require(row[6].real)
                let sum = try #require(fresh[3].real)
                // Whole numbers exactly; real ones but for the order of the additions.
                #expect(abs(total - sum) <= (stream == "gravity" ? 1e-6 : 0))
            }
        }
    }

    @Test("the same time of another device is another row")
    func twoDevices() async throws {
        try await withDatabase { path, directory in
            let collector = try await Collector.open(
                path: path,
                streams: [manualStream(in: directory)],
                now: monday
            )
            let samples = ["left", "right", "left"].map { manualSample(second: 5, device: $0) }
            #expect(try await collector.append(samples, to: "manual") == 3)
            let report = try await collector.flush()
            #expect(report.inserted == 2)
            #expect(report.duplicates == 1)
            #expect(report.newest == SampleTime(seconds: monday.seconds + 5))
            #expect(report.pages > 0)
            #expect(try await collector.flush() == FlushReport())
            try await collector.close()
            #expect(try integer("SELECT count(*) FROM device", in: path) == 2)
            #expect(
                try integer("SELECT sum(readings) FROM daily_summary WHERE ordinal = 0", in: path)
                    == 2
            )
        }
    }

    @Test("sums of whole numbers are exact, and become real where they no longer fit")
    func extremeIntegers() async throws {
        try await withDatabase { path, directory in
            let collector = try await Collector.open(
                path: path,
                streams: [manualStream(in: directory)],
                now: monday
            )
            for (second, value) in [(0, Int64.max - 1), (1, 1), (2, Int64.max), (3, .min)] {
                let sample = manualSample(
                    second: Int64(second),
                    count: .integer(value),
                    level: .null
                )
                _ = try await collector.append([sample], to: "manual")
                if second > 0 { _ = try await collector.flush() }
                if second == 1 {
                    #expect(
                        try integer("SELECT total FROM daily_summary WHERE ordinal = 1", in: path)
                            == .max
                    )
                }
            }
            try await collector.close()
            #expect(
                try rows(
                    """
                    SELECT readings, minimum, maximum, typeof(total)
                    FROM daily_summary WHERE ordinal = 1
                    """,
                    in: path
                ) == [[.integer(4), .integer(.min), .integer(.max), .text("real")]]
            )
        }
    }

    @Test("a row that does not fit its stream is refused, and none of its call is taken")
    func refusedRows() async throws {
        try await withDatabase { path, directory in
            let collector = try await Collector.open(
                path: path,
                streams: [manualStream(in: directory)],
                now: monday
            )
            let good = manualSample(second: 0)
            func bad(_ change: (inout Sample) -> Void) -> Sample {
                var sample = good
                change(&sample)
                return sample
            }
            let late = SampleTime(milliseconds: .max)
            let cases: [(Sample, CollectorError)] = [
                (bad { $0.values = [.null] }, .valueCount(stream: "manual", expected: 2, found: 1)),
                (
                    bad { $0.values[0] = .real(1) },
                    .notAnInteger(stream: "manual", column: "count")
                ),
                (bad { $0.values[1] = .real(.nan) }, .notFinite(stream: "manual", column: "level")),
                (
                    bad { $0.values[1] = .real(.infinity) },
                    .notFinite(stream: "manual", column: "level")
                ),
                (bad { $0.device = "" }, .deviceName(stream: "manual", "")),
                (bad { $0.time = late }, .timeOutOfRange(stream: "manual", late)),
            ]
            for (sample, error) in cases {
                await #expect(throws: error) {
                    try await collector.append([good, sample], to: "manual")
                }
            }
            #expect(await collector.bufferedRows == 0)
            await #expect(throws: CollectorError.unknownStream("other")) {
                try await collector.append([good], to: "other")
            }
            try await collector.close()
            await #expect(throws: CollectorError.closed) { try await collector.flush() }
        }
    }

    @Test("streams that cannot be used are refused before a file is made")
    func refusedStreams() async throws {
        try await withDatabase { path, _ in
            await #expect(throws: CollectorError.streams([.noStreams])) {
                try await Collector.open(path: path, streams: [], now: monday)
            }
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test(
        "while another holds the write lock rows stay buffered, up to the bound, and none is lost"
    )
    func backPressure() async throws {
        try await withDatabase { path, _ in
            let streams = StreamDefinition.simulatedStrap(seed: 3)
            let options = Collector.Options(
                capacity: 300,
                flushRows: 100,
                lockTimeout: .milliseconds(5)
            )
            let collector = try await Collector.open(
                path: path,
                streams: streams,
                options: options,
                now: monday
            )
            let other = try Connection(path: path)
            try other.beginImmediate(within: .seconds(1))
            var buffered = 0
            for elapsed in stride(from: 0, through: 600, by: 10) {
                let report = await collector.pull(upTo: .seconds(elapsed))
                #expect(report.bufferedRows >= buffered)
                #expect(report.bufferedRows <= 300)
                buffered = report.bufferedRows
                let error = try await #require(throws: SQLiteError.self) {
                    try await collector.flush()
                }
                #expect(error.isBusy)
            }
            let full = await collector.pull(upTo: .seconds(600))
            #expect(full.isFull && full.bufferedRows == 300)
            try other.endRead()
            try other.close()

            var inserted = 0
            while true {
                inserted += try await collector.flush().inserted
                let report = await collector.pull(upTo: .seconds(600))
                if report.bufferedRows == 0 { break }
            }
            try await collector.close()
            // Nothing was dropped, and the sources were only held up: second 0 to second 600.
            let strap = SimulatedStrap(seed: 3)
            let window = monday.seconds / 1800
            let gap = strap.link.gap(inWindow: window)?.seconds ?? 0..<0
            let lost = gap.clamped(to: monday.seconds..<monday.seconds + 601).count
            #expect(inserted == 3 * (601 - lost))
            #expect(try integer("SELECT count(*) FROM sample_gravity", in: path) == 601 - lost)
        }
    }

    @Test("a source that fails is told and closed, and what it gave before is kept")
    func failingSource() async throws {
        try await withDatabase { path, directory in
            let file = directory.appending(path: "in.csv")
            try Data("offset_s,n\n0,1\n1,2\n2,x\n3,4\n".utf8).write(to: file)
            let bad = StreamDefinition(
                name: "bad",
                columns: [ColumnDefinition("n", .integer)],
                source: .recording(RecordingDefinition(path: file.path, speed: .infinity))
            )
            let streams = [bad] + StreamDefinition.simulatedStrap(seed: 3)
            let collector = try await Collector.open(path: path, streams: streams, now: monday)
            let report = await collector.pull(upTo: .seconds(4))
            #expect(report.failed.map(\.stream) == ["bad"])
            #expect("\(report.failed[0].error)".contains(":4: column n: \"x\""))
            #expect(report.nextDue == .seconds(5))
            #expect(try await collector.flush().inserted == 2 + 3 * 5)
            try await collector.close()
        }
    }

    @Test(
        "a flush that fails at any table writes nothing, and all of it when tried again",
        arguments: [
            "device", "sample_heart_rate", "sample_gravity", "daily_summary", "source_position",
        ]
    )
    func failedFlush(table: String) async throws {
        try await withDatabase { path, _ in
            let streams = StreamDefinition.simulatedStrap(seed: 3)
            let collector = try await Collector.open(path: path, streams: streams, now: monday)
            let other = try Connection(path: path)
            try other.execute(
                """
                CREATE TRIGGER refuse BEFORE INSERT ON \(table)
                BEGIN SELECT RAISE(ABORT, 'refused'); END
                """
            )
            _ = await collector.pull(upTo: .seconds(9))
            let error = try await #require(throws: SQLiteError.self) {
                try await collector.flush()
            }
            #expect(error.message == "refused")
            #expect(await collector.bufferedRows == 30)
            let tables =
                streams.map { "sample_\($0.name)" }
                + ["device", "daily_summary", "source_position"]
            for name in tables {
                #expect(try integer("SELECT count(*) FROM \(name)", in: path) == 0, "\(name)")
            }
            try other.execute("DROP TRIGGER refuse")
            try other.close()
            #expect(try await collector.flush().inserted == 30)
            #expect(await collector.bufferedRows == 0)
            try await collector.close()
            #expect(try integer("SELECT count(*) FROM source_position", in: path) == 3)
        }
    }
}
