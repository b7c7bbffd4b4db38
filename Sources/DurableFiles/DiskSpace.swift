#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The room on a file system, in bytes.
public struct DiskSpace: Hashable, Sendable {
    public var total: Int64
    /// What a process without privileges may still write.
    public var available: Int64

    public init(total: Int64, available: Int64) {
        self.total = total
        self.available = available
    }

    /// Looks at the file system that a path is on.
    public static func of(_ path: String) throws(FileError) -> DiskSpace {
        var buffer = statvfs()
        guard statvfs(path, &buffer) == 0 else { throw FileError(.stat, path, code: errno) }
        return DiskSpace(
            total: bytes(UInt64(buffer.f_blocks), of: UInt64(buffer.f_frsize)),
            available: bytes(UInt64(buffer.f_bavail), of: UInt64(buffer.f_frsize))
        )
    }

    private static func bytes(_ blocks: UInt64, of size: UInt64) -> Int64 {
        let (bytes, overflow) = blocks.multipliedReportingOverflow(by: size)
        return overflow ? .max : Int64(clamping: bytes)
    }
}
