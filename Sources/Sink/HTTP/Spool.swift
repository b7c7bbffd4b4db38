package import DurableFiles
import Glibc
import Synchronization

/// The directory of bodies that are still arriving.
///
/// It lies on the file system of the buckets, so that a file which is taken over is linked and
/// not copied. What is in it at the start is a corpse of the process before.
package final class Spool: Sendable {
    package let directory: String
    private let last = Atomic<UInt64>(0)

    /// Makes the directory and empties it.
    package init(_ directory: String) throws(FileError) {
        self.directory = directory
        try DurableFiles.makeDirectories(directory, mode: 0o700)
        for name in try DurableFiles.list(directory) {
            try DurableFiles.remove(Path.join(directory, name))
        }
    }

    /// Makes an empty file.
    package func create() throws(FileError) -> SpoolFile {
        try SpoolFile(creating: newPath())
    }

    /// A path in it that nobody else is given.
    package func newPath() -> String {
        let number = last.add(1, ordering: .relaxed).newValue
        return Path.join(directory, "\(number)\(DurableFile.temporarySuffix)")
    }
}

/// A body in a file, which is removed with its last owner.
// Written by one thread at a time, the one that receives the body; read when it is whole.
package final class SpoolFile: Sendable {
    package let path: String
    private let file: FileDescriptor
    private let size = Atomic<Int64>(0)

    fileprivate init(creating path: String) throws(FileError) {
        self.path = path
        try FaultPoint.pass(.open, path)
        file = try FileDescriptor(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
    }

    deinit {
        unlink(path)
    }

    /// Bytes in it.
    package var count: Int64 { size.load(ordering: .acquiring) }

    /// Bytes after which the disk begins to write, so that less is left for the sync at the end.
    private static let writebackInterval: Int64 = 8 << 20

    /// Adds bytes at the end.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
        let start = count
        try file.write(bytes, at: start)
        let end = start + Int64(bytes.count)
        size.store(end, ordering: .releasing)
        if start / Self.writebackInterval != end / Self.writebackInterval { file.startWriteback() }
    }

    package func append(_ bytes: [UInt8]) throws(FileError) {
        let outcome: Result<Void, FileError> = bytes.withUnsafeBytes { bytes in
            do throws(FileError) { return .success(try append(bytes)) } catch {
                return .failure(error)
            }
        }
        try outcome.get()
    }

    package func read(
        at offset: Int64,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(FileError) -> Int {
        try file.read(at: offset, into: buffer)
    }
}
