import DurableFiles

/// Reads a CSV file record by record, with memory for one record.
///
/// RFC 4180 with what files from real devices add: a byte order mark, bare LF line ends, and
/// empty lines, which are skipped. Not `Sendable`: it owns a descriptor and a place in it.
package final class CSVReader {
    /// Bytes one record may have.
    package static let recordLimit = 64 * 1024
    /// Cells one record may have.
    package static let fieldLimit = 1024

    package let path: String
    /// The line the last record began on, counted from 1.
    package private(set) var line: Int64 = 0

    private let file: FileDescriptor
    private var offset: Int64 = 0
    private var chunk: [UInt8]
    private var chunkCount = 0
    private var chunkIndex = 0
    private var nextLine: Int64 = 1
    private var isAtStart = true

    package init(_ path: String, chunkSize: Int = 16 * 1024) throws {
        precondition(chunkSize >= 3, "a byte order mark has to fit")
        self.path = path
        file = try FileDescriptor(reading: path)
        chunk = [UInt8](repeating: 0, count: chunkSize)
    }

    /// The cells of the next record; `nil` at the end of the file.
    package func next() throws -> [String]? {
        while let record = try readRecord() {
            // An empty line is no record; a line of one quoted empty cell is one.
            if record.cells.count == 1, record.cells[0].isEmpty, !record.wasQuoted { continue }
            return record.cells
        }
        return nil
    }

    private struct Record {
        var cells: [String] = []
        var cell: [UInt8] = []
        var sizeInBytes = 0
        var wasQuoted = false
    }

    private enum Place {
        case start, plain, quoted, afterQuote
    }

    private func readRecord() throws -> Record? {
        if isAtStart {
            isAtStart = false
            try skipByteOrderMark()
        }
        guard try peek() != nil else { return nil }
        line = nextLine
        var record = Record()
        var place = Place.start
        while let byte = try take() {
            record.sizeInBytes += 1
            guard record.sizeInBytes <= Self.recordLimit else {
                throw error(.recordTooLong(limit: Self.recordLimit))
            }
            switch (place, byte) {
            case (.quoted, UInt8(ascii: "\"")): place = .afterQuote
            case (.quoted, _):
                if byte == UInt8(ascii: "\n") { nextLine += 1 }
                record.cell.append(byte)
            case (.afterQuote, UInt8(ascii: "\"")):
                record.cell.append(byte)
                place = .quoted
            case (_, UInt8(ascii: ",")):
                try endCell(&record)
                place = .start
            case (_, UInt8(ascii: "\r")) where try endsLine(): break
            case (_, UInt8(ascii: "\n")):
                nextLine += 1
                try endCell(&record)
                return record
            case (.start, UInt8(ascii: "\"")):
                record.wasQuoted = true
                place = .quoted
            case (.afterQuote, _): throw error(.strayQuote)
            case (.plain, UInt8(ascii: "\"")): throw error(.strayQuote)
            default:
                record.cell.append(byte)
                place = .plain
            }
        }
        guard place != .quoted else { throw error(.unterminatedQuote) }
        try endCell(&record)
        return record
    }

    private func endCell(_ record: inout Record) throws {
        guard record.cells.count < Self.fieldLimit else {
            throw error(.tooManyFields(limit: Self.fieldLimit))
        }
        guard let text = String(validating: record.cell, as: UTF8.self) else {
            throw error(.notUTF8)
        }
        record.cells.append(text)
        record.cell.removeAll(keepingCapacity: true)
    }

    private func skipByteOrderMark() throws {
        guard try peek() == 0xEF else { return }
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        guard chunkCount >= mark.count, chunk.starts(with: mark) else { return }
        chunkIndex = mark.count
    }

    private func endsLine() throws -> Bool {
        let byte = try peek()
        return byte == nil || byte == UInt8(ascii: "\n")
    }

    private func peek() throws -> UInt8? {
        if chunkIndex == chunkCount {
            chunkIndex = 0
            chunkCount = try chunk.withUnsafeMutableBytes { try file.read(at: offset, into: $0) }
            offset += Int64(chunkCount)
            if chunkCount == 0 { return nil }
        }
        return chunk[chunkIndex]
    }

    private func take() throws -> UInt8? {
        guard let byte = try peek() else { return nil }
        chunkIndex += 1
        return byte
    }

    private func error(_ reason: RecordingError.Reason) -> RecordingError {
        RecordingError(path: path, line: line, reason)
    }
}
