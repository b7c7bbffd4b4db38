#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// One process's claim to a directory or file, held until the owner goes.
///
/// The lock is `flock(2)`'s: it dies with the process, also by SIGKILL. The file holds the
/// owner's process id, so that the one who is refused can name it.
public struct FileLock: ~Copyable, Sendable {
    /// Somebody else holds the lock.
    public struct Held: Error, Sendable, CustomStringConvertible {
        public let path: String
        public let processID: Int32?

        public var description: String {
            let holder = processID.map { "process \($0)" } ?? "another process"
            return "\(path) is held by \(holder)"
        }
    }

    private let file: FileDescriptor

    /// Takes the lock at once or throws `Held`, or `FileError` where the file cannot be made.
    public init(_ path: String) throws {
        let file = try FileDescriptor(path, O_RDWR | O_CREAT)
        guard flock(file.raw, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            guard code == EWOULDBLOCK else { throw FileError(.lock, path, code: code) }
            let text = try DurableFiles.read(path, limit: 64).map {
                String(decoding: $0, as: UTF8.self)
            }
            throw Held(
                path: path,
                processID: text.flatMap { Int32($0.prefix { $0.isNumber }) }
            )
        }
        try file.truncate(to: 0)
        var text = "\(getpid())\n"
        try text.withUTF8 { try file.write(UnsafeRawBufferPointer($0), at: 0) }
        self.file = file
    }

    /// Whether a path still leads to the file that is locked; a file that was removed locks nobody
    /// out.
    public func isInPlace(_ path: String) throws(FileError) -> Bool {
        guard let there = try FileStatus.of(path) else { return false }
        return try file.status().identity == there.identity
    }
}
