#if canImport(Glibc)
public import Glibc
#else
public import Darwin
#endif

/// A new file under a fixed temporary name that only one writer at a time can have.
///
/// Like `DurableFile`, but a second writer of the same path, in this process or another, is kept
/// out by `flock(2)` instead of writing into the same temporary file. As the name is fixed, a
/// killed writer leaves at most one corpse, which the next attempt uses again.
public struct ClaimedFile: ~Copyable, Sendable {
    /// What to do while somebody else writes the same file.
    public enum Claim: Sendable {
        case wait
        /// Fail with `EWOULDBLOCK`, see `FileError.isHeldByAnother`.
        case refuse
    }

    private let file: FileDescriptor
    /// Where the bytes are until they are published.
    public let temporaryPath: String
    public let path: String

    /// Starts an empty file that `publishNew` or `publishReplacing` will make visible at `path`.
    ///
    /// - Parameters:
    ///   - path: Where the file belongs.
    ///   - suffix: What the temporary name adds to `path`; ends in `DurableFile.temporarySuffix`.
    ///   - mode: Permissions, less those that the umask takes away.
    ///   - claim: What to do while another writer has the temporary file.
    /// - Throws: `FileError`; see `FileError.isHeldByAnother`.
    public init(
        _ path: String,
        suffix: String = DurableFile.temporarySuffix,
        mode: mode_t = 0o644,
        claim: Claim
    ) throws(FileError) {
        precondition(suffix.hasSuffix(DurableFile.temporarySuffix), "no temporary name")
        self.path = path
        temporaryPath = path + suffix
        file = try Self.create(temporaryPath, mode: mode, claim: claim)
    }

    public func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(FileError) {
        try file.write(buffer, at: offset)
    }

    public func read(
        at offset: Int64,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(FileError) -> Int {
        try file.read(at: offset, into: buffer)
    }

    public func truncate(to size: Int64) throws(FileError) {
        try file.truncate(to: size)
    }

    /// Sets the file's modification time, milliseconds since 1970.
    public func setModified(_ milliseconds: Int64) throws(FileError) {
        try file.setModified(milliseconds)
    }

    /// Makes the bytes durable under the temporary name; nothing is visible yet.
    public func sync() throws(FileError) {
        try file.sync()
    }

    /// Makes the synced file visible, replacing what is there, and durable.
    public consuming func publishReplacing() throws(FileError) {
        try DurableFiles.rename(temporaryPath, to: path)
        try DurableFiles.syncDirectory(of: path)
    }

    /// Makes the synced file visible and durable if the name is free; `EEXIST` when it is taken.
    ///
    /// A file system without hard links gets a look and a rename, which is not atomic: there, of
    /// two writers that do not know of each other, the last one wins.
    public consuming func publishNew() throws(FileError) {
        do throws(FileError) {
            try DurableFiles.link(temporaryPath, to: path)
            try DurableFiles.remove(temporaryPath)
        } catch  where error.isLinkUnsupported {
            guard try FileStatus.ofEntry(path) == nil else {
                throw FileError(.rename, path, code: EEXIST)
            }
            try DurableFiles.rename(temporaryPath, to: path)
        }
        try DurableFiles.syncDirectory(of: path)
    }

    deinit {
        // The name may be another writer's already: that of a file just published is free.
        if (try? Self.isNamed(file)) == true { unlink(temporaryPath) }
    }

    /// Creates the file, once nobody else writes it, and removes what a killed writer left.
    ///
    /// An old file is never written into: it may have a second name by now, the published one.
    private static func create(
        _ path: String,
        mode: mode_t,
        claim: Claim
    ) throws(FileError) -> FileDescriptor {
        while true {
            if try removeCorpse(path, claim: claim) { continue }
            try FaultPoint.pass(.open, path)
            let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
            let code = errno
            guard descriptor >= 0 else {
                if code == EEXIST || code == EINTR { continue }
                throw FileError(.open, path, code: code)
            }
            let file = FileDescriptor(adopting: descriptor, path: path)
            try lock(file, claim: claim)
            // Between creating and locking, another writer may have taken it for a corpse.
            if try isNamed(file) { return file }
        }
    }

    /// Removes the file if it is there and nobody writes it; says whether it was there.
    private static func removeCorpse(_ path: String, claim: Claim) throws(FileError) -> Bool {
        guard try FileStatus.ofEntry(path) != nil else { return false }
        let file: FileDescriptor
        do throws(FileError) {
            file = try FileDescriptor(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK)
        } catch {
            guard error.isMissing else { throw error }
            return true
        }
        try lock(file, claim: claim)
        if try isNamed(file) { try DurableFiles.remove(path) }
        return true
    }

    private static func lock(
        _ file: borrowing FileDescriptor,
        claim: Claim
    ) throws(FileError) {
        while flock(file.raw, claim == .wait ? LOCK_EX : LOCK_EX | LOCK_NB) != 0 {
            let code = errno
            if code == EINTR { continue }
            // No locks on this file system: the claim is as good as the name.
            if code == ENOTSUP || code == ENOSYS || code == ENOLCK { return }
            throw FileError(.lock, file.path, code: code)
        }
    }

    /// Whether the descriptor's file still stands under its name.
    private static func isNamed(_ file: borrowing FileDescriptor) throws(FileError) -> Bool {
        try FileStatus.ofEntry(file.path)?.identity == file.status().identity
    }
}

extension FileError {
    /// Another writer holds the file.
    public var isHeldByAnother: Bool { operation == .lock && code == EWOULDBLOCK }

    /// The name is taken.
    public var isTaken: Bool { code == EEXIST }

    /// Two names for one file are not to be had here: another file system, or one without links.
    public var isLinkUnsupported: Bool {
        operation == .link
            && [EXDEV, EPERM, EMLINK, ENOTSUP, EOPNOTSUPP, ENOSYS].contains(code)
    }
}
