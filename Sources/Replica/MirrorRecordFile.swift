import DurableFiles

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Two records of a mirror in one file: what it is, and what it is about to become.
///
/// Each stands in a block of its own, so that writing one cannot damage the other. An apply
/// writes the record of the state it is going to make over the one of the past, durably, before
/// the first page changes; which of them is true is then a matter of the mirror's own page 1
/// (`MirrorRecord.stamp`), never of whether a note could still be written afterwards.
struct MirrorRecordFile {
    let path: String

    private static let blockSize = 4096

    /// The records that are there, the younger one first.
    func load() throws(FileError) -> [MirrorRecord] {
        guard let bytes = try DurableFiles.read(path, limit: 2 * Self.blockSize) else { return [] }
        return slots(bytes).compactMap { $0 }.sorted { $0.sequence > $1.sequence }
    }

    /// Writes a record, durably, over the one that is not true of the mirror.
    ///
    /// - Parameters:
    ///   - record: Becomes the younger one.
    ///   - current: What is true now, which stays; `nil` if nothing is known to be.
    /// - Throws: `FileError`.
    func save(_ record: MirrorRecord, keeping current: MirrorRecord?) throws(FileError) {
        guard let bytes = try DurableFiles.read(path, limit: 2 * Self.blockSize) else {
            return try create(record)
        }
        let slots = slots(bytes)
        let slot: Int
        if let kept = slots.firstIndex(where: { $0 != nil && $0 == current }) {
            slot = 1 - kept
        } else {
            slot = (slots[0]?.sequence ?? 0) <= (slots[1]?.sequence ?? 0) ? 0 : 1
        }
        let file = try FileDescriptor(path, O_RDWR)
        try write(record.encoded, to: file, at: Int64(slot * Self.blockSize))
        try file.sync()
    }

    private func create(_ record: MirrorRecord) throws(FileError) {
        let file = try DurableFile(path)
        var bytes = record.encoded
        bytes += [UInt8](repeating: 0, count: 2 * Self.blockSize - bytes.count)
        let outcome: Result<Void, FileError> = bytes.withUnsafeBytes { buffer in
            do throws(FileError) { return .success(try file.write(buffer)) } catch {
                return .failure(error)
            }
        }
        try outcome.get()
        try file.publish()
    }

    private func write(
        _ bytes: [UInt8],
        to file: borrowing FileDescriptor,
        at offset: Int64
    ) throws(FileError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
        defer { buffer.deallocate() }
        buffer.copyBytes(from: bytes)
        try file.write(UnsafeRawBufferPointer(buffer), at: offset)
    }

    private func slots(_ bytes: [UInt8]) -> [MirrorRecord?] {
        [0, Self.blockSize].map { start in
            guard bytes.count >= start + MirrorRecord.size else { return nil }
            return MirrorRecord(bytes[start..<start + MirrorRecord.size])
        }
    }
}
