import CSQLite

/// A value of one column or parameter.
public enum SQLiteValue: Equatable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    public var text: String? { if case .text(let value) = self { value } else { nil } }
    public var real: Double? {
        switch self {
        case .real(let value): value
        case .integer(let value): Double(value)
        default: nil
        }
    }
}

/// A compiled statement; it goes when its last reference goes.
///
/// It keeps its connection alive, so it cannot outlive the handle it belongs to.
public final class Statement {
    private let handle: OpaquePointer
    private let connection: Connection
    private let sql: String

    init(_ handle: OpaquePointer, of connection: Connection, sql: String) {
        self.handle = handle
        self.connection = connection
        self.sql = sql
    }

    deinit {
        sqlite3_finalize(handle)
    }

    /// Binds the parameters from the first on.
    public func bind(_ values: [SQLiteValue]) throws(SQLiteError) {
        for (index, value) in values.enumerated() { try bind(value, at: index + 1) }
    }

    /// Binds one parameter, counted from 1.
    public func bind(_ value: SQLiteValue, at index: Int) throws(SQLiteError) {
        let position = Int32(clamping: index)
        let code =
            switch value {
            case .null: sqlite3_bind_null(handle, position)
            case .integer(let value): sqlite3_bind_int64(handle, position, value)
            case .real(let value): sqlite3_bind_double(handle, position, value)
            case .text(let value):
                sqlite3_bind_text(
                    handle,
                    position,
                    value,
                    Int32(clamping: value.utf8.count),
                    csqlite_transient()
                )
            case .blob(let value):
                value.withUnsafeBytes {
                    sqlite3_bind_blob64(
                        handle,
                        position,
                        $0.baseAddress,
                        UInt64($0.count),
                        csqlite_transient()
                    )
                }
            }
        try check(code)
    }

    /// Moves to the next row; `false` at the end, where the statement is reset.
    public func step() throws(SQLiteError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            sqlite3_reset(handle)
            return false
        case let code:
            let error = failure(code)
            sqlite3_reset(handle)
            throw error
        }
    }

    /// Binds, runs to the end and resets.
    public func run(_ values: [SQLiteValue] = []) throws(SQLiteError) {
        reset()
        try bind(values)
        while try step() {}
    }

    public func reset() {
        sqlite3_reset(handle)
    }

    public var columnCount: Int { Int(sqlite3_column_count(handle)) }

    public func columnName(_ index: Int) -> String {
        sqlite3_column_name(handle, Int32(clamping: index)).map { String(cString: $0) } ?? ""
    }

    /// A column of the current row, counted from 0.
    public func column(_ index: Int) -> SQLiteValue {
        let position = Int32(clamping: index)
        switch sqlite3_column_type(handle, position) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(handle, position))
        case SQLITE_FLOAT: return .real(sqlite3_column_double(handle, position))
        case SQLITE_TEXT:
            guard let text = sqlite3_column_text(handle, position) else { return .null }
            return .text(String(cString: text))
        case SQLITE_BLOB:
            let count = Int(sqlite3_column_bytes(handle, position))
            guard count > 0, let base = sqlite3_column_blob(handle, position) else {
                return .blob([])
            }
            return .blob([UInt8](UnsafeRawBufferPointer(start: base, count: count)))
        default: return .null
        }
    }

    private func check(_ code: Int32) throws(SQLiteError) {
        guard code == SQLITE_OK else { throw failure(code) }
    }

    private func failure(_ code: Int32) -> SQLiteError {
        SQLiteError(code, of: sqlite3_db_handle(handle), operation: sql, path: connection.path)
    }
}
