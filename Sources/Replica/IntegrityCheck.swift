import SQLiteBridge

/// How a restored database is checked before it appears.
public enum IntegrityCheck: String, CaseIterable, Sendable {
    /// Not at all; the LTX files' own checksums are always checked.
    case none
    /// `PRAGMA quick_check`: the structure of every page.
    case quick
    /// `PRAGMA integrity_check`: also that the indexes agree with their tables.
    case full

    /// Checks a database that nobody else has open.
    ///
    /// - Returns: What is wrong, in SQLite's words; empty for a sound database.
    /// - Throws: `SQLiteError` if the check itself cannot be made.
    func problems(of path: String) throws -> [String] {
        let pragma: String
        switch self {
        case .none: return []
        case .quick: pragma = "PRAGMA quick_check(10)"
        case .full: pragma = "PRAGMA integrity_check(10)"
        }
        do {
            // Immutable: a database in WAL mode must not get a -wal and -shm from being looked at.
            let connection = try Connection(path: path, mode: .immutable)
            defer { try? connection.close() }
            let check = try connection.prepare(pragma)
            var problems: [String] = []
            while try check.step() {
                let line = check.column(0).text ?? "no answer"
                if line != "ok" { problems.append(line) }
            }
            return problems
        } catch let error as SQLiteError where error.isNotADatabase {
            return ["it is no SQLite database, or an encrypted one; those need no check"]
        } catch let error as SQLiteError where error.isCorrupt {
            return [error.message]
        }
    }
}
