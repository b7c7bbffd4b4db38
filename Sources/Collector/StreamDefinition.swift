/// What a column holds.
public enum ColumnType: String, Hashable, Sendable, CaseIterable {
    case integer, real
}

/// One measured quantity of a stream.
public struct ColumnDefinition: Hashable, Sendable {
    /// Matches `[a-z][a-z0-9_]{0,62}`; units belong into it (`altitude_m`).
    public var name: String
    public var type: ColumnType

    public init(_ name: String, _ type: ColumnType) {
        self.name = name
        self.type = type
    }
}

/// A stream of samples: its name, its columns, and where they come from.
public struct StreamDefinition: Hashable, Sendable {
    /// Matches `[a-z][a-z0-9_]{0,62}`; its rows are in the table `sample_{name}`.
    public var name: String
    public var columns: [ColumnDefinition]
    public var source: SourceDefinition

    public init(name: String, columns: [ColumnDefinition], source: SourceDefinition) {
        self.name = name
        self.columns = columns
        self.source = source
    }

    /// Columns a stream can have; a page-sized row would defeat everything this is built for.
    public static let columnLimit = 64

    /// Everything that is wrong with a set of streams; empty when it can be used.
    public static func problems(in streams: [StreamDefinition]) -> [StreamProblem] {
        var problems: [StreamProblem] = []
        if streams.isEmpty { problems.append(.noStreams) }
        var seen: Set<String> = []
        for stream in streams {
            if !seen.insert(stream.name).inserted {
                problems.append(.duplicateStream(stream.name))
            }
            problems += stream.problems
        }
        return problems
    }

    private var problems: [StreamProblem] {
        var problems: [StreamProblem] = []
        if !Self.isName(name) { problems.append(.streamName(name)) }
        if !(1...Self.columnLimit).contains(columns.count) {
            problems.append(.columnCount(stream: name, columns.count))
        }
        var seen: Set<String> = []
        for column in columns {
            if !Self.isName(column.name) {
                problems.append(.columnName(stream: name, column.name))
            } else if Self.keyColumns.contains(column.name) {
                problems.append(.reservedColumn(stream: name, column.name))
            }
            if !seen.insert(column.name).inserted {
                problems.append(.duplicateColumn(stream: name, column.name))
            }
        }
        return problems + source.problems(for: self)
    }

    /// The natural key, which every stream's table has before its own columns.
    static let keyColumns = ["device_id", "time_ms"]

    /// Whether a text can be a stream's or a column's name.
    public static func isName(_ text: String) -> Bool {
        let bytes = text.utf8
        guard (1...63).contains(bytes.count), let first = bytes.first else { return false }
        guard (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first) else { return false }
        return bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }
}

/// One thing that is wrong with the configured streams.
public enum StreamProblem: Error, Hashable, Sendable, CustomStringConvertible {
    case noStreams
    case streamName(String)
    case duplicateStream(String)
    case columnCount(stream: String, Int)
    case columnName(stream: String, String)
    case reservedColumn(stream: String, String)
    case duplicateColumn(stream: String, String)
    case deviceName(stream: String, String)
    /// The source has no such column, or not of that type.
    case sourceColumn(stream: String, ColumnDefinition, available: [ColumnDefinition])
    case setting(stream: String, name: String, value: String, allowed: String)

    public var description: String {
        switch self {
        case .noStreams: "no stream is configured"
        case .streamName(let name):
            "stream name \"\(name)\" is not [a-z][a-z0-9_]{0,62}"
        case .duplicateStream(let name): "stream \(name) is configured twice"
        case .columnCount(let stream, let count):
            "stream \(stream) has \(count) columns; 1 to \(StreamDefinition.columnLimit) are allowed"
        case .columnName(let stream, let name):
            "stream \(stream): column name \"\(name)\" is not [a-z][a-z0-9_]{0,62}"
        case .reservedColumn(let stream, let name):
            "stream \(stream): column name \(name) is taken by the natural key"
        case .duplicateColumn(let stream, let name):
            "stream \(stream): column \(name) is configured twice"
        case .deviceName(let stream, let name):
            "stream \(stream): device name \"\(name)\" is not 1 to 64 bytes"
        case .sourceColumn(let stream, let column, let available):
            "stream \(stream): its source has no column \(column.name) of type "
                + "\(column.type.rawValue); it has "
                + available.map { "\($0.name) \($0.type.rawValue)" }.joined(separator: ", ")
        case .setting(let stream, let name, let value, let allowed):
            "stream \(stream): \(name) is \(value); allowed is \(allowed)"
        }
    }
}
