import Collector
import Foundation
import TestSupport
import Testing

@Suite("CSV reader")
struct CSVReaderTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let text: String
        let records: [[String]]

        var testDescription: String { name }
    }

    static let cases = [
        Case(name: "LF line ends", text: "a,b\n1,2\n", records: [["a", "b"], ["1", "2"]]),
        Case(name: "CRLF line ends", text: "a,b\r\n1,2\r\n", records: [["a", "b"], ["1", "2"]]),
        Case(name: "no line end at the end", text: "a\n1", records: [["a"], ["1"]]),
        Case(name: "a lone CR at the end", text: "a\n1\r", records: [["a"], ["1"]]),
        Case(name: "a byte order mark", text: "\u{FEFF}a\n1\n", records: [["a"], ["1"]]),
        Case(name: "empty cells", text: "a,b\n,\n", records: [["a", "b"], ["", ""]]),
        Case(name: "empty lines", text: "\na\n\r\n1\n\n", records: [["a"], ["1"]]),
        Case(name: "a quoted empty cell", text: "a\n\"\"\n", records: [["a"], [""]]),
        Case(name: "quotes", text: "\"a,b\",\"c\"\"d\"\n", records: [["a,b", "c\"d"]]),
        Case(name: "a quoted line end", text: "\"a\r\nb\",c\n", records: [["a\r\nb", "c"]]),
        Case(name: "an empty file", text: "", records: []),
    ]

    @Test("records are found whatever the chunk size", arguments: cases, [3, 4, 5, 7, 4096])
    func records(case: Case, chunkSize: Int) throws {
        try withTemporaryDirectory { directory in
            let file = directory.appending(path: "in.csv")
            try Data(`case`.text.utf8).write(to: file)
            let reader = try CSVReader(file.path, chunkSize: chunkSize)
            var records: [[String]] = []
            while let record = try reader.next() { records.append(record) }
            #expect(records == `case`.records)
        }
    }

    @Test(
        "what is no CSV is refused with its line",
        arguments: [
            ("a\n\"open", 2, .unterminatedQuote),
            ("a\nb\"c\n", 2, .strayQuote),
            ("a\n\"b\"c\n", 2, .strayQuote),
            ("\"x\ny\"\n\"open\n", 3, .unterminatedQuote),
            ("a\n" + String(repeating: "x", count: 70_000), 2, .recordTooLong(limit: 65_536)),
            ("a\n" + String(repeating: ",", count: 2_000), 2, .tooManyFields(limit: 1_024)),
        ] as [(String, Int64, RecordingError.Reason)]
    )
    func refusals(text: String, line: Int64, reason: RecordingError.Reason) throws {
        try withTemporaryDirectory { directory in
            let file = directory.appending(path: "in.csv")
            try Data(text.utf8).write(to: file)
            let reader = try CSVReader(file.path)
            let error = try #require(throws: RecordingError.self) {
                while try reader.next() != nil {}
            }
            #expect(error.reason == reason)
            #expect(error.line == line)
            #expect(error.path == file.path)
        }
    }

    @Test("bytes that are not UTF-8 are refused")
    func notUTF8() throws {
        try withTemporaryDirectory { directory in
            let file = directory.appending(path: "in.csv")
            try Data([0x61, 0x0A, 0xFF, 0x0A]).write(to: file)
            let reader = try CSVReader(file.path)
            let error = try #require(throws: RecordingError.self) {
                while try reader.next() != nil {}
            }
            #expect(error.reason == .notUTF8)
            #expect(error.line == 2)
        }
    }

    @Test("reading never traps, whatever the bytes", arguments: 0..<200 as Range<UInt64>)
    func readingIsTotal(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let alphabet = Array("a1,\"\n\r \u{FEFF}-.".utf8)
        let bytes = (0..<Int.random(in: 0...400, using: &random)).map { _ in
            UInt64.random(in: 0..<20, using: &random) == 0
                ? UInt8.random(in: 0...255, using: &random)
                : alphabet[Int.random(in: alphabet.indices, using: &random)]
        }
        try withTemporaryDirectory { directory in
            let file = directory.appending(path: "in.csv")
            try Data(bytes).write(to: file)
            let reader = try CSVReader(file.path, chunkSize: 16)
            do {
                while let record = try reader.next() { #expect(!record.isEmpty) }
            } catch is RecordingError {}
        }
    }
}
