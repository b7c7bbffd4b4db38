import DurableFiles

/// A file that is in memory.
struct MemoryReader: RandomReader {
    let bytes: [UInt8]

    var sizeInBytes: Int64 { Int64(bytes.count) }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        precondition(offset >= 0, "read before the start of a file")
        guard offset < sizeInBytes else { return 0 }
        let start = Int(offset)
        let count = min(buffer.count, bytes.count - start)
        buffer.copyBytes(from: bytes[start..<(start + count)])
        return count
    }
}

/// A file that is whole in a spool.
struct SpoolReader: RandomReader {
    let file: NamelessFile
    let sizeInBytes: Int64

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        precondition(offset >= 0, "read before the start of a file")
        do throws(FileError) {
            return try file.read(at: offset, into: buffer)
        } catch {
            throw BucketError(error)
        }
    }
}
