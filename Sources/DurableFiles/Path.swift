#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Plain string arithmetic on POSIX paths.
public enum Path {
    /// The directory that holds an entry: `.` for a bare name, `/` for `/`.
    public static func parent(of path: String) -> String {
        let trimmed = trimmingSlashes(path)
        guard let slash = trimmed.lastIndex(of: "/") else { return trimmed == "/" ? "/" : "." }
        let parent = trimmed[..<slash]
        return parent.isEmpty ? "/" : String(parent)
    }

    /// The last component.
    public static func name(of path: String) -> String {
        let trimmed = trimmingSlashes(path)
        guard let slash = trimmed.lastIndex(of: "/") else { return trimmed }
        return String(trimmed[trimmed.index(after: slash)...])
    }

    public static func join(_ directory: String, _ name: String) -> String {
        directory.hasSuffix("/") ? directory + name : directory + "/" + name
    }

    /// The absolute path with symbolic links resolved; of a file that does not exist, its
    /// directory's.
    public static func canonical(_ path: String) -> String {
        if let resolved = realpath(path, nil) {
            defer { free(resolved) }
            return String(cString: resolved)
        }
        guard let directory = realpath(parent(of: path), nil) else { return path }
        defer { free(directory) }
        return join(String(cString: directory), name(of: path))
    }

    private static func trimmingSlashes(_ path: String) -> String {
        var path = path[...]
        while path.count > 1 && path.hasSuffix("/") { path = path.dropLast() }
        return String(path)
    }
}
