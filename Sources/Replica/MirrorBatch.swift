import Bucket
import LTXCodec

/// Files of a bucket that follow one another, read and checked to their ends, as one change of a
/// mirror.
///
/// Nothing of the mirror is touched before all of it is known to be sound. Pages that the mirror
/// has already are left out. Few pages are kept in memory; of many only the numbers are, and the
/// files are read a second time when the pages are written.
final class MirrorBatch {
    let files: [BucketFile]
    /// Describes all files as one.
    let header: LTXHeader
    /// The mirror's ledger after it.
    let ledger: PageLedger
    /// Pages that differ from the mirror's, ascending, without page 1.
    let changed: [Pgno]
    /// Page 1 of the source, if it is in the files.
    let firstPage: [UInt8]?
    /// Checksum of the last file.
    let fileChecksum: Checksum

    private let readers: [any RandomReader]
    /// The bytes of `changed`, one after the other; `nil` if they are too many.
    private let kept: [UInt8]?

    var isSnapshot: Bool { header.isSnapshot }

    /// The file that ends where it does.
    var last: BucketFile {
        guard let last = files.last else { preconditionFailure("a batch of no files") }
        return last
    }

    /// Reads the files.
    ///
    /// - Parameters:
    ///   - files: In the order of their TXIDs, at least one.
    ///   - bucket: Where they are.
    ///   - current: The mirror's ledger as it is.
    ///   - limit: Bytes of pages to keep in memory at most.
    /// - Returns: The change they make.
    /// - Throws: `MirrorError`, `BucketError`, `CancellationError`.
    nonisolated(nonsending) static func read(
        _ files: [BucketFile],
        of bucket: any BucketClient,
        over current: PageLedger,
        keeping limit: Int = 4 << 20
    ) async throws -> MirrorBatch {
        var readers: [any RandomReader] = []
        for file in files { readers.append(try await bucket.open(file)) }
        return try MirrorBatch(files, readers, over: current, keeping: limit)
    }

    private init(
        _ files: [BucketFile],
        _ readers: [any RandomReader],
        over current: PageLedger,
        keeping limit: Int
    ) throws {
        self.files = files
        self.readers = readers
        let headers = try zip(files, readers).map { try Self.header(of: $0, $1) }
        var merge = try naming(files) { try LTXMerge(inputs(files, readers)) }
        header = merge.header
        guard let file = files.last, let reader = readers.last else {
            preconditionFailure("a batch of no files")
        }
        fileChecksum = try Self.fileChecksum(of: file, reader)

        let isSnapshot = header.isSnapshot
        let (commit, txid) = (header.commit, header.maxTXID)
        let isResized = current.pageSize != header.pageSize
        guard isSnapshot || !isResized || current.commit == 0 else {
            throw MirrorError.pageSize(header.pageSize, mirror: current.pageSize, txid: txid)
        }

        var pages: [(pgno: Pgno, checksum: Checksum)] = []
        var changed: [Pgno] = []
        var firstPage: [UInt8]?
        var kept: [UInt8]? = []
        _ = try naming(files) {
            try merge.forEachPage { pgno, page in
                let checksum = pageChecksum(pgno: pgno, page: page)
                pages.append((pgno, checksum))
                if pgno == 1 {
                    firstPage = [UInt8](page)
                } else if isResized || current[pgno] != checksum {
                    changed.append(pgno)
                    if let count = kept?.count {
                        if count + page.count <= limit { kept? += page } else { kept = nil }
                    }
                }
            }
        }

        // Pages that were cut off on the way and came back have to come back with their bytes.
        let lowest = isSnapshot ? 0 : min(current.commit, headers.map(\.commit).min() ?? 0)
        var ledger = isResized ? PageLedger(pageSize: header.pageSize) : current
        ledger.apply(txid: txid, commit: min(lowest, ledger.commit), pages: [])
        ledger.apply(txid: txid, commit: commit, pages: pages)
        if let hole = ledger.firstUnknown {
            throw MirrorError.hole(hole, commit: commit, txid: txid)
        }
        self.ledger = ledger
        self.changed = changed
        self.firstPage = firstPage
        self.kept = kept
    }

    /// Hands over the pages of `changed`, in their order.
    func forEachChanged(_ body: (Pgno, UnsafeRawBufferPointer) throws -> Void) throws {
        let size = Int(header.pageSize)
        if let kept {
            try kept.withUnsafeBytes { bytes in
                for (index, pgno) in changed.enumerated() {
                    let page = bytes[index * size..<(index + 1) * size]
                    try body(pgno, UnsafeRawBufferPointer(rebasing: page))
                }
            }
            return
        }
        var due = changed[...]
        try naming(files) {
            var merge = try LTXMerge(inputs(files, readers))
            _ = try merge.forEachPage { pgno, page in
                guard pgno == due.first else { return }
                due.removeFirst()
                guard ledger[pgno] == pageChecksum(pgno: pgno, page: page) else {
                    throw MirrorError.damaged(files[0], "page \(pgno) changed while it was read")
                }
                try body(pgno, page)
            }
        }
        guard due.isEmpty else {
            throw MirrorError.damaged(files[0], "page \(due[due.startIndex]) is gone")
        }
    }

    private static func header(
        of file: BucketFile,
        _ reader: any RandomReader
    ) throws -> LTXHeader {
        let bytes = UnsafeMutableRawBufferPointer.allocate(
            byteCount: LTXHeader.size,
            alignment: 16
        )
        defer { bytes.deallocate() }
        let count = try reader.read(at: 0, into: bytes)
        let header: LTXHeader
        do throws(LTXError) {
            header = try LTXHeader(
                decoding: UnsafeRawBufferPointer(rebasing: bytes[..<count])
            )
        } catch {
            throw MirrorError.damaged(file, "\(error)")
        }
        guard header.fileName == file.name else {
            let name = LTXFileName(minTXID: header.minTXID, maxTXID: header.maxTXID)
            throw MirrorError.misnamed(file, header: name)
        }
        return header
    }

    /// The file checksum that a file's trailer says, which is not checked here.
    static func fileChecksum(
        of file: BucketFile,
        _ reader: any RandomReader
    ) throws -> Checksum {
        let offset = reader.sizeInBytes - 8
        guard offset >= Int64(LTXHeader.size) else {
            throw MirrorError.damaged(file, "it ends in its header")
        }
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 8, alignment: 8)
        defer { bytes.deallocate() }
        guard try reader.read(at: offset, into: bytes) == 8 else {
            throw MirrorError.damaged(file, "it was cut while it was read")
        }
        return Checksum(rawValue: UInt64(bigEndian: bytes.load(as: UInt64.self)))
    }
}

private func inputs(_ files: [BucketFile], _ readers: [any RandomReader]) -> [LTXMergeInput] {
    zip(files, readers).map { file, reader in
        var offset: Int64 = 0
        return LTXMergeInput(name: file.description) { buffer in
            try Task.checkCancellation()
            let count = try reader.read(at: offset, into: buffer)
            offset += Int64(count)
            return count
        }
    }
}

/// Says which file a fault of a merge is in; what is no fault of a file goes through.
private func naming<R: ~Copyable>(_ files: [BucketFile], _ body: () throws -> R) throws -> R {
    do {
        return try body()
    } catch LTXMergeError.unreadable(let input, let cause) {
        guard let file = files.first(where: { $0.description == input }), cause is LTXError else {
            throw cause
        }
        throw MirrorError.damaged(file, "\(cause)")
    } catch let error as LTXMergeError {
        guard let file = files.last else { throw error }
        throw MirrorError.damaged(file, "\(error)")
    }
}
