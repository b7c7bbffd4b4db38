package import Bucket
import DurableFiles
package import LTXCodec

/// What an ingest put into the bucket.
package struct IngestReport: Sendable, Equatable {
    /// The snapshot `1-{txid}` on level 9.
    package let file: BucketFile
    /// Rolling checksum of the database.
    package let checksum: Checksum
    package var txid: TXID { file.maxTXID }
}

extension Mirror {
    /// Makes an image the base of what follows: a snapshot on level 9, which the mirror then takes
    /// in place, as the difference to what it holds.
    ///
    /// The caller keeps other writers of this bucket out until it returns. What is returned is
    /// durable in the bucket; the mirror follows with the next `advance`, and lags while a reader
    /// is in its way.
    ///
    /// - Parameters:
    ///   - image: What to take.
    ///   - base: The TXID at which it is the database of this lineage, not below the bucket's head;
    ///     `nil` begins a new lineage one above the head.
    ///   - timestamp: When it was that, milliseconds since 1970.
    ///   - checksum: The rolling checksum that its sender has; `.none` checks nothing.
    /// - Returns: What was put into the bucket.
    /// - Throws: `IngestError`, `BucketError`, `FileError`; then nothing has changed.
    package func ingest(
        _ image: IngestImage,
        base: TXID?,
        timestamp: Int64,
        checksum: Checksum = .none
    ) async throws -> IngestReport {
        let head = try await bucket.head()
        if let base {
            guard base >= head, base > .zero else {
                throw IngestError.stale(base: base, head: head)
            }
            let pageSize = status.pageSize
            guard pageSize == 0 || pageSize == image.pageSize else {
                throw IngestError.pageSize(image.pageSize, expected: pageSize)
            }
        }
        let report = try put(
            image,
            at: base ?? head.next,
            timestamp: timestamp,
            expected: checksum
        )
        expectations[report.txid] = report.checksum
        board.announce(report.file)
        return report
    }

    private func put(
        _ image: IngestImage,
        at txid: TXID,
        timestamp: Int64,
        expected: Checksum
    ) throws -> IngestReport {
        let name = LTXFileName(minTXID: TXID(1), maxTXID: txid)
        let path = bucket.path(level: BucketFile.snapshotLevel, name: name)
        try DurableFiles.makeDirectories(Path.parent(of: path))
        let file = try ClaimedFile(path, claim: .wait)
        let header = LTXHeader(
            pageSize: image.pageSize,
            commit: image.commit,
            minTXID: TXID(1),
            maxTXID: txid,
            timestamp: timestamp
        )
        let (size, checksum) = try write(image, header, to: file)
        guard !expected.isPresent || expected == checksum else {
            throw IngestError.checksum(checksum, expected: expected)
        }
        try file.setModified(timestamp)
        try file.sync()
        // Once the file is there the mirror takes it, whether or not its TXID is news.
        try rebaseNote.save(txid)
        // One of the same name is the sink's own, of a mirror that may be wrong.
        try file.publishReplacing()
        let stored = BucketFile(
            level: BucketFile.snapshotLevel,
            name: name,
            sizeInBytes: size,
            timestamp: timestamp
        )
        return IngestReport(file: stored, checksum: checksum)
    }

    private func write(
        _ image: IngestImage,
        _ header: LTXHeader,
        to file: borrowing ClaimedFile
    ) throws -> (sizeInBytes: Int64, checksum: Checksum) {
        let source = try FileDescriptor(reading: image.path)
        let output = SnapshotOutput()
        var encoder = try LTXEncoder(header: header) { output.add($0) }
        var database = DatabaseChecksum()
        let page = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(image.pageSize),
            alignment: 16
        )
        defer { page.deallocate() }
        let lock = lockPgno(pageSize: image.pageSize)
        for pgno in 1...image.commit where pgno != lock {
            let offset = Int64(pgno - 1) * Int64(page.count)
            guard try source.read(at: offset, into: page) == page.count else {
                throw IngestError.truncated("it was cut while it was read")
            }
            try encoder.append(pgno: pgno, page: UnsafeRawBufferPointer(page))
            database.toggle(pgno: pgno, page: UnsafeRawBufferPointer(page))
            if output.isFull { try output.flush(to: file) }
        }
        let summary = try encoder.finish()
        try output.flush(to: file)
        return (summary.sizeInBytes, database.value)
    }
}

/// Gathers what an encoder writes: its closure cannot borrow the file that it goes into.
private final class SnapshotOutput {
    private var bytes: [UInt8] = []
    private var offset: Int64 = 0

    var isFull: Bool { bytes.count >= 256 << 10 }

    func add(_ more: UnsafeRawBufferPointer) {
        bytes += more
    }

    func flush(to file: borrowing ClaimedFile) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: bytes.count,
            alignment: 16
        )
        defer { buffer.deallocate() }
        buffer.copyBytes(from: bytes)
        try file.write(UnsafeRawBufferPointer(buffer), at: offset)
        offset += Int64(bytes.count)
        bytes.removeAll(keepingCapacity: true)
    }
}
