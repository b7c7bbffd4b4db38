#if canImport(Glibc)
public import Glibc
#else
public import Darwin
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
    public var modifiedAt: Int64 {
        // Rounded down, also before 1970.
        let (quotient, remainder) = modifiedNanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return remainder < 0 ? quotient - 1 : quotient
    }
    /// Nanoseconds since 1970 of the last change to the bytes.
    public let modifiedNanoseconds: Int64
    /// Nanoseconds since 1970 of the last change to the file or its facts; nobody can set it.
    public let changedNanoseconds: Int64
    /// The permission bits of the mode.
    public let permissions: mode_t

    init(_ buffer: stat) {
        identity = FileIdentity(
            device: UInt64(buffer.st_dev),
            inode: UInt64(buffer.st_ino)
        )
        sizeInBytes = Int64(buffer.st_size)
        isDirectory = buffer.st_mode & S_IFMT == S_IFDIR
        isRegularFile = buffer.st_mode & S_IFMT == S_IFREG
        permissions = buffer.st_mode & 0o7777
        #if canImport(Glibc)
        let (modified, changed) = (buffer.st_mtim, buffer.st_ctim)
        #else
        let (modified, changed) = (buffer.st_mtimespec, buffer.st_ctimespec)
        #endif
        modifiedNanoseconds = Self.nanoseconds(modified)
        changedNanoseconds = Self.nanoseconds(changed)
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    /// The clock by which the system stamps files, which nobody makes jump for this process alone.
    public static func clockNanoseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return nanoseconds(time)
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
