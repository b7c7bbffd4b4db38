import Foundation
public import Testing

#if canImport(Glibc)
import Glibc
#endif

/// A small file system in memory, to be full on purpose; mounting one takes root.
public final class TemporaryFileSystem {
    public static let isPossible = geteuid() == 0 && (try? TemporaryFileSystem(1 << 20)) != nil
    /// What to say when it is not.
    public static let missing: Comment = "mounting a small tmpfs takes root"

    public let path: String

    public convenience init(sizeInBytes: Int) throws {
        try self.init(sizeInBytes)
    }

    private init(_ sizeInBytes: Int) throws {
        path =
            FileManager.default.temporaryDirectory
            .appending(path: "dormouse-tmpfs-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(sizeInBytes)") == 0 else {
            let code = errno
            rmdir(path)
            throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
        }
    }

    public func makeReadOnly() throws {
        guard mount(nil, path, nil, UInt(MS_REMOUNT | MS_RDONLY), nil) == 0
        else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    deinit {
        umount2(path, Int32(MNT_DETACH))
        rmdir(path)
    }
}
