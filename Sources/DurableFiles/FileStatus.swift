#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Which file this is, whatever its name: device and inode.
public struct FileIdentity: Hashable, Sendable {
    public let device: UInt64
    public let inode: UInt64

    public init(device: UInt64, inode: UInt64) {
        self.device = device
        self.inode = inode
    }
}

/// The facts of a file that anybody here asks for.
public struct FileStatus: Sendable {
    public let identity: FileIdentity
    public let sizeInBytes: Int64
    public let isDirectory: Bool
    public let isRegularFile: Bool
    /// Milliseconds since 1970.
    public let modifiedAt: Int64

    init(_ buffer: stat) {
        identity = FileIdentity(
            device: UInt64(buffer.st_dev),
            inode: UInt64(buffer.st_ino)
        )
        sizeInBytes = Int64(buffer.st_size)
        isDirectory = buffer.st_mode & S_IFMT == S_IFDIR
        isRegularFile = buffer.st_mode & S_IFMT == S_IFREG
        #if canImport(Glibc)
        let time = buffer.st_mtim
        #else
        let time = buffer.st_mtimespec
        #endif
        modifiedAt = Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// The facts of the file at a path; `nil` when there is none.
    public static func of(_ path: String) throws(FileError) -> FileStatus? {
        var buffer = stat()
        if stat(path, &buffer) == 0 { return FileStatus(buffer) }
        let error = FileError(.stat, path, code: errno)
        if error.isMissing { return nil }
        throw error
    }

    /// The same for the entry itself: a symbolic link is not followed.
    public static func ofEntry(_ path: String) throws(FileError) -> FileStatus? {
        var buffer = stat()
        if lstat(path, &buffer) == 0 { return FileStatus(buffer) }
        let error = FileError(.stat, path, code: errno)
        if error.isMissing { return nil }
        throw error
    }
}
