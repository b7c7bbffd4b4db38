import Collector
import Configuration
import Testing

/// Configuration and collector know nothing of each other, so this is what keeps them together.
@Suite("agent.yml and the collector")
struct CollectorAgreementTests {
    @Test("both know the same signals, with the same columns")
    func signals() throws {
        let known = StrapDefinition.Signal.allCases
        #expect(AgentConfig.Signal.allCases.map(\.rawValue) == known.map(\.rawValue))
        for (signal, collected) in zip(AgentConfig.Signal.allCases, known) {
            #expect(signal.columns.map(\.name) == collected.columns.map(\.name))
            #expect(signal.columns.map(\.type.rawValue) == collected.columns.map(\.type.rawValue))
        }
    }

    @Test("the defaults of both are the same")
    func defaults() throws {
        let mine = AgentConfig.Backfill(of: .simulated(.init(signal: .gravity)))
        let theirs = BackfillDefinition()
        #expect(mine.speed == theirs.multiple)
        #expect(mine.batchRows == theirs.batch)
        #expect(mine.history == theirs.history)
        #expect(mine.capacity == theirs.bank)
        let streams = StreamDefinition.simulatedStrap(seed: 1)
        #expect(AgentConfig.Stream.defaults.map(\.name) == streams.map(\.name))
        #expect(
            AgentConfig.CSV(file: "/x").timeColumn == RecordingDefinition(path: "/x").timeColumn
        )
    }

    @Test(
        "a column that the collector's tables have already is refused",
        arguments: ["device_id", "time_ms"]
    )
    func reserved(column: String) {
        let stream = StreamDefinition(
            name: "a",
            columns: [ColumnDefinition(column, .real)],
            source: .recording(RecordingDefinition(path: "/x"))
        )
        #expect(!StreamDefinition.problems(in: [stream]).isEmpty)
        let text = """
            database: /d
            destination: /b
            streams: [{ name: a, columns: [\(column)], source: { kind: csv, file: /x } }]
            """
        #expect(throws: ConfigurationError.self) {
            try AgentConfig.parse(Array(text.utf8), file: "a.yml")
        }
    }
}
