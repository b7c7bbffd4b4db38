public import DurableFiles

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The one raw descriptor that this process has of each file of a database.
///
/// POSIX locks belong to process and inode: closing *any* descriptor of a database drops every
/// lock that SQLite holds on it here, and an outsider may then delete the WAL under a live
/// writer. So everybody who reads these files without SQLite reads them here, and they are closed
/// only when no connection of this process is left (How To Corrupt An SQLite Database File, 2.2).
public final class DatabaseFiles: Sendable {
    public let path: String
    public let identity: FileIdentity
    public var walPath: String { path + "-wal" }
    public var walIndexPath: String { path + "-shm" }

    private let held: Lock<OpenFiles>

    private struct OpenFiles: ~Copyable {
        /// `nil` once the last member has left.
        var database: DatabaseDescriptor?
        var wal: Opened?
        var walIndex: Opened?
        /// Replaced `-shm` descriptors stay open: the WAL's locks may live on them.
        var retired: [Opened] = []
        /// For who writes pages without SQLite; like all others, open until the last one leaves.
        var writer: DatabaseDescriptor?
        var spare: [DatabaseDescriptor] = []

        init(_ database: DatabaseDescriptor) {
            self.database = database
        }
    }

    private final class Opened: Sendable {
        let file: FileDescriptor
        let identity: FileIdentity

        init(_ path: String) throws(FileError) {
            let file = try FileDescriptor(reading: path)
            identity = try file.status().identity
            self.file = file
        }
    }

    private init(_ database: DatabaseDescriptor, path: String) throws(FileError) {
        identity = try database.file.status().identity
        self.path = path
        held = Lock(OpenFiles(database))
    }

    private func database() throws(FileError) -> DatabaseDescriptor {
        guard let database = held.withLock({ $0.database }) else {
            throw FileError(.read, path, code: EBADF)
        }
        return database
    }

    /// Closes everything, whoever still holds this object: one that closed later would drop the
    /// locks of connections that were opened in between.
    private func close() {
        held.withLock { files in
            files.database = nil
            files.wal = nil
            files.walIndex = nil
            files.retired = []
            files.writer = nil
            files.spare = []
        }
    }

    // MARK: Reading

    /// Whether the path still leads to the file that is open here.
    public func isInPlace() throws(FileError) -> Bool {
        try FileStatus.of(path)?.identity == identity
    }

    public func databaseSize() throws(FileError) -> Int64 {
        try database().file.status().sizeInBytes
    }

    /// Reads database bytes; fewer than asked for only at the end of the file.
    public func readDatabase(
        at offset: Int64,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(FileError) -> Int {
        try database().file.read(at: offset, into: buffer)
    }

    /// Size in bytes of the WAL at the path now; `nil` when there is none.
    ///
    /// A WAL that was deleted and made again is picked up here, and only here.
    public func refreshWAL() throws(FileError) -> Int64? {
        guard let status = try FileStatus.of(walPath) else {
            held.withLock { $0.wal = nil }
            return nil
        }
        if let open = held.withLock({ $0.wal }), open.identity == status.identity {
            return try open.file.status().sizeInBytes
        }
        let opened = try Opened(walPath)
        held.withLock { $0.wal = opened }
        return try opened.file.status().sizeInBytes
    }

    /// Reads WAL bytes of the file found by `refreshWAL`; 0 where there is none.
    public func readWAL(
        at offset: Int64,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(FileError) -> Int {
        guard let open = held.withLock({ $0.wal }) else { return 0 }
        return try open.file.read(at: offset, into: buffer)
    }

    /// Makes all of the WAL durable: with `synchronous = NORMAL` a commit need not be yet.
    public func syncWAL() throws(FileError) {
        guard let open = held.withLock({ $0.wal }) else { return }
        try open.file.sync()
    }

    /// Lets the disk begin with what `syncWAL` will wait for.
    ///
    /// Frames are read and packed meanwhile, which takes about as long.
    public func startSyncingWAL() {
        held.withLock { $0.wal }?.file.startWriteback()
    }

    /// Reads wal-index bytes (the `-shm` file); 0 where there is none.
    public func readWALIndex(
        at offset: Int64,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(FileError) -> Int {
        guard let status = try FileStatus.of(walIndexPath) else { return 0 }
        if let open = held.withLock({ $0.walIndex }), open.identity == status.identity {
            return try open.file.read(at: offset, into: buffer)
        }
        let opened = try Opened(walIndexPath)
        held.withLock { files in
            if let old = files.walIndex { files.retired.append(old) }
            files.walIndex = opened
        }
        return try opened.file.read(at: offset, into: buffer)
    }

    /// Processes other than this one that read from the WAL now, by their locks.
    ///
    /// A reader of the database file alone is not among them: it keeps no WAL from starting
    /// again. Lock bytes: WAL-mode File Format, section 2.3 (read marks 1–4 at 124–127).
    public func otherWALReaders() -> [Int32] {
        held.withLock { files in
            guard let walIndex = files.walIndex else { return [] }
            return Set((124...127).compactMap { Self.lockHolder(walIndex.file.raw, at: $0) })
                .sorted()
        }
    }

    /// Some other process that has the database open, if there is one.
    ///
    /// Every connection in WAL mode holds the "deadman switch" byte of the wal-index.
    public func otherOpener() -> Int32? {
        held.withLock { files in
            files.walIndex.flatMap { Self.lockHolder($0.file.raw, at: 128) }
        }
    }

    private static func lockHolder(_ descriptor: Int32, at byte: Int) -> Int32? {
        var query = flock()
        query.l_type = Int16(F_WRLCK)
        query.l_whence = Int16(SEEK_SET)
        query.l_start = off_t(byte)
        query.l_len = 1
        guard fcntl(descriptor, F_GETLK, &query) == 0, query.l_type != Int16(F_UNLCK) else {
            return nil
        }
        return query.l_pid
    }

    // MARK: Writing

    /// A descriptor of the database that may write, opened at the first call.
    ///
    /// For a replica that applies pages by itself. Like all others it stays open until the last
    /// member leaves; the caller is one (`join`) and lets go of it before it leaves.
    package func writer() throws(FileError) -> DatabaseDescriptor {
        let database = try database()
        if database.mayWrite { return database }
        if let known = held.withLock({ $0.writer }) { return known }
        let descriptor = try DatabaseDescriptor(path, O_RDWR)
        return held.withLock { files in
            guard let first = files.writer else {
                files.writer = descriptor
                return descriptor
            }
            // Two came at once: closing one of them now would drop SQLite's locks.
            files.spare.append(descriptor)
            return first
        }
    }

    // MARK: Sharing

    private struct Shared {
        var files: DatabaseFiles
        var connections: Int
    }

    private static let open = Lock<[FileIdentity: Shared]>([:])

    /// Joins the descriptors that this process has of the database, or opens the first.
    ///
    /// Called before SQLite opens the file, so that no close can fall between. Who joins leaves
    /// again, once.
    package static func join(_ path: String, creating: Bool) throws(FileError) -> DatabaseFiles {
        let outcome: Result<DatabaseFiles, FileError> = open.withLock { open in
            do throws(FileError) {
                if let status = try FileStatus.of(path), let known = open[status.identity] {
                    open[status.identity]?.connections += 1
                    return .success(known.files)
                }
                let descriptor = try DatabaseDescriptor(
                    path,
                    creating ? O_RDWR | O_CREAT : O_RDONLY
                )
                // SQLite names the sidecars after the file that a symbolic link leads to.
                let files = try DatabaseFiles(descriptor, path: Path.canonical(path))
                open[files.identity] = Shared(files: files, connections: 1)
                return .success(files)
            } catch {
                return .failure(error)
            }
        }
        return try outcome.get()
    }

    /// Leaves; the last one out closes the descriptors, still under the lock.
    package static func leave(_ files: DatabaseFiles) {
        open.withLock { open in
            guard var shared = open[files.identity], shared.files === files else { return }
            shared.connections -= 1
            open[files.identity] = shared.connections == 0 ? nil : shared
            if shared.connections == 0 { files.close() }
        }
    }
}

/// One descriptor of a database file; see `DatabaseFiles.writer()`.
package final class DatabaseDescriptor: Sendable {
    package let file: FileDescriptor
    fileprivate let mayWrite: Bool

    fileprivate init(_ path: String, _ flags: Int32) throws(FileError) {
        file = try FileDescriptor(path, flags)
        mayWrite = flags & O_ACCMODE == O_RDWR
    }
}
