import Bucket
package import DurableFiles
package import LTXCodec

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A whole state in a file beside a mirror that is not there yet, and all that is known of it.
///
/// The file goes away with its owner unless the mirror has taken it.
package final class MirrorImage: Sendable {
    let staged: StagedFile
    let header: LTXHeader
    let ledger: PageLedger
    let firstPage: [UInt8]
    /// The file of the bucket that it was made of; its size and time are of no interest.
    let file: BucketFile
    let fileChecksum: Checksum

    fileprivate init(
        _ staged: StagedFile,
        header: LTXHeader,
        ledger: PageLedger,
        firstPage: [UInt8],
        file: BucketFile,
        fileChecksum: Checksum
    ) {
        self.staged = staged
        self.header = header
        self.ledger = ledger
        self.firstPage = firstPage
        self.file = file
        self.fileChecksum = fileChecksum
    }
}

/// A file that nobody knows yet.
final class StagedFile: Sendable {
    let path: String
    private let opened: Lock<Opened?>

    private final class Opened: Sendable {
        let file: FileDescriptor

        init(_ path: String) throws(FileError) {
            file = try FileDescriptor(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
        }
    }

    init(_ path: String) throws(FileError) {
        try FaultPoint.pass(.open, path)
        opened = Lock(try Opened(path))
        self.path = path
    }

    deinit {
        unlink(path)
    }

    func use(_ body: (borrowing FileDescriptor) throws(FileError) -> Void) throws(FileError) {
        guard let opened = opened.withLock({ $0 }) else {
            throw FileError(.write, path, code: EBADF)
        }
        try body(opened.file)
    }

    /// Closes it, before SQLite can have it open: a descriptor that is closed later would drop the
    /// locks that SQLite holds on it in this process.
    func close() {
        opened.withLock { $0 = nil }
    }
}

/// Makes the file of a mirror from the pages of a snapshot, as they come.
package final class MirrorImageWriter {
    private let staged: StagedFile
    private let header: LTXHeader
    private var checksums: [UInt64] = []
    private var firstPage: [UInt8] = []
    private let buffer: UnsafeMutableRawBufferPointer
    private var used = 0
    private var offset: Int64 = 0
    private var unstarted: Int64 = 0

    /// A multiple of every page size.
    private static let bufferSize = 1 << 20
    /// Bytes after which the disk begins to write, so that less is left for the sync at the end.
    private static let writebackInterval: Int64 = 8 << 20

    /// Starts an empty file.
    ///
    /// - Parameters:
    ///   - path: Where it is made, on the mirror's file system; nothing may be there.
    ///   - header: Of a snapshot.
    /// - Throws: `FileError`.
    package init(_ path: String, header: LTXHeader) throws(FileError) {
        precondition(header.isSnapshot && header.commit > 0, "not a state of a database")
        staged = try StagedFile(path)
        self.header = header
        buffer = .allocate(byteCount: Self.bufferSize, alignment: 4096)
    }

    deinit {
        buffer.deallocate()
    }

    /// Adds the next page; in a snapshot none but the lock page is missing.
    package func add(_ pgno: Pgno, _ page: UnsafeRawBufferPointer) throws(FileError) {
        if pgno == 1 { firstPage = [UInt8](page) }
        while checksums.count < Int(pgno) - 1 {
            checksums.append(0)
            try flush()
            offset += Int64(page.count)
        }
        checksums.append(pageChecksum(pgno: pgno, page: page).rawValue)
        if used + page.count > buffer.count { try flush() }
        UnsafeMutableRawBufferPointer(rebasing: buffer[used..<used + page.count])
            .copyMemory(from: page)
        used += page.count
    }

    /// Makes the file durable.
    ///
    /// - Parameters:
    ///   - level: Of the file that it was made of, which was found sound.
    ///   - name: Its name.
    ///   - fileChecksum: What its trailer says.
    /// - Returns: The state; nothing can be added any more.
    /// - Throws: `FileError`.
    package func finish(
        level: Int,
        name: LTXFileName,
        fileChecksum: Checksum
    ) throws(FileError) -> MirrorImage {
        try flush()
        while checksums.count < Int(header.commit) { checksums.append(0) }
        let size = Int64(header.commit) * Int64(header.pageSize)
        try staged.use { file throws(FileError) in
            try file.truncate(to: size)
            try file.sync()
        }
        return MirrorImage(
            staged,
            header: header,
            ledger: PageLedger(
                pageSize: header.pageSize,
                txid: header.maxTXID,
                checksums: checksums
            ),
            firstPage: firstPage,
            file: BucketFile(
                level: level,
                name: name,
                sizeInBytes: 0,
                timestamp: header.timestamp
            ),
            fileChecksum: fileChecksum
        )
    }

    private func flush() throws(FileError) {
        guard used > 0 else { return }
        unstarted += Int64(used)
        let isDue = unstarted >= Self.writebackInterval
        if isDue { unstarted = 0 }
        try staged.use { file throws(FileError) in
            try file.write(UnsafeRawBufferPointer(rebasing: buffer[..<used]), at: offset)
            if isDue { file.startWriteback() }
        }
        offset += Int64(used)
        used = 0
    }
}
