import DurableFiles
import SQLiteBridge

/// Why a database cannot be replicated as it is; none of it passes without somebody's doing.
public enum DatabaseFault: Error, Equatable, Sendable, CustomStringConvertible {
    case missing(path: String)
    case notAFile(path: String)
    /// Zero bytes, or no page yet.
    case empty(path: String)
    case notADatabase(path: String)
    case notWAL(path: String, mode: String)
    /// Valid by its checksums up to a frame, though the wal-index says there is more.
    case damagedWAL(path: String, frame: UInt32)
    /// A page that must exist is neither in the file nor in the WAL.
    case missingPage(path: String, pgno: UInt32)
    /// The `-wal` was deleted, cut or replaced under open connections.
    case lostWAL(path: String)
    case replaced(path: String)

    public var description: String {
        switch self {
        case .missing(let path):
            "\(path): no such database; create it, or name another"
        case .notAFile(let path):
            "\(path): not a regular file; name the database file itself"
        case .empty(let path):
            "\(path): the database is empty; there is nothing to replicate before its first table"
        case .notADatabase(let path):
            "\(path): not an SQLite database, or an encrypted one; only plain SQLite files can be "
                + "replicated"
        case .notWAL(let path, let mode):
            "\(path): journal mode is \(mode); switch the database to WAL once: "
                + "sqlite3 '\(path)' 'PRAGMA journal_mode=WAL'"
        case .damagedWAL(let path, let frame):
            "\(path): frame \(frame) is not valid though SQLite counts it as committed; run "
                + "PRAGMA integrity_check on the database"
        case .missingPage(let path, let pgno):
            "\(path): page \(pgno) is neither in the file nor in the WAL; run "
                + "PRAGMA integrity_check on the database"
        case .lostWAL(let path):
            "\(path): the WAL was taken away while the database is open, and commits with it; "
                + "close every program that has the database open, and open it again"
        case .replaced(let path):
            "\(path): the file was replaced by another one"
        }
    }

    /// Looks at the file before SQLite may change anything beside it.
    static func check(_ path: String) throws {
        guard let status = try FileStatus.of(path) else { throw DatabaseFault.missing(path: path) }
        guard status.isRegularFile else { throw DatabaseFault.notAFile(path: path) }
        let walSize = try FileStatus.of(path + "-wal")?.sizeInBytes ?? 0
        guard status.sizeInBytes > 0 || walSize > 0 else {
            throw DatabaseFault.empty(path: path)
        }
    }

    /// Asks SQLite; gives the page size in bytes.
    static func checkOpened(_ connection: Connection) throws -> UInt32 {
        do {
            let mode = try connection.value("PRAGMA journal_mode")?.text ?? ""
            guard mode == "wal" else {
                throw DatabaseFault.notWAL(path: connection.path, mode: mode)
            }
            _ = try connection.value("SELECT count(*) FROM sqlite_schema")
            guard let pages = try connection.value("PRAGMA page_count")?.integer, pages > 0,
                let size = try connection.value("PRAGMA page_size")?.integer
            else { throw DatabaseFault.empty(path: connection.path) }
            return UInt32(clamping: size)
        } catch let error as SQLiteError where error.isNotADatabase {
            throw DatabaseFault.notADatabase(path: connection.path)
        }
    }
}
