import DurableFiles

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A file without a name, which goes with its owner, also by SIGKILL.
final class NamelessFile: Sendable {
    private let file: FileDescriptor

    /// - Throws: `FileError`.
    init(directory: String?) throws(FileError) {
        let directory = directory ?? Self.defaultDirectory
        let name = "dormouse-spool-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
        let path = Path.join(directory, name)
        file = try FileDescriptor(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
        unlink(path)
    }

    /// On a disk: `/tmp` is often memory, and what is kept here can be a whole database.
    private static var defaultDirectory: String {
        getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp"
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileError) {
        try file.write(bytes, at: offset)
    }

    func read(
        at offset: Int64,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(FileError) -> Int {
        try file.read(at: offset, into: buffer)
    }
}
