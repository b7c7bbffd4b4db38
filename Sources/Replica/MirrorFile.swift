package import DurableFiles
import SQLiteBridge

/// The file of a mirror: one descriptor that reads and writes pages, and SQLite's locks on it.
///
/// The descriptor belongs to `DatabaseFiles`, which closes it only when no connection of this
/// process is left: closing any descriptor of the file would drop the locks that SQLite holds
/// here. The file is made if there is none, and never replaced.
package final class MirrorFile {
    package let path: String
    /// Where SQLite looks for a rollback journal.
    package var journalPath: String { path + "-journal" }

    private let files: DatabaseFiles
    // Let go of before `files` is left, so that leaving closes it.
    private var descriptor: DatabaseDescriptor?
    private let locks: ByteRangeLocks

    /// Opens or makes the file.
    package init(_ path: String) throws(FileError) {
        let files = try DatabaseFiles.join(path, creating: true)
        let writer: DatabaseDescriptor
        do throws(FileError) {
            writer = try files.writer()
        } catch {
            DatabaseFiles.leave(files)
            throw error
        }
        descriptor = writer
        self.files = files
        self.path = files.path
        locks = ByteRangeLocks(writer.file.raw, path: files.path)
    }

    deinit {
        // The descriptor may outlive us, and its locks with it.
        locks.release()
        descriptor = nil
        DatabaseFiles.leave(files)
    }

    private var writer: DatabaseDescriptor {
        guard let descriptor else { preconditionFailure("used after its end") }
        return descriptor
    }

    // MARK: Bytes

    /// Bytes of the file.
    package func size() throws(FileError) -> Int64 {
        try writer.file.status().sizeInBytes
    }

    /// Reads bytes; fewer than asked for only at the end of the file.
    package func read(
        at offset: Int64,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(FileError) -> Int {
        try writer.file.read(at: offset, into: buffer)
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(FileError) {
        precondition(locks.level == .exclusive, "pages are written under the exclusive lock")
        try writer.file.write(buffer, at: offset)
    }

    func truncate(to size: Int64) throws(FileError) {
        precondition(locks.level == .exclusive, "the file is cut under the exclusive lock")
        try writer.file.truncate(to: size)
    }

    func sync() throws(FileError) {
        try writer.file.sync()
    }

    /// The facts of the file: a sidecar gets its permissions, as SQLite gives them.
    func status() throws(FileError) -> FileStatus {
        try writer.file.status()
    }

    /// Whether the path still leads to this file.
    func isInPlace() throws(FileError) -> Bool {
        try files.isInPlace()
    }

    // MARK: Locks

    /// Takes SHARED and RESERVED, so that a journal beside the file is nobody else's business.
    ///
    /// - Returns: Who is in the way; `nil` when the locks are held.
    func reserve() throws(FileError) -> LockHolder? {
        try locks.reserve()
    }

    /// Takes PENDING and EXCLUSIVE; what could be had of them stays held.
    ///
    /// - Returns: Who is in the way; `nil` when both are held.
    func exclude() throws(FileError) -> LockHolder? {
        try locks.exclude()
    }

    /// Whether pages may be written.
    var isExclusive: Bool { locks.level == .exclusive }

    /// Lets new readers in again, after an `exclude` that did not succeed.
    func admitReaders() throws(FileError) {
        try locks.admitReaders()
    }

    /// Somebody who reads now, without keeping anybody out.
    func reader() throws(FileError) -> LockHolder? {
        try locks.reader()
    }

    /// Lets go of all locks.
    func unlock() {
        locks.release()
    }

    /// Whether a journal lies there that SQLite would play back.
    ///
    /// An empty one, or one whose first byte is zero, is a finished one (`hasHotJournal`, pager.c).
    func isJournalHot() throws(FileError) -> Bool {
        guard let status = try FileStatus.of(journalPath), status.sizeInBytes > 0 else {
            return false
        }
        let journal = try FileDescriptor(reading: journalPath)
        let first = UnsafeMutableRawBufferPointer.allocate(byteCount: 1, alignment: 1)
        defer { first.deallocate() }
        return try journal.read(at: 0, into: first) == 1 && first[0] != 0
    }
}
