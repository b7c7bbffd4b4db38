public import Bucket
import DurableFiles
import Glibc
import LTXCodec

/// What would have been enough to ship: page frames that the bucket did not hold already.
public enum Ideal {
    /// Adds up the frames of a bucket's files whose page is another than the one before it.
    ///
    /// The frames count as they are stored, compressed; headers, indexes and what was sent twice
    /// do not. The first file of a bucket counts whole.
    ///
    /// - Throws: `BucketError`, `FileError`, `LTXError`.
    nonisolated(nonsending) public static func bytes(of bucket: DirectoryBucket) async throws
        -> Int64
    {
        let files = try await bucket.listAll().sorted {
            ($0.maxTXID, $0.minTXID) < ($1.maxTXID, $1.minTXID)
        }
        var held: [Pgno: Checksum] = [:]
        var total: Int64 = 0
        for file in files {
            let path = bucket.path(level: file.level, name: file.name)
            let descriptor = try FileDescriptor(reading: path)
            total += try bytes(in: descriptor, size: file.sizeInBytes, held: &held)
        }
        return total
    }

    private static func bytes(
        in file: borrowing FileDescriptor,
        size: Int64,
        held: inout [Pgno: Checksum]
    ) throws -> Int64 {
        let raw = file.raw
        let path = file.path
        var reader = try LTXPageReader(size: size) { offset, buffer in
            let count = pread(raw, buffer.baseAddress, buffer.count, off_t(offset))
            guard count >= 0 else { throw FileError(.read, path, code: errno) }
            return count
        }
        let page = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(reader.header.pageSize),
            alignment: 16
        )
        defer { page.deallocate() }
        var total: Int64 = 0
        for entry in reader.index {
            guard try reader.readPage(entry.pgno, into: page) else { continue }
            let checksum = pageChecksum(pgno: entry.pgno, page: UnsafeRawBufferPointer(page))
            if held.updateValue(checksum, forKey: entry.pgno) != checksum { total += entry.size }
        }
        return total
    }
}
