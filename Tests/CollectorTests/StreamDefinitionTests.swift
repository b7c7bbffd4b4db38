import Collector
import Testing

@Suite("Stream definitions")
struct StreamDefinitionTests {
    private static let bpm = ColumnDefinition("bpm", .integer)

    private static func stream(
        _ name: String = "heart_rate",
        _ columns: [ColumnDefinition] = [bpm],
        _ source: SourceDefinition = .strap(StrapDefinition(seed: 1, signal: .heartRate))
    ) -> StreamDefinition {
        StreamDefinition(name: name, columns: columns, source: source)
    }

    @Test(
        "a name is a letter, then letters, digits and underscores",
        arguments: [
            ("a", true), ("heart_rate", true), ("a1", true),
            (String(repeating: "a", count: 63), true), (String(repeating: "a", count: 64), false),
            ("", false), ("1a", false), ("_a", false), ("Heart", false), ("a-b", false),
            ("a\"b", false), ("ä", false), ("a b", false),
        ]
    )
    func names(name: String, isValid: Bool) {
        #expect(StreamDefinition.isName(name) == isValid)
    }

    @Test("the streams of the simulated strap are valid")
    func defaults() {
        let streams = StreamDefinition.simulatedStrap(seed: 1)
        #expect(streams.map(\.name) == ["heart_rate", "rr_interval", "gravity"])
        #expect(StreamDefinition.problems(in: streams).isEmpty)
    }

    @Test("everything that is wrong is told at once")
    func allProblems() {
        let streams = [
            Self.stream("Heart", [Self.bpm, Self.bpm]),
            Self.stream("a", []),
            Self.stream("a", [ColumnDefinition("time_ms", .integer)]),
        ]
        #expect(
            StreamDefinition.problems(in: streams) == [
                .streamName("Heart"),
                .duplicateColumn(stream: "Heart", "bpm"),
                .columnCount(stream: "a", 0),
                .duplicateStream("a"),
                .reservedColumn(stream: "a", "time_ms"),
                .sourceColumn(
                    stream: "a",
                    ColumnDefinition("time_ms", .integer),
                    available: [Self.bpm]
                ),
            ]
        )
        #expect(StreamDefinition.problems(in: []) == [.noStreams])
    }

    @Test(
        "an impossible setting of a source is refused",
        arguments: [
            (.strap(StrapDefinition(seed: 1, signal: .heartRate, device: "")), "device"),
            (.strap(StrapDefinition(seed: 1, signal: .heartRate, speed: 0)), "strap speed"),
            (.strap(StrapDefinition(seed: 1, signal: .heartRate, speed: .nan)), "strap speed"),
            (.strap(StrapDefinition(seed: 1, signal: .gravity)), "no column bpm"),
            (.recording(RecordingDefinition(path: "")), "recording path"),
            (.recording(RecordingDefinition(path: "a", speed: -1)), "recording speed"),
            (.recording(RecordingDefinition(path: "a", timeColumn: "")), "recording time column"),
            (
                .recording(RecordingDefinition(path: "a", start: SampleTime(milliseconds: .max))),
                "recording start"
            ),
            (.backfill(strap, BackfillDefinition(multiple: 0.5)), "backfill multiple"),
            (.backfill(strap, BackfillDefinition(batch: 0)), "backfill batch"),
            (.backfill(strap, BackfillDefinition(history: .seconds(-1))), "backfill history"),
            (.backfill(strap, BackfillDefinition(bank: .zero)), "backfill bank"),
            (
                .backfill(.backfill(strap, BackfillDefinition()), BackfillDefinition()),
                "backfill source"
            ),
        ] as [(SourceDefinition, String)]
    )
    func sourceSettings(source: SourceDefinition, words: String) throws {
        let problems = StreamDefinition.problems(in: [Self.stream("a", [Self.bpm], source)])
        let problem = try #require(problems.first)
        #expect(problems.count == 1)
        #expect(problem.description.contains(words))
    }

    private static let strap = SourceDefinition.strap(StrapDefinition(seed: 1, signal: .heartRate))

    @Test(
        "days begin at midnight UTC, before 1970 too",
        arguments: [
            (0, 0), (86_399_999, 0), (86_400_000, 1), (-1, -1), (-86_400_000, -1),
            (-86_400_001, -2),
        ] as [(Int64, Int64)]
    )
    func days(milliseconds: Int64, day: Int64) {
        #expect(SampleTime(milliseconds: milliseconds).day == day)
    }

    @Test("times stay between the years 1 and 9999")
    func timeRange() {
        let last = SampleTime.range.upperBound
        #expect(last.advanced(by: .seconds(Int64.max)) == last)
        let first = SampleTime.range.lowerBound
        #expect(SampleTime(milliseconds: .min).advanced(by: .seconds(Int64.min)) == first)
        #expect(SampleTime(seconds: .max) <= last)
        #expect(monday.advanced(by: .milliseconds(1500)).milliseconds == monday.milliseconds + 1500)
        #expect(
            monday.advanced(by: .milliseconds(-1500)).milliseconds == monday.milliseconds - 1500
        )
    }
}
