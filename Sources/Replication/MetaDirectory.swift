import Bucket
import DurableFiles
import LTXCodec

/// The directory beside a database that holds what is on its way to the bucket.
///
/// `.{name}-litestream/ltx/{level}/{min}-{max}.ltx`, exactly Litestream's, so that either can
/// take over from the other; beside it what only we keep: the state, the page ledger, the lock.
struct MetaDirectory {
    let path: String

    init(database: String) {
        let canonical = Path.canonical(database)
        path = Path.join(
            Path.parent(of: canonical),
            ".\(Path.name(of: canonical))-litestream"
        )
    }

    var statePath: String { Path.join(path, "dormouse-state") }
    var ledgerPath: String { Path.join(path, "dormouse-ledger") }
    var lockPath: String { Path.join(path, "dormouse-lock") }

    func path(level: Int) -> String { "\(path)/ltx/\(level)" }

    func path(level: Int, name: LTXFileName) -> String { "\(path(level: level))/\(name)" }

    /// Levels that a device writes: deltas, and snapshots of another page size.
    static let levels = [0, BucketFile.snapshotLevel]

    /// The local files, in the order of their maximum TXID.
    func files() throws(FileError) -> [BucketFile] {
        var files: [BucketFile] = []
        for level in Self.levels {
            guard try FileStatus.of(path(level: level)) != nil else { continue }
            for entry in try DurableFiles.list(path(level: level)) {
                guard let name = LTXFileName(entry),
                    let status = try FileStatus.of(path(level: level, name: name)),
                    status.isRegularFile
                else { continue }
                files.append(
                    BucketFile(
                        level: level,
                        name: name,
                        sizeInBytes: status.sizeInBytes,
                        timestamp: status.modifiedAt
                    )
                )
            }
        }
        return files.sorted { ($0.maxTXID, $0.minTXID) < ($1.maxTXID, $1.minTXID) }
    }

    /// Deletes what a kill left half-written; nobody else writes here while we hold the lock.
    func sweep() throws(FileError) {
        for directory in [path] + Self.levels.map(path(level:)) {
            guard try FileStatus.of(directory) != nil else { continue }
            for entry in try DurableFiles.list(directory)
            where entry.hasSuffix(DurableFile.temporarySuffix) {
                try DurableFiles.remove(Path.join(directory, entry))
            }
        }
    }

    /// Moves a file out of the way, under a name that nothing looks for; it is not deleted.
    func setAside(_ path: String) throws(FileError) -> String {
        var number = 1
        while true {
            let target = "\(path).unusable-\(number)"
            if try FileStatus.of(target) == nil {
                try DurableFiles.rename(path, to: target)
                try DurableFiles.syncDirectory(of: target)
                return target
            }
            number += 1
        }
    }

    /// Whether the file was published: that one, and not what an earlier attempt had left there.
    func holds(_ making: ReplicatorState.Making) throws -> Bool {
        let path = self.path(level: making.level, name: making.name)
        guard let status = try FileStatus.of(path), status.isRegularFile else { return false }
        let file = BucketFile(
            level: making.level,
            name: making.name,
            sizeInBytes: status.sizeInBytes,
            timestamp: status.modifiedAt
        )
        do {
            return try inspect(file).fileChecksum == making.fileChecksum
        } catch is LTXError {
            return false
        }
    }

    /// Header and file checksum of a local file, by two small reads.
    ///
    /// - Throws: `LTXError`, `FileError`.
    func inspect(_ file: BucketFile) throws -> (header: LTXHeader, fileChecksum: Checksum) {
        let descriptor = try FileDescriptor(reading: path(level: file.level, name: file.name))
        return try inspectLTX(sizeInBytes: file.sizeInBytes) { offset, buffer in
            try descriptor.read(at: offset, into: buffer)
        }
    }
}

/// Header and file checksum of an LTX file, by two small reads; the rest is not looked at.
///
/// - Throws: `LTXError`; what `readAt` throws.
func inspectLTX(
    sizeInBytes: Int64,
    readAt: (Int64, UnsafeMutableRawBufferPointer) throws -> Int
) throws -> (header: LTXHeader, fileChecksum: Checksum) {
    try withUnsafeTemporaryAllocation(byteCount: LTXHeader.size, alignment: 8) { buffer in
        let count = try readAt(0, buffer)
        let header = try LTXHeader(
            decoding: UnsafeRawBufferPointer(rebasing: buffer[..<max(0, count)])
        )
        let checksum = UnsafeMutableRawBufferPointer(rebasing: buffer[..<8])
        guard sizeInBytes >= Int64(LTXHeader.size + LTXTrailer.size),
            try readAt(sizeInBytes - 8, checksum) == 8
        else { return (header, .none) }
        let value = checksum.loadUnaligned(as: UInt64.self)
        return (header, Checksum(rawValue: UInt64(bigEndian: value)))
    }
}
