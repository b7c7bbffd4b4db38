public import DurableFiles
import Glibc

/// A file lock that this process holds.
public struct HeldLock: Hashable, Sendable, CustomStringConvertible {
    public var path: String
    /// `POSIX`, `FLOCK` or `OFDLCK`, and `READ` or `WRITE`, as the kernel says it.
    public var kind: String

    public init(path: String, kind: String) {
        self.path = path
        self.kind = kind
    }

    public var description: String { "\(kind) on \(path)" }

    /// The locks on files in a directory.
    ///
    /// Source: proc(5), `/proc/[pid]/fdinfo`; there a hardened service may look at itself where
    /// `/proc/locks` is hidden from it. SQLite's locks are POSIX locks: those of a file are shown at
    /// each descriptor of it.
    ///
    /// - Parameter directory: With symbolic links resolved, as the kernel names open files.
    /// - Returns: Each once, in the order of their paths.
    /// - Throws: `FileError` where there is no `/proc`.
    public static func all(in directory: String) throws(FileError) -> [HeldLock] {
        var locks: Set<HeldLock> = []
        for name in try DurableFiles.list("/proc/self/fd") {
            // Gone since it was listed, as the descriptor of the listing itself.
            guard let path = target(of: "/proc/self/fd/\(name)"),
                path.hasPrefix(directory + "/"),
                let text = ProcFile.text("/proc/self/fdinfo/\(name)")
            else { continue }
            locks.formUnion(kinds(inInfo: text).map { HeldLock(path: path, kind: $0) })
        }
        return locks.sorted { ($0.path, $0.kind) < ($1.path, $1.kind) }
    }

    /// The locks in the text of one `fdinfo`: `lock: 1: POSIX  ADVISORY  READ 4711 …`.
    static func kinds(inInfo text: String) -> [String] {
        text.split(separator: "\n").compactMap { line in
            guard line.hasPrefix("lock:") else { return nil }
            let words = line.split(separator: " ", omittingEmptySubsequences: true)
                .flatMap { $0.split(separator: "\t", omittingEmptySubsequences: true) }
            guard words.count >= 5 else { return nil }
            return "\(words[2]) \(words[4])"
        }
    }

    private static func target(of link: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let count = readlink(link, &buffer, buffer.count)
        guard count > 0 else { return nil }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
