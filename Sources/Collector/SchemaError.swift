/// A database that the collector will not write into, and why.
public enum SchemaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A newer version made it; migrations only go forward.
    case newer(path: String, found: Int64, supported: Int64)
    /// Somebody else's database.
    case foreign(path: String, reason: String)
    /// It exists and is not in WAL mode, so it cannot be replicated.
    case notWAL(path: String, journalMode: String)
    /// A configured column is stored with another type already.
    case typeChanged(path: String, stream: String, column: String, stored: String, wanted: String)

    public var description: String {
        switch self {
        case .newer(let path, let found, let supported):
            "\(path): its schema has version \(found), this program knows \(supported): "
                + "run the newer program"
        case .foreign(let path, let reason):
            "\(path): not a collector's database: \(reason)"
        case .notWAL(let path, let mode):
            "\(path): journal mode is \(mode), not wal: run PRAGMA journal_mode=WAL on it"
        case .typeChanged(let path, let stream, let column, let stored, let wanted):
            "\(path): stream \(stream): column \(column) is stored as \(stored) and cannot become "
                + "\(wanted): give the new column another name"
        }
    }
}
