import DurableFiles
public import LTXCodec

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A bucket in a directory, laid out as Litestream lays out a file replica.
///
/// `{root}/ltx/{level}/{min}-{max}.ltx`, the modification time of a file being the timestamp of
/// its header. Everything that is no regular file of such a name is ignored, symbolic links
/// included. Calls block their thread while the disk works.
public struct DirectoryBucket: BucketClient {
    /// The directory that holds `ltx`.
    public let root: String

    /// A bucket at a path; nothing is looked at or made yet.
    public init(_ root: String) {
        self.root = root
    }

    public var address: BucketAddress { .directory(root) }

    /// Where a file is or would be.
    public func path(level: Int, name: LTXFileName) -> String {
        Path.join(path(level: level), "\(name)")
    }

    func path(level: Int) -> String {
        Path.join(ltxPath, "\(level)")
    }

    var ltxPath: String { Path.join(root, "ltx") }

    nonisolated(nonsending) public func list(level: Int) async throws -> [BucketFile] {
        let directory = path(level: level)
        var files: [BucketFile] = []
        for name in try names(level: level) {
            guard let file = try entry(Path.join(directory, "\(name)"), level: level, name: name)
            else { continue }
            files.append(file)
        }
        return files.sorted()
    }

    nonisolated(nonsending) public func head() async throws -> TXID {
        var head = TXID.zero
        for level in BucketFile.levels {
            let ahead = try names(level: level).filter { $0.maxTXID > head }
            for name in ahead.sorted(by: { $0.maxTXID > $1.maxTXID }) {
                let path = path(level: level, name: name)
                if try entry(path, level: level, name: name) != nil {
                    head = name.maxTXID
                    break
                }
            }
        }
        return head
    }

    nonisolated(nonsending) public func stat(
        level: Int,
        name: LTXFileName
    ) async throws -> BucketFile? {
        try entry(path(level: level, name: name), level: level, name: name)
    }

    nonisolated(nonsending) public func open(_ file: BucketFile) async throws -> any RandomReader {
        do throws(FileError) {
            let path = path(level: file.level, name: file.name)
            let descriptor = try FileDescriptor(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            let status = try descriptor.status()
            guard status.isRegularFile else {
                throw FileError(.open, path, code: ENOENT)
            }
            return FileReader(descriptor, sizeInBytes: status.sizeInBytes)
        } catch {
            // ELOOP: the entry is a symbolic link, which is not ours.
            guard error.isMissing || error.code == ELOOP else { throw BucketError(error) }
            throw BucketError.notFound(level: file.level, name: file.name)
        }
    }

    nonisolated(nonsending) public func delete(_ files: [BucketFile]) async throws {
        do throws(FileError) {
            for file in files {
                try DurableFiles.remove(path(level: file.level, name: file.name))
            }
            for level in Set(files.map(\.level)).sorted() {
                let directory = path(level: level)
                guard try FileStatus.of(directory) != nil else { continue }
                try DurableFiles.syncDirectory(directory)
            }
        } catch {
            throw BucketError(error)
        }
    }

    /// The names of a level that are LTX file names, whatever stands behind them.
    private func names(level: Int) throws(BucketError) -> [LTXFileName] {
        precondition(BucketFile.levels.contains(level), "no such level")
        do throws(FileError) {
            return try DurableFiles.list(path(level: level)).compactMap { LTXFileName($0) }
        } catch {
            guard error.isMissing else { throw BucketError(error) }
            try checkLayout()
            return []
        }
    }

    private func entry(
        _ path: String,
        level: Int,
        name: LTXFileName
    ) throws(BucketError) -> BucketFile? {
        do throws(FileError) {
            guard let status = try FileStatus.ofEntry(path), status.isRegularFile else {
                return nil
            }
            return BucketFile(
                level: level,
                name: name,
                sizeInBytes: status.sizeInBytes,
                timestamp: status.modifiedAt
            )
        } catch {
            throw BucketError(error)
        }
    }
}

/// A file of a directory bucket; `pread` needs no lock.
private final class FileReader: RandomReader {
    let sizeInBytes: Int64
    private let file: FileDescriptor

    init(_ file: consuming FileDescriptor, sizeInBytes: Int64) {
        self.file = file
        self.sizeInBytes = sizeInBytes
    }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        precondition(offset >= 0, "read before the start of a file")
        do throws(FileError) {
            return try file.read(at: offset, into: buffer)
        } catch {
            throw BucketError(error)
        }
    }
}
