/// The SQLite libraries that are mapped into this process.
///
/// Two copies keep separate lock tables for the same files and silently drop each other's POSIX
/// locks (How To Corrupt An SQLite Database File, 2.2.1), so a process with two must not touch a
/// database.
public enum SQLiteImages {
    /// More than one was found.
    public struct Several: Error, Equatable, Sendable, CustomStringConvertible {
        public let paths: [String]

        public var description: String {
            "this process holds \(paths.count) SQLite libraries, which drop each other's locks: "
                + "\(paths.joined(separator: ", ")); link everything to one of them"
        }
    }

    /// Refuses a process with several; where there is no `/proc` nothing can be said.
    public static func requireOne() throws {
        guard let maps = ProcFile.text("/proc/self/maps") else { return }
        let paths = self.paths(inMaps: maps)
        guard paths.count <= 1 else { throw Several(paths: paths) }
    }

    /// The libraries in the text of `/proc/PID/maps`, each once, sorted.
    package static func paths(inMaps text: String) -> [String] {
        var paths: Set<String> = []
        for line in text.split(separator: "\n") {
            // Address, permissions, offset, device, inode, and a path that may hold spaces.
            let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            guard fields.count == 6 else { continue }
            let path = fields[5].drop { $0 == " " }
            let name = path.split(separator: "/").last ?? ""
            if name.hasPrefix("libsqlite3.") || name.hasPrefix("libsqlite3-") {
                paths.insert(String(path))
            }
        }
        return paths.sorted()
    }
}
