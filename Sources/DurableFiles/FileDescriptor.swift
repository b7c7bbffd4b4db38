#if canImport(Glibc)
public import Glibc
#else
public import Darwin
#endif

#if os(Linux)
import CLinux
#endif

/// An open file with exactly one owner.
public struct FileDescriptor: ~Copyable, Sendable {
    public let raw: Int32
    public let path: String

    /// Opens for reading.
    public init(reading path: String) throws(FileError) {
        try self.init(path, O_RDONLY)
    }

    /// Creates a new file for writing; an existing one is emptied.
    public init(creating path: String, mode: mode_t = 0o644) throws(FileError) {
        try FaultPoint.pass(.open, path)
        try self.init(path, O_RDWR | O_CREAT | O_TRUNC, mode)
    }

    /// Opens with the flags of `open(2)`; `O_CLOEXEC` is added.
    public init(_ path: String, _ flags: Int32, _ mode: mode_t = 0o644) throws(FileError) {
        var descriptor: Int32
        repeat {
            descriptor = open(path, flags | O_CLOEXEC, mode)
        } while descriptor < 0 && errno == EINTR
        guard descriptor >= 0 else { throw FileError(.open, path, code: errno) }
        raw = descriptor
        self.path = path
    }

    /// Takes over an open descriptor.
    init(adopting raw: Int32, path: String) {
        self.raw = raw
        self.path = path
    }

    /// Reads up to the buffer's size at an offset; 0 is the end of the file.
    public func read(
        at offset: Int64,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(FileError) -> Int {
        Progress.current?.step()
        var done = 0
        while done < buffer.count {
            let count = pread(
                raw,
                buffer.baseAddress.map { $0 + done },
                buffer.count - done,
                off_t(offset + Int64(done))
            )
            if count == 0 { break }
            if count < 0 {
                let code = errno
                if code == EINTR { continue }
                throw FileError(.read, path, code: code)
            }
            done += count
        }
        return done
    }

    /// Writes the whole buffer at the file's position.
    public func write(_ buffer: UnsafeRawBufferPointer) throws(FileError) {
        try FaultPoint.pass(.write, path)
        var done = 0
        while done < buffer.count {
            let count = Self.systemWrite(
                raw,
                buffer.baseAddress.map { $0 + done },
                buffer.count - done
            )
            if count < 0 {
                let code = errno
                if code == EINTR { continue }
                throw FileError(.write, path, code: code)
            }
            done += count
        }
    }

    /// Writes the whole buffer at an offset.
    public func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(FileError) {
        try FaultPoint.pass(.write, path)
        var done = 0
        while done < buffer.count {
            let count = pwrite(
                raw,
                buffer.baseAddress.map { $0 + done },
                buffer.count - done,
                off_t(offset + Int64(done))
            )
            if count < 0 {
                let code = errno
                if code == EINTR { continue }
                throw FileError(.write, path, code: code)
            }
            done += count
        }
    }

    /// Makes what was written survive a power cut.
    public func sync() throws(FileError) {
        try FaultPoint.pass(.sync, path)
        guard fsync(raw) == 0 else { throw FileError(.sync, path, code: errno) }
    }

    /// Lets the kernel begin to write what a later `sync` will wait for.
    public func startWriteback() {
        #if os(Linux)
        clinux_start_writeback(raw)
        #endif
    }

    /// Cuts or extends the file.
    public func truncate(to size: Int64) throws(FileError) {
        try FaultPoint.pass(.truncate, path)
        guard ftruncate(raw, off_t(size)) == 0 else {
            throw FileError(.truncate, path, code: errno)
        }
    }

    /// Sets the modification time, milliseconds since 1970.
    public func setModified(_ milliseconds: Int64) throws(FileError) {
        try DurableFiles.setModified(path, descriptor: raw, milliseconds)
    }

    /// The file's facts, by its descriptor.
    public func status() throws(FileError) -> FileStatus {
        var buffer = stat()
        guard fstat(raw, &buffer) == 0 else { throw FileError(.stat, path, code: errno) }
        return FileStatus(buffer)
    }

    // What was written is safe by `sync` alone, so a failure here has nobody to tell.
    deinit {
        _ = Self.systemClose(raw)
    }

    private static func systemClose(_ descriptor: Int32) -> Int32 {
        #if canImport(Glibc)
        Glibc.close(descriptor)
        #else
        Darwin.close(descriptor)
        #endif
    }

    private static func systemWrite(
        _ descriptor: Int32,
        _ base: UnsafeRawPointer?,
        _ count: Int
    ) -> Int {
        #if canImport(Glibc)
        Glibc.write(descriptor, base, count)
        #else
        Darwin.write(descriptor, base, count)
        #endif
    }
}
