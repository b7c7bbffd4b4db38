/// A recorded file that cannot be read as samples: where, and what is there.
public struct RecordingError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Reason: Hashable, Sendable {
        case empty
        /// The header names no such columns.
        case missingColumns([String], found: [String])
        case repeatedColumn(String)
        case recordTooLong(limit: Int)
        case tooManyFields(limit: Int)
        case unterminatedQuote
        /// A quote inside a cell that does not begin with one, or text after a closing quote.
        case strayQuote
        case notUTF8
        case fieldCount(expected: Int, found: Int)
        case notANumber(column: String, value: String)
        case notAnInteger(column: String, value: String)
        case noTime(column: String)
        case timeOutOfRange(column: String, value: String)
    }

    public let path: String
    /// Counted from 1; of a record over several lines the first.
    public let line: Int64
    public let reason: Reason

    init(path: String, line: Int64, _ reason: Reason) {
        self.path = path
        self.line = line
        self.reason = reason
    }

    public var description: String { "\(path):\(line): \(reason.text)" }
}

extension RecordingError.Reason {
    fileprivate var text: String {
        switch self {
        case .empty: "the file is empty; its first line must name the columns"
        case .missingColumns(let names, let found):
            "no column \(names.joined(separator: ", ")); the header has "
                + found.map(Self.shortened).joined(separator: ", ")
        case .repeatedColumn(let name): "column \(name) is there twice"
        case .recordTooLong(let limit): "the record is longer than \(limit) bytes"
        case .tooManyFields(let limit): "the record has more than \(limit) cells"
        case .unterminatedQuote: "a quoted cell is not closed"
        case .strayQuote: "a quote stands where none may be"
        case .notUTF8: "a cell is not UTF-8"
        case .fieldCount(let expected, let found):
            "\(found) cells where the header has \(expected)"
        case .notANumber(let column, let value):
            "column \(column): \"\(Self.shortened(value))\" is not a number"
        case .notAnInteger(let column, let value):
            "column \(column): \"\(Self.shortened(value))\" is not a whole number"
        case .noTime(let column): "column \(column): a record without its time"
        case .timeOutOfRange(let column, let value):
            "column \(column): \"\(Self.shortened(value))\" is outside the years 1 to 9999"
        }
    }

    /// A cell can be 64 KiB; a log line should not.
    private static func shortened(_ text: String) -> String {
        text.utf8.count <= 40 ? text : "\(text.prefix(32))…"
    }
}
