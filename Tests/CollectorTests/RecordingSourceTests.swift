import Collector
import DurableFiles
import Foundation
import TestSupport
import Testing

@Suite("Recorded source")
struct RecordingSourceTests {
    private static let columns = [ColumnDefinition("n", .integer), ColumnDefinition("x", .real)]

    private func withSource<R>(
        _ text: String,
        speed: Double = 1,
        skipping: Int64 = 0,
        _ body: (RecordingSource) throws -> R
    ) throws -> R {
        try withTemporaryDirectory { directory in
            let file = directory.appending(path: "in.csv")
            try Data(text.utf8).write(to: file)
            return try body(
                RecordingSource(
                    RecordingDefinition(path: file.path, speed: speed),
                    columns: Self.columns,
                    origin: monday,
                    skipping: skipping
                )
            )
        }
    }

    @Test("columns are found by name, and an empty cell is a missing reading")
    func columnsByName() throws {
        try withSource("x,other,offset_s,n\n1.5,?,10,\n,?,10.25,-7\n1e2,?,12,8.0\n") { source in
            var items: [SourcedSample] = []
            while let item = try source.next() { items.append(item) }
            #expect(
                items.map(\.sample.values) == [
                    [.null, .real(1.5)], [.integer(-7), .null], [.integer(8), .real(100)],
                ]
            )
            #expect(
                items.map { $0.sample.time.milliseconds - monday.milliseconds }
                    == [10_000, 10_250, 12_000]
            )
            #expect(items.map(\.position) == [1, 2, 3])
            #expect(items.map(\.sample.device) == ["recorded", "recorded", "recorded"])
        }
    }

    @Test(
        "samples are due at their distance from the first, divided by the speed",
        arguments: [(1, 2.5), (10, 0.25), (.infinity, 0)] as [(Double, Double)]
    )
    func dueTimes(speed: Double, expected: Double) throws {
        try withSource("offset_s,n,x\n100,,\n102.5,,\n", speed: speed) { source throws in
            #expect(try source.next()?.dueAt == .zero)
            #expect(try source.next()?.dueAt == .seconds(expected))
        }
    }

    @Test("a resumed source goes on after the records consumed")
    func resumes() throws {
        try withSource("offset_s,n,x\n1,1,\n5,2,\n6,3,\n", skipping: 1) { source in
            let item = try #require(try source.next())
            #expect(item.sample.values == [.integer(2), .null])
            #expect(item.dueAt == .zero)
            #expect(item.position == 2)
        }
        try withSource("offset_s,n,x\n1,1,\n", skipping: 9) { source throws in
            #expect(try source.next() == nil)
        }
    }

    @Test(
        "a bad record is refused with line, column and value",
        arguments: [
            ("1,2,abc", .notANumber(column: "x", value: "abc")),
            ("1,2,nan", .notANumber(column: "x", value: "nan")),
            ("1,2,0x1p3", .notANumber(column: "x", value: "0x1p3")),
            ("1,2,1e999", .notANumber(column: "x", value: "1e999")),
            ("1,2, 3", .notANumber(column: "x", value: " 3")),
            ("1,2.5,", .notAnInteger(column: "n", value: "2.5")),
            ("1,99999999999999999999,", .notAnInteger(column: "n", value: "99999999999999999999")),
            (",1,1", .noTime(column: "offset_s")),
            ("soon,1,1", .notANumber(column: "offset_s", value: "soon")),
            ("1e300,1,1", .timeOutOfRange(column: "offset_s", value: "1e300")),
            ("300000000000,1,1", .timeOutOfRange(column: "offset_s", value: "300000000000")),
            ("-399999999999,1,1", .timeOutOfRange(column: "offset_s", value: "-399999999999")),
            ("1,2", .fieldCount(expected: 3, found: 2)),
            ("1,2,3,4", .fieldCount(expected: 3, found: 4)),
        ] as [(String, RecordingError.Reason)]
    )
    func badRecords(record: String, reason: RecordingError.Reason) throws {
        try withSource("offset_s,n,x\n0,1,1\n\(record)\n") { source in
            _ = try source.next()
            let error = try #require(throws: RecordingError.self) { try source.next() }
            #expect(error.reason == reason)
            #expect(error.line == 3)
            #expect(error.description.hasPrefix("\(error.path):3: "))
        }
    }

    @Test(
        "a header that does not fit is refused",
        arguments: [
            ("", .empty),
            ("offset_s,x\n", .missingColumns(["n"], found: ["offset_s", "x"])),
            ("n,x\n", .missingColumns(["offset_s"], found: ["n", "x"])),
            ("offset_s,n,x,n\n", .repeatedColumn("n")),
        ] as [(String, RecordingError.Reason)]
    )
    func badHeaders(text: String, reason: RecordingError.Reason) throws {
        let error = try #require(throws: RecordingError.self) { try withSource(text) { _ in } }
        #expect(error.reason == reason)
        #expect(error.line == 1)
    }

    @Test("a missing file is refused with its path")
    func missingFile() throws {
        let error = try #require(throws: FileError.self) {
            try RecordingSource(
                RecordingDefinition(path: "/nonexistent/in.csv"),
                columns: Self.columns,
                origin: monday
            )
        }
        #expect(error.isMissing)
        #expect(error.path == "/nonexistent/in.csv")
    }

    @Test("a stream can be made from a header")
    func streamFromHeader() throws {
        try withTemporaryDirectory { directory in
            let file = directory.appending(path: "in.csv")
            try Data("heart_rate_bpm,offset_s,altitude_m\n".utf8).write(to: file)
            let stream = try StreamDefinition.recording(RecordingDefinition(path: file.path))
            #expect(
                stream.columns == [
                    ColumnDefinition("heart_rate_bpm", .real),
                    ColumnDefinition("altitude_m", .real),
                ]
            )
            try Data("offset_s,Heart Rate\n".utf8).write(to: file)
            #expect(throws: StreamProblem.columnName(stream: "recorded", "Heart Rate")) {
                try StreamDefinition.recording(RecordingDefinition(path: file.path))
            }
        }
    }
}
