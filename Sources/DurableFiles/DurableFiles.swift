#if canImport(Glibc)
public import Glibc
#else
public import Darwin
#endif

/// Changes to directories, each one durable when it returns.
public enum DurableFiles {
    /// Renames, replacing the target; not durable before the directory is synced.
    public static func rename(_ source: String, to target: String) throws(FileError) {
        try FaultPoint.pass(.rename, target)
        #if canImport(Glibc)
        let result = Glibc.rename(source, target)
        #else
        let result = Darwin.rename(source, target)
        #endif
        guard result == 0 else { throw FileError(.rename, target, code: errno) }
    }

    /// Gives a file a second name; fails with `EEXIST` when the name is taken.
    public static func link(_ source: String, to target: String) throws(FileError) {
        try FaultPoint.pass(.link, target)
        #if canImport(Glibc)
        let result = Glibc.link(source, target)
        #else
        let result = Darwin.link(source, target)
        #endif
        guard result == 0 else { throw FileError(.link, target, code: errno) }
    }

    /// Removes a file; one that is not there is no error.
    public static func remove(_ path: String) throws(FileError) {
        try FaultPoint.pass(.unlink, path)
        guard unlink(path) == 0 || errno == ENOENT else {
            throw FileError(.unlink, path, code: errno)
        }
    }

    /// Makes the directory's entries survive a power cut.
    public static func syncDirectory(_ path: String) throws(FileError) {
        try FaultPoint.pass(.syncDirectory, path)
        let directory = try FileDescriptor(path, O_RDONLY | O_DIRECTORY)
        guard fsync(directory.raw) == 0 else {
            throw FileError(.syncDirectory, path, code: errno)
        }
    }

    public static func syncDirectory(of path: String) throws(FileError) {
        try syncDirectory(Path.parent(of: path))
    }

    /// Makes a directory and its missing parents, each durable in its parent.
    ///
    /// - Parameters:
    ///   - path: The directory.
    ///   - base: A directory above it that is not made: where it is missing, the rest has gone
    ///     with it, and `ENOENT` is thrown.
    ///   - mode: Of what is made.
    /// - Throws: `FileError`.
    public static func makeDirectories(
        _ path: String,
        below base: String? = nil,
        mode: mode_t = 0o755
    ) throws(FileError) {
        if let status = try FileStatus.of(path) {
            guard status.isDirectory else {
                throw FileError(.makeDirectory, path, code: ENOTDIR)
            }
            return
        }
        let parent = Path.parent(of: path)
        if path == base { throw FileError(.makeDirectory, path, code: ENOENT) }
        if parent != path { try makeDirectories(parent, below: base, mode: mode) }
        try FaultPoint.pass(.makeDirectory, path)
        guard mkdir(path, mode) == 0 || errno == EEXIST else {
            throw FileError(.makeDirectory, path, code: errno)
        }
        try syncDirectory(parent)
    }

    /// The names in a directory but for `.` and `..`, in no order.
    public static func list(_ path: String) throws(FileError) -> [String] {
        guard let directory = opendir(path) else {
            throw FileError(.list, path, code: errno)
        }
        defer { closedir(directory) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(directory) else {
                guard errno == 0 else { throw FileError(.list, path, code: errno) }
                return names
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(
                    to: CChar.self,
                    capacity: MemoryLayout.size(ofValue: pointer.pointee)
                ) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
    }

    /// Reads a small file whole; `nil` when it does not exist.
    ///
    /// A file of more than `limit` bytes is an error (`EFBIG`), never a large allocation.
    public static func read(_ path: String, limit: Int) throws(FileError) -> [UInt8]? {
        guard let status = try FileStatus.of(path) else { return nil }
        guard status.sizeInBytes <= limit else { throw FileError(.read, path, code: EFBIG) }
        let file = try FileDescriptor(reading: path)
        var bytes = [UInt8](repeating: 0, count: Int(status.sizeInBytes))
        let outcome: Result<Int, FileError> = bytes.withUnsafeMutableBytes { buffer in
            do throws(FileError) { return .success(try file.read(at: 0, into: buffer)) } catch {
                return .failure(error)
            }
        }
        bytes.removeLast(bytes.count - (try outcome.get()))
        return bytes
    }

    /// Whether two files hold the same bytes.
    public static func haveEqualContents(_ one: String, _ other: String) throws(FileError) -> Bool {
        let first = try FileDescriptor(reading: one)
        let second = try FileDescriptor(reading: other)
        let (firstStatus, secondStatus) = (try first.status(), try second.status())
        if firstStatus.identity == secondStatus.identity { return true }
        guard firstStatus.sizeInBytes == secondStatus.sizeInBytes else { return false }
        let chunk = 256 << 10
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * chunk, alignment: 16)
        defer { buffer.deallocate() }
        let left = UnsafeMutableRawBufferPointer(rebasing: buffer[..<chunk])
        let right = UnsafeMutableRawBufferPointer(rebasing: buffer[chunk...])
        var offset: Int64 = 0
        while offset < firstStatus.sizeInBytes {
            let count = try first.read(at: offset, into: left)
            guard count > 0, try second.read(at: offset, into: right) == count,
                let leftBase = left.baseAddress, let rightBase = right.baseAddress,
                memcmp(leftBase, rightBase, count) == 0
            else { return false }
            offset += Int64(count)
        }
        return true
    }

    static func setModified(
        _ path: String,
        descriptor: Int32,
        _ milliseconds: Int64
    ) throws(FileError) {
        // Rounded down; any number may stand in a file that somebody offers.
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        let time = timespec(
            tv_sec: Int(rest < 0 ? seconds - 1 : seconds),
            tv_nsec: Int(rest < 0 ? rest + 1000 : rest) * 1_000_000
        )
        let times = [time, time]
        guard futimens(descriptor, times) == 0 else {
            throw FileError(.setTimes, path, code: errno)
        }
    }
}
