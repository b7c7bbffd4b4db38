import DurableFiles

/// A recorded CSV file, replayed.
public struct RecordingDefinition: Hashable, Sendable {
    public var path: String
    /// The device that the rows are of.
    public var device: String
    /// The column with seconds since the start of the recording.
    public var timeColumn: String
    /// The time of second 0; `nil` is the moment it was replayed for the first time.
    public var start: SampleTime?
    /// Seconds of recording a second of real time; `.infinity` is as fast as possible.
    public var speed: Double

    public init(
        path: String,
        device: String = "recorded",
        timeColumn: String = "offset_s",
        start: SampleTime? = nil,
        speed: Double = 1
    ) {
        self.path = path
        self.device = device
        self.timeColumn = timeColumn
        self.start = start
        self.speed = speed
    }

    var identity: String {
        let start = start.map { "\($0.milliseconds)" } ?? "first-replay"
        return "recording device=\(device) time=\(timeColumn) start=\(start) "
            + "path=\(Path.canonical(path))"
    }

    func problems(for stream: StreamDefinition) -> [StreamProblem] {
        var problems: [StreamProblem] = []
        if !Sample.isDeviceName(device) {
            problems.append(.deviceName(stream: stream.name, device))
        }
        func refuse(_ name: String, _ value: String, _ allowed: String) {
            problems.append(
                .setting(stream: stream.name, name: name, value: value, allowed: allowed)
            )
        }
        if path.isEmpty { refuse("recording path", "empty", "a file") }
        if timeColumn.isEmpty { refuse("recording time column", "empty", "a column's name") }
        if !(speed >= 0.001) { refuse("recording speed", "\(speed)", "0.001 or more") }
        if let start, !SampleTime.range.contains(start) {
            refuse("recording start", "\(start)", "the years 1 to 9999")
        }
        return problems
    }
}

/// Replays a recorded CSV file; its position is the number of records consumed.
///
/// Columns are found by name in the header. An empty cell is a missing reading.
public final class RecordingSource: SampleSource {
    private let definition: RecordingDefinition
    private let columns: [ColumnDefinition]
    private let origin: SampleTime
    private let reader: CSVReader
    private let fieldCount: Int
    private let timeField: Int
    private let fields: [Int]
    private var position: Int64
    /// Seconds of the first record replayed, from which the rest become due.
    private var first: Double?

    /// Opens the file and reads its header.
    ///
    /// - Parameters:
    ///   - definition: The file and how fast to go.
    ///   - columns: The columns to deliver, in this order; each must be in the header.
    ///   - origin: The time of second 0.
    ///   - skipping: Records that earlier launches have consumed.
    /// - Throws: `RecordingError`, or `FileError`.
    public init(
        _ definition: RecordingDefinition,
        columns: [ColumnDefinition],
        origin: SampleTime,
        skipping: Int64 = 0
    ) throws {
        self.definition = definition
        self.columns = columns
        self.origin = origin
        let reader = try CSVReader(definition.path)
        guard let header = try reader.next() else {
            throw RecordingError(path: reader.path, line: 1, .empty)
        }
        let wanted = [definition.timeColumn] + columns.map(\.name)
        let missing = wanted.filter { !header.contains($0) }
        guard missing.isEmpty else {
            throw RecordingError(
                path: reader.path,
                line: reader.line,
                .missingColumns(missing, found: header)
            )
        }
        let places = try wanted.map { name in
            let places = header.indices.filter { header[$0] == name }
            guard places.count == 1 else {
                throw RecordingError(path: reader.path, line: reader.line, .repeatedColumn(name))
            }
            return places[0]
        }
        self.reader = reader
        fieldCount = header.count
        timeField = places[0]
        fields = Array(places.dropFirst())
        position = 0
        // Records have no fixed size, so the way to the place is through the file; a recording of
        // a week is read in less than a second.
        while position < skipping, try reader.next() != nil { position += 1 }
    }

    public func next() throws -> SourcedSample? {
        guard let cells = try reader.next() else { return nil }
        guard cells.count == fieldCount else {
            throw error(.fieldCount(expected: fieldCount, found: cells.count))
        }
        let seconds = try time(cells[timeField])
        let time = SampleTime(
            milliseconds: origin.milliseconds + Int64((seconds * 1000).rounded())
        )
        guard SampleTime.range.contains(time) else {
            throw error(
                .timeOutOfRange(column: definition.timeColumn, value: cells[timeField])
            )
        }
        var values: [SampleValue] = []
        values.reserveCapacity(fields.count)
        for (column, field) in zip(columns, fields) {
            values.append(try value(cells[field], of: column))
        }
        position += 1
        let first = self.first ?? seconds
        self.first = first
        return SourcedSample(
            sample: Sample(device: definition.device, time: time, values: values),
            dueAt: .seconds((seconds - first) / definition.speed),
            position: position
        )
    }

    private func time(_ text: String) throws -> Double {
        guard !text.isEmpty else { throw error(.noTime(column: definition.timeColumn)) }
        guard let seconds = Self.number(text) else {
            throw error(.notANumber(column: definition.timeColumn, value: text))
        }
        // Before the product with 1000 and the sum with the origin can leave Int64.
        guard abs(seconds) <= 400_000_000_000 else {
            throw error(.timeOutOfRange(column: definition.timeColumn, value: text))
        }
        return seconds
    }

    private func value(_ text: String, of column: ColumnDefinition) throws -> SampleValue {
        if text.isEmpty { return .null }
        switch column.type {
        case .real:
            guard let number = Self.number(text) else {
                throw error(.notANumber(column: column.name, value: text))
            }
            return .real(number)
        case .integer:
            if let integer = Int64(text) { return .integer(integer) }
            guard let number = Self.number(text) else {
                throw error(.notANumber(column: column.name, value: text))
            }
            guard let integer = Int64(exactly: number) else {
                throw error(.notAnInteger(column: column.name, value: text))
            }
            return .integer(integer)
        }
    }

    /// A finite decimal number; `Double.init` alone would also take `nan`, `inf` and `0x1p3`.
    private static func number(_ text: String) -> Double? {
        let isDecimal = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"),
                UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"):
                true
            default: false
            }
        }
        guard isDecimal, let number = Double(text), number.isFinite else { return nil }
        return number
    }

    private func error(_ reason: RecordingError.Reason) -> RecordingError {
        RecordingError(path: reader.path, line: reader.line, reason)
    }
}
