#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// What was being done to a file when the system refused.
public enum FileOperation: String, Sendable {
    case open, read, write, sync, rename, link, unlink, truncate, stat, list, lock, close
    case makeDirectory = "mkdir"
    case syncDirectory = "sync directory"
    case setTimes = "set times of"
    case readLink = "readlink"
}

/// A system call on a file that failed: what, where, and the system's reason.
public struct FileError: Error, Equatable, Sendable, CustomStringConvertible {
    public let operation: FileOperation
    public let path: String
    /// The `errno` value, read at the call.
    public let code: Int32

    public init(_ operation: FileOperation, _ path: String, code: Int32) {
        self.operation = operation
        self.path = path
        self.code = code
    }

    public var description: String {
        "cannot \(operation.rawValue) \(path): \(String(cString: strerror(code)))"
    }

    /// The file or a directory on its path does not exist.
    public var isMissing: Bool { code == ENOENT || code == ENOTDIR }

    /// The disk or the quota is full: it can pass by itself.
    public var isNoSpace: Bool { code == ENOSPC || code == EDQUOT }

    /// The file is larger than what was asked for allows.
    public var isTooLarge: Bool { code == EFBIG }

    /// Somebody must change an owner, a mode or a mount before this can work.
    public var isDenied: Bool { code == EACCES || code == EPERM || code == EROFS }
}
