import DurableFiles
import LTXCodec

/// A SQLite rollback journal: the pages of a database as they were, for whoever comes after a kill.
///
/// Stock SQLite plays it back. The format is section 3 of the SQLite file format ("The Rollback
/// Journal"): a header of 28 bytes padded to a sector, then a record a page of page number, page
/// and checksum, all numbers big-endian. The file starts empty and nobody touches the database
/// before all of it is on the disk, so the count of records can stand in the header from the
/// start: what a power cut leaves of it restores pages that never changed.
final class RollbackJournal {
    private static let magic: UInt64 = 0xD9D5_05F9_20A1_63D7
    private static let sectorSize = 512
    private static let bufferSize = 1 << 20

    private let file: FileDescriptor
    private let path: String
    private let pageSize: Int
    private let nonce: UInt32
    private let buffer: UnsafeMutableRawBufferPointer
    private var used = 0
    private var offset: Int64 = 0
    private var recordsLeft: UInt32

    /// Starts a journal in an empty file.
    ///
    /// - Parameters:
    ///   - mirror: The database, reserved.
    ///   - pageSize: Bytes a page of the database as it is.
    ///   - commit: Its size in pages, to which a rollback cuts or extends it.
    ///   - records: How many pages will be added.
    /// - Throws: `FileError`.
    init(
        of mirror: MirrorFile,
        pageSize: UInt32,
        commit: UInt32,
        records: UInt32
    ) throws(FileError) {
        path = mirror.journalPath
        file = try FileDescriptor(creating: path, mode: mirror.status().permissions)
        self.pageSize = Int(pageSize)
        nonce = UInt32.random(in: .min ... .max)
        recordsLeft = records
        buffer = .allocate(byteCount: Self.bufferSize, alignment: 16)
        buffer.initializeMemory(as: UInt8.self, repeating: 0)
        put(UInt32(truncatingIfNeeded: Self.magic >> 32))
        put(UInt32(truncatingIfNeeded: Self.magic))
        put(records)
        put(nonce)
        put(commit)
        put(UInt32(Self.sectorSize))
        put(pageSize)
        used = Self.sectorSize
    }

    deinit {
        buffer.deallocate()
    }

    /// Adds a page as it is; `read` fills a buffer of one page.
    ///
    /// - Throws: What `read` throws; `FileError`.
    func add(_ pgno: Pgno, read: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
        precondition(recordsLeft > 0, "more records than the header says")
        recordsLeft -= 1
        if buffer.count - used < pageSize + 8 { try flush() }
        put(pgno)
        let page = UnsafeMutableRawBufferPointer(rebasing: buffer[used..<used + pageSize])
        try read(page)
        used += pageSize
        put(checksum(UnsafeRawBufferPointer(page)))
    }

    /// Makes all of it durable, its name too.
    func finish() throws(FileError) {
        precondition(recordsLeft == 0, "fewer records than the header says")
        try flush()
        try file.sync()
        try DurableFiles.syncDirectory(of: path)
    }

    private func flush() throws(FileError) {
        guard used > 0 else { return }
        try file.write(UnsafeRawBufferPointer(rebasing: buffer[..<used]), at: offset)
        offset += Int64(used)
        used = 0
    }

    private func put(_ number: UInt32) {
        buffer.storeBytes(of: number.bigEndian, toByteOffset: used, as: UInt32.self)
        used += 4
    }

    /// The nonce and every 200th byte from the end on (`pager_cksum`, pager.c).
    private func checksum(_ page: UnsafeRawBufferPointer) -> UInt32 {
        var sum = nonce
        var index = page.count - 200
        while index > 0 {
            sum &+= UInt32(page[index])
            index -= 200
        }
        return sum
    }
}
