import DurableFiles

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

extension DirectoryBucket {
    /// Stores a file: a hard link where the file system allows it, else a copy.
    ///
    /// Either way the name appears at once with the whole content, and only if it was free:
    /// `link(2)` fails on a name that is taken. A link shares the modification time with its
    /// source, so the source gets the file's timestamp first.
    nonisolated(nonsending) public func put(
        _ source: String,
        as file: BucketFile
    ) async throws {
        try checkLayout()
        let target = path(level: file.level, name: file.name)
        do {
            try store(FileDescriptor(reading: source), as: file, at: target)
        } catch let error as FileError {
            if error.operation == .makeDirectory, error.isMissing {
                throw BucketError.missing(path: error.path)
            }
            guard error.isTaken else { throw BucketError(error) }
            try confirm(source, equals: file, at: target)
        }
    }

    private func store(
        _ source: consuming FileDescriptor,
        as file: BucketFile,
        at target: String
    ) throws {
        let size = try source.status().sizeInBytes
        guard size == file.sizeInBytes else {
            throw BucketError.sourceSize(
                path: source.path,
                expected: file.sizeInBytes,
                actual: size
            )
        }
        // A disk that went away since the layout was checked is not begun anew in its place.
        try DurableFiles.makeDirectories(path(level: file.level), below: Path.parent(of: root))
        do throws(FileError) {
            try link(source, to: target, timestamp: file.timestamp)
        } catch {
            // Another file system, or a source that belongs to somebody else.
            guard error.isLinkUnsupported || error.operation == .setTimes else { throw error }
            try copy(source, sizeInBytes: size, to: target, timestamp: file.timestamp)
        }
    }

    private func link(
        _ source: borrowing FileDescriptor,
        to target: String,
        timestamp: Int64
    ) throws(FileError) {
        try source.setModified(timestamp)
        try source.sync()
        try DurableFiles.link(source.path, to: target)
        try DurableFiles.syncDirectory(of: target)
    }

    private func copy(
        _ source: borrowing FileDescriptor,
        sizeInBytes: Int64,
        to target: String,
        timestamp: Int64
    ) throws(FileError) {
        let copy = try ClaimedFile(target, claim: .wait)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < sizeInBytes {
            let count = try source.read(at: offset, into: buffer)
            // Cut while it was being copied.
            guard count > 0 else { throw FileError(.read, source.path, code: EIO) }
            try copy.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: offset)
            offset += Int64(count)
        }
        try copy.setModified(timestamp)
        try copy.sync()
        try copy.publishNew()
    }

    /// Accepts a name that is taken if the bytes are the same, and makes sure that they stay: the
    /// one who wrote them may have been killed before it could.
    private func confirm(
        _ source: String,
        equals file: BucketFile,
        at target: String
    ) throws(BucketError) {
        do throws(FileError) {
            if try FileStatus.ofEntry(target)?.isRegularFile == true,
                try DurableFiles.haveEqualContents(source, target)
            {
                try FileDescriptor(reading: target).sync()
                try DurableFiles.syncDirectory(of: target)
                return
            }
        } catch {
            throw BucketError(error)
        }
        throw .conflict(level: file.level, name: file.name)
    }
}
