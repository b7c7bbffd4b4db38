public import DurableFiles

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The right to upload to one destination, which dies with its process.
///
/// Agent and transfer service each take it before they send a byte, so that no file is on its way
/// twice. The lock is `flock(2)`'s, on a file of the spool that holds its owner's process id.
public final class DestinationLock: Sendable {
    /// What taking it came to.
    public enum Attempt: Sendable {
        case taken(DestinationLock)
        case held(by: Int32?)
    }

    private let file: FileDescriptor

    private init(_ file: consuming FileDescriptor) {
        self.file = file
    }

    /// Takes it if it is free.
    ///
    /// - Throws: `FileError` where the file can neither be made nor read.
    public static func attempt(_ path: String) throws(FileError) -> Attempt {
        let file = try opened(path)
        guard try take(file, LOCK_EX | LOCK_NB) else { return .held(by: owner(path)) }
        return .taken(sign(file))
    }

    /// Waits until it is free; this blocks its thread.
    ///
    /// - Throws: `FileError` where the file can neither be made nor read.
    public static func wait(_ path: String) throws(FileError) -> DestinationLock {
        let file = try opened(path)
        _ = try take(file, LOCK_EX)
        return sign(file)
    }

    /// A full disk takes no new file, but a lock needs no room.
    private static func opened(_ path: String) throws(FileError) -> FileDescriptor {
        do throws(FileError) {
            return try FileDescriptor(path, O_RDWR | O_CREAT)
        } catch {
            guard error.isNoSpace || error.isDenied else { throw error }
            return try FileDescriptor(reading: path)
        }
    }

    private static func take(
        _ file: borrowing FileDescriptor,
        _ how: Int32
    ) throws(FileError) -> Bool {
        while flock(file.raw, how) != 0 {
            let code = errno
            if code == EINTR { continue }
            if code == EWOULDBLOCK { return false }
            throw FileError(.lock, file.path, code: code)
        }
        return true
    }

    /// Writes who has it, for the one who is refused.
    ///
    /// That can fail, and the lock holds.
    private static func sign(_ file: consuming FileDescriptor) -> DestinationLock {
        var text = "\(getpid())\n"
        _ = ftruncate(file.raw, 0)
        _ = text.withUTF8 { pwrite(file.raw, $0.baseAddress, $0.count, 0) }
        return DestinationLock(file)
    }

    private static func owner(_ path: String) -> Int32? {
        guard let bytes = try? DurableFiles.read(path, limit: 64) else { return nil }
        return Int32(String(decoding: bytes, as: UTF8.self).prefix { $0.isNumber })
    }
}
