import CSQLite

/// SQLite refused: what was asked, of which file, and its own code and words.
///
/// Bound values never appear in it.
public struct SQLiteError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The extended result code.
    public let code: Int32
    /// SQLite's message at the time of the call.
    public let message: String
    /// What was being done: `open`, `checkpoint`, or the statement's SQL.
    public let operation: String
    public let path: String

    public init(code: Int32, message: String, operation: String, path: String) {
        self.code = code
        self.message = message
        self.operation = operation
        self.path = path
    }

    init(_ code: Int32, of handle: OpaquePointer?, operation: String, path: String) {
        // The handle's message belongs to its last call; take the code's own where it has none.
        let text = handle.flatMap(sqlite3_errmsg) ?? sqlite3_errstr(code)
        self.init(
            code: handle.map(sqlite3_extended_errcode).flatMap { $0 == SQLITE_OK ? nil : $0 }
                ?? code,
            message: text.map { String(cString: $0) } ?? "unknown error",
            operation: operation,
            path: path
        )
    }

    /// The code without its extension.
    public var primaryCode: Int32 { code & 0xFF }

    public var description: String {
        "\(path): \(operation): \(message) (SQLite error \(code))"
    }

    /// Another connection holds a lock: it can pass by itself.
    public var isBusy: Bool { primaryCode == SQLITE_BUSY || primaryCode == SQLITE_LOCKED }
    /// The disk is full: it can pass by itself.
    public var isFull: Bool { primaryCode == SQLITE_FULL }
    /// The bytes are no SQLite database; an encrypted one looks the same.
    public var isNotADatabase: Bool { primaryCode == SQLITE_NOTADB }
    public var isCorrupt: Bool { primaryCode == SQLITE_CORRUPT }
    /// Owner, mode or mount forbid it.
    public var isDenied: Bool {
        primaryCode == SQLITE_READONLY || primaryCode == SQLITE_PERM || primaryCode == SQLITE_AUTH
    }
    public var cannotOpen: Bool { primaryCode == SQLITE_CANTOPEN }
}

/// Facts of the one SQLite library that this process is linked to.
public enum SQLiteLibrary {
    public static var version: String { String(cString: sqlite3_libversion()) }

    /// Whether the library has the WAL-reset race of 3.7.0–3.51.2 (fixed in 3.51.3, 3.50.7, 3.44.6).
    ///
    /// It needs two checkpointers at once, or a checkpointer beside a writer that checkpoints.
    public static var hasWALResetRace: Bool {
        let number = sqlite3_libversion_number()
        switch number {
        case 3_051_003...: return false
        case 3_050_007..<3_051_000: return false
        case 3_044_006..<3_045_000: return false
        default: return number >= 3_007_000
        }
    }
}
