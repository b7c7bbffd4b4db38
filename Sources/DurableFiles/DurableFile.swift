#if canImport(Glibc)
public import Glibc
#else
public import Darwin
#endif

/// A new file that appears whole or not at all, and stays.
///
/// The order is everybody's here: write a temporary file beside the target, `fsync` it, rename
/// it, `fsync` the directory, and only then tell anyone. An owner that goes away without
/// `publish` leaves nothing behind but, after a kill, a corpse whose name ends in
/// `DurableFile.temporarySuffix`.
/// A class, because the closure that takes an encoder's output shares it with who publishes it.
public final class DurableFile {
    /// How the names of unfinished files end; a sweeper may delete them.
    public static let temporarySuffix = ".tmp"

    private let file: FileDescriptor
    /// Where the bytes are until they are published.
    public let temporaryPath: String
    public let path: String
    private var isPublished = false
    private var isDirty = true
    /// Bytes since the disk was last told to begin.
    private var unstarted = 0

    /// Bytes after which the disk begins to write, so that less is left for the sync at the end.
    private static let writebackInterval = 8 << 20

    /// Starts a file that `publish` will make visible at `path`.
    public init(_ path: String, mode: mode_t = 0o644) throws(FileError) {
        self.path = path
        temporaryPath = path + Self.temporarySuffix
        file = try FileDescriptor(creating: temporaryPath, mode: mode)
    }

    public func write(_ buffer: UnsafeRawBufferPointer) throws(FileError) {
        isDirty = true
        try file.write(buffer)
        startWriteback(buffer.count)
    }

    public func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(FileError) {
        isDirty = true
        try file.write(buffer, at: offset)
        startWriteback(buffer.count)
    }

    private func startWriteback(_ count: Int) {
        unstarted += count
        guard unstarted >= Self.writebackInterval else { return }
        unstarted = 0
        file.startWriteback()
    }

    public func write(_ text: String) throws(FileError) {
        isDirty = true
        var text = text
        let outcome: Result<Void, FileError> = text.withUTF8 { bytes in
            do throws(FileError) {
                return .success(try file.write(UnsafeRawBufferPointer(bytes)))
            } catch {
                return .failure(error)
            }
        }
        try outcome.get()
    }

    public func read(
        at offset: Int64,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(FileError) -> Int {
        try file.read(at: offset, into: buffer)
    }

    public func truncate(to size: Int64) throws(FileError) {
        isDirty = true
        try file.truncate(to: size)
    }

    /// Sets the file's modification time, milliseconds since 1970.
    public func setModified(_ milliseconds: Int64) throws(FileError) {
        try file.setModified(milliseconds)
    }

    /// Makes the bytes durable under the temporary name; nothing is visible yet.
    public func sync() throws(FileError) {
        try file.sync()
        isDirty = false
    }

    /// Makes the file visible, replacing what is there, and waits until the disk has it all.
    ///
    /// Bytes that were written since the last `sync` are made durable first.
    public func publish() throws(FileError) {
        if isDirty { try sync() }
        try DurableFiles.rename(temporaryPath, to: path)
        isPublished = true
        try DurableFiles.syncDirectory(of: path)
    }

    deinit {
        if !isPublished { unlink(temporaryPath) }
    }
}
