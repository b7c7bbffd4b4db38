import CSQLite
import DurableFiles

/// One SQLite connection, made by the one opener.
///
/// Every connection of a process comes from this initializer, and its defaults are the safe ones
/// for a database that is replicated from its WAL: nobody but the replicator checkpoints. One
/// call site that forgot would turn every push into a full upload without a word. Not `Sendable`:
/// a connection lives on one actor.
public final class Connection {
    public enum Mode: Sendable {
        case readOnly, readWrite, create
        /// Nobody changes the file: no lock is taken and no sidecar is read or made.
        case immutable
    }

    /// Who copies WAL pages back into the database.
    public enum Checkpointing: Sendable {
        /// Somebody else: never at a commit, never at a close, and the WAL stays when all close.
        case external
        /// SQLite's own defaults, for a database that nobody replicates.
        case automatic
    }

    public let path: String
    /// The raw files, for who reads pages without SQLite.
    public let files: DatabaseFiles
    private var handle: OpaquePointer?
    private let busyTimeout: Duration
    /// What a limit of the time needs for as long as the connection lives.
    var timeLimit: TimeLimit?

    /// Opens a database.
    ///
    /// - Parameters:
    ///   - path: The database file; it must exist but for `create`.
    ///   - mode: Whether it may be written or made.
    ///   - busyTimeout: How long a statement waits for another connection's lock.
    ///   - checkpointing: Who checkpoints; `external` unless nobody replicates this database.
    /// - Throws: `SQLiteError`, or `FileError` where the file itself cannot be opened.
    public init(
        path: String,
        mode: Mode = .readWrite,
        busyTimeout: Duration = .seconds(5),
        checkpointing: Checkpointing = .external
    ) throws {
        self.path = path
        self.busyTimeout = busyTimeout
        files = try DatabaseFiles.join(path, creating: mode == .create)
        var failed = true
        defer { if failed { DatabaseFiles.leave(files) } }

        var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        // What begins with "file:" would be taken for a URI.
        var name = path.hasPrefix("/") ? path : "./" + path
        switch mode {
        case .readOnly: flags |= SQLITE_OPEN_READONLY
        case .readWrite: flags |= SQLITE_OPEN_READWRITE
        case .create: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        case .immutable:
            flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            name = "file:\(Self.percentEncoded(Path.canonical(path)))?immutable=1"
        }
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(name, &opened, flags, nil)
        guard code == SQLITE_OK, let opened else {
            let error = SQLiteError(code, of: opened, operation: "open", path: path)
            sqlite3_close_v2(opened)  // a failed open still returns a handle
            throw error
        }
        handle = opened
        do {
            sqlite3_busy_timeout(opened, busyTimeout.milliseconds)
            if checkpointing == .external, mode != .immutable {
                try configure("no checkpoint on close", csqlite_no_checkpoint_on_close(opened))
                try configure("wal_autocheckpoint", sqlite3_wal_autocheckpoint(opened, 0))
                var persist: Int32 = 1
                try configure(
                    "persist WAL",
                    sqlite3_file_control(opened, nil, SQLITE_FCNTL_PERSIST_WAL, &persist)
                )
            }
            var mapped: Int64 = 0
            try configure(
                "mmap_size",
                sqlite3_file_control(opened, nil, SQLITE_FCNTL_MMAP_SIZE, &mapped)
            )
        } catch {
            sqlite3_close_v2(opened)
            handle = nil
            throw error
        }
        failed = false
    }

    deinit {
        try? close()
    }

    private func configure(_ what: String, _ code: Int32) throws(SQLiteError) {
        // A file control that the VFS does not know has nothing to switch off.
        guard code == SQLITE_OK || code == SQLITE_NOTFOUND else {
            throw SQLiteError(code, of: handle, operation: what, path: path)
        }
    }

    /// Closes.
    ///
    /// An open transaction is rolled back; closing twice is no error.
    public func close() throws(SQLiteError) {
        guard let handle else { return }
        self.handle = nil
        let code = sqlite3_close_v2(handle)
        DatabaseFiles.leave(files)
        guard code == SQLITE_OK else {
            throw SQLiteError(
                code: code,
                message: String(cString: sqlite3_errstr(code)),
                operation: "close",
                path: path
            )
        }
    }

    // MARK: Statements

    /// Compiles one statement.
    public func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        let handle = try open("prepare")
        var compiled: OpaquePointer?
        let code = sqlite3_prepare_v3(
            handle,
            sql,
            -1,
            UInt32(SQLITE_PREPARE_PERSISTENT),
            &compiled,
            nil
        )
        guard code == SQLITE_OK, let compiled else {
            throw SQLiteError(
                code == SQLITE_OK ? SQLITE_MISUSE : code,
                of: handle,
                operation: sql,
                path: path
            )
        }
        return Statement(compiled, of: self, sql: sql)
    }

    /// Runs any number of statements, without parameters and without looking at rows.
    public func execute(_ sql: String) throws(SQLiteError) {
        let handle = try open(sql)
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else {
            throw SQLiteError(code, of: handle, operation: sql, path: path)
        }
    }

    /// The first column of the first row; `nil` without a row.
    public func value(_ sql: String, _ parameters: SQLiteValue...) throws(SQLiteError)
        -> SQLiteValue?
    {
        let statement = try prepare(sql)
        try statement.bind(parameters)
        return try statement.step() ? statement.column(0) : nil
    }

    /// Rows changed by the last INSERT, UPDATE or DELETE.
    public var changes: Int { handle.map { Int(sqlite3_changes64($0)) } ?? 0 }

    /// Whether a transaction is open.
    public var isInTransaction: Bool { handle.map { sqlite3_get_autocommit($0) == 0 } ?? false }

    /// The handle for an owner in this target; a closed connection is an error, not a trap.
    func open(_ operation: String) throws(SQLiteError) -> OpaquePointer {
        guard let handle else {
            throw SQLiteError(
                code: SQLITE_MISUSE,
                message: "the connection is closed",
                operation: operation,
                path: path
            )
        }
        return handle
    }

    /// A handle that may be used from any thread to interrupt what is running here.
    public var interrupter: Interrupter? { handle.map(Interrupter.init) }

    // @unchecked because sqlite3_interrupt may be called from any thread while the connection is
    // open, which the holder must see to.
    public struct Interrupter: @unchecked Sendable {
        fileprivate let handle: OpaquePointer

        public func interrupt() {
            sqlite3_interrupt(handle)
        }
    }

    // MARK: Transactions

    /// Takes the write lock, asking again every `retryEvery` until `within` is over.
    ///
    /// SQLite's own busy handler backs off so far that a busy writer starves it; a fixed short
    /// step gets in between two commits.
    ///
    /// - Parameters:
    ///   - within: The longest wait; then `SQLITE_BUSY` is thrown.
    ///   - retryEvery: The step.
    /// - Throws: `SQLiteError`.
    public func beginImmediate(
        within: Duration,
        retryEvery: Duration = .microseconds(200)
    ) throws(SQLiteError) {
        let handle = try open("BEGIN IMMEDIATE")
        sqlite3_busy_timeout(handle, 0)
        defer { sqlite3_busy_timeout(handle, busyTimeout.milliseconds) }
        let deadline = ContinuousClock.now + within
        while true {
            do throws(SQLiteError) {
                return try execute("BEGIN IMMEDIATE")
            } catch {
                guard error.isBusy, ContinuousClock.now < deadline else { throw error }
            }
            retryEvery.pauseThread()
        }
    }

    /// Starts a read transaction that sees the database as it is now, until `endRead`.
    public func beginRead() throws(SQLiteError) {
        try execute("BEGIN")
        do throws(SQLiteError) {
            // BEGIN alone takes no snapshot; the first read does.
            _ = try value("SELECT count(*) FROM sqlite_schema")
        } catch {
            try? execute("ROLLBACK")
            throw error
        }
    }

    /// Ends a transaction of either kind without writing; without one it does nothing.
    public func endRead() throws(SQLiteError) {
        if isInTransaction { try execute("ROLLBACK") }
    }

    private static func percentEncoded(_ path: String) -> String {
        var text = ""
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "%"):
                text += "%" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
            default:
                text.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        return text
    }
}

@available(*, unavailable)
extension Connection: Sendable {}
