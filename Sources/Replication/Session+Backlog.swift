import Bucket
import DurableFiles
import LTXCodec

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

extension Session {
    /// Merges backlog files into one of the same TXID range.
    ///
    /// The merged file is durable before the first of its parts goes; a kill in between leaves
    /// parts that it covers, which `settle` removes.
    ///
    /// - Returns: The new file's size.
    func merge(_ files: [BucketFile]) throws -> Int64 {
        guard let first = files.first, let last = files.last else { return 0 }
        var merged = first
        // A merge holds a buffer and a page for each of its inputs.
        var rest = files.dropFirst()
        while !rest.isEmpty {
            let batch = Array(rest.prefix(Self.mergeWidth))
            rest = rest.dropFirst(Self.mergeWidth)
            merged = try mergeOnce([merged] + batch)
        }
        pagesOfFiles[last.maxTXID] = nil
        return merged.sizeInBytes
    }

    private static let mergeWidth = 64

    private func mergeOnce(_ files: [BucketFile]) throws -> BucketFile {
        let newest = files[files.count - 1]
        // A level-9 file is a base by itself; nothing before it can be combined with it.
        let base = files.last { $0.level == BucketFile.snapshotLevel } ?? files[0]
        let parts = files.filter { $0.maxTXID >= base.maxTXID }
        let name = LTXFileName(minTXID: base.minTXID, maxTXID: newest.maxTXID)
        let path = meta.path(level: base.level, name: name)
        try requireRoom()
        let file = try DurableFile(path)
        let inputs = try parts.map { part in
            let path = meta.path(level: part.level, name: part.name)
            let reader = SequentialReader(try FileDescriptor(reading: path))
            return LTXMergeInput(name: path) { try reader.read(into: $0) }
        }
        let summary = try LTXCompactor.compact(inputs) { try file.write($0) }
        try file.setModified(summary.header.timestamp)
        try file.publish()
        for part in files where part.name != name || part.level != base.level {
            try DurableFiles.remove(meta.path(level: part.level, name: part.name))
        }
        return BucketFile(
            level: base.level,
            name: name,
            sizeInBytes: summary.sizeInBytes,
            timestamp: summary.header.timestamp
        )
    }

    /// Deletes what no bucket took; the state says so first.
    ///
    /// From now on nothing is converted until a bucket can be compared with.
    func giveUpBacklog(for bucket: any BucketClient) throws {
        let files = try backlog(for: bucket)
        state.isGivenUp = true
        state.made = ReplicatorState.Made(
            txid: acknowledged(by: bucket)?.txid ?? .zero,
            place: .unknown
        )
        reloadLedger()
        try saveState()
        for file in files {
            try DurableFiles.remove(meta.path(level: file.level, name: file.name))
        }
    }

    /// Refuses to write when the disk is nearly full: the application's commits come first.
    ///
    /// The reserve is 16 MiB, or a twentieth of a small file system.
    ///
    /// - Parameter bytes: What is about to be written, where that is known.
    /// - Throws: `FileError` with `isNoSpace`.
    func requireRoom(for bytes: Int64 = 0) throws(FileError) {
        let space = try DiskSpace.of(meta.path)
        let reserve = min(16 << 20, space.total / 20)
        guard space.available - reserve > max(0, bytes) else {
            throw FileError(.write, meta.path, code: ENOSPC)
        }
    }
}
