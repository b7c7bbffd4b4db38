public import DurableFiles
public import Glibc
import Lifecycle

/// A lock that a process holds on a file.
public struct ObservedLock: Hashable, Sendable, CustomStringConvertible {
    public var file: String
    /// `POSIX`, `FLOCK` or `OFDLCK`.
    public var kind: String
    /// `READ` or `WRITE`.
    public var access: String
    /// As `/proc/locks` writes it, such as `1073741826 1073742335`.
    public var range: String

    public var description: String { "\(kind) \(access) lock on \(file), bytes \(range)" }
}

/// Finds the locks that a process holds, as the system that suspends it would.
public enum ObservedLocks {
    /// Locks of a process on the files that lie directly in a directory.
    ///
    /// - Throws: `FileError` when the directory or `/proc/locks` cannot be read.
    public static func of(_ processID: pid_t, in directory: String) throws(FileError)
        -> [ObservedLock]
    {
        guard let table = ProcFile.text("/proc/locks") else {
            throw FileError(.open, "/proc/locks", code: ENOENT)
        }
        var names: [UInt64: String] = [:]
        for name in try DurableFiles.list(directory) {
            let path = Path.join(directory, name)
            guard let status = try FileStatus.ofEntry(path), status.isRegularFile else { continue }
            names[status.identity.inode] = name
        }
        return parse(table, processID: processID, files: names)
    }

    /// Reads the lines of `/proc/locks`.
    ///
    /// Source: proc_locks(5). `1: POSIX ADVISORY READ 5433 08:01:7864448 128 128`; a line with
    /// `->` is one who waits. Inodes are compared and devices are not: they are
    /// another number there than in `stat` on some file systems.
    package static func parse(
        _ table: String,
        processID: pid_t,
        files: [UInt64: String]
    ) -> [ObservedLock] {
        table.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 8, words[1] != "->", pid_t(words[4]) == processID,
                let inode = words[5].split(separator: ":").last.flatMap({ UInt64($0) }),
                let file = files[inode]
            else { return nil }
            return ObservedLock(
                file: file,
                kind: String(words[1]),
                access: String(words[3]),
                range: "\(words[6]) \(words[7])"
            )
        }
    }
}
