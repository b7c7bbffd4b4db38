import DurableFiles
import LTXCodec
import SQLiteBridge
import SQLiteWAL

/// The pages of the source database at one moment, under a read transaction of ours.
struct SourcePages {
    let custody: WALCustody
    let view: WALCustody.View
    /// Size of the database in pages.
    let commit: UInt32
    /// Pages whose newest content is in the WAL.
    let map: WALPageMap
    /// Behind the last frame; `nil` when there is no generation.
    let end: WALCursor?

    private static let chunkSize = 1 << 20

    private var pageSize: Int { Int(custody.pageSize) }

    /// Visits every page but the lock page in ascending order.
    ///
    /// Memory: one chunk of 1 MiB.
    func forEach(_ body: (Pgno, UnsafeRawBufferPointer) throws -> Void) throws {
        let chunk = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Self.chunkSize,
            alignment: 4096
        )
        defer { chunk.deallocate() }
        let pagesPerChunk = UInt32(Self.chunkSize / pageSize)
        let lock = lockPgno(pageSize: custody.pageSize)
        var frames = map.makeIterator()
        var nextFrame = frames.next()
        var first: Pgno = 1
        while first <= commit {
            let count = min(pagesPerChunk, commit - first + 1)
            let wanted = UnsafeMutableRawBufferPointer(
                rebasing: chunk[..<(Int(count) * pageSize)]
            )
            let filled = try custody.files.readDatabase(
                at: Int64(first - 1) * Int64(pageSize),
                into: wanted
            )
            for pgno in first..<first + count {
                let start = Int(pgno - first) * pageSize
                let page = UnsafeMutableRawBufferPointer(
                    rebasing: wanted[start..<start + pageSize]
                )
                if let frame = nextFrame, frame.pgno == pgno {
                    try custody.wal.readPage(
                        frame: frame.frame,
                        pageSize: custody.pageSize,
                        into: page
                    )
                    nextFrame = frames.next()
                } else if pgno == lock {
                    continue
                } else if start + pageSize > filled {
                    throw DatabaseFault.missingPage(path: custody.files.path, pgno: pgno)
                }
                if pgno != lock { try body(pgno, UnsafeRawBufferPointer(page)) }
            }
            first += count
        }
    }

    /// Visits the given pages, ascending, lock page apart.
    func forEach(
        of pages: [Pgno],
        _ body: (Pgno, UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let page = UnsafeMutableRawBufferPointer.allocate(byteCount: pageSize, alignment: 4096)
        defer { page.deallocate() }
        for pgno in pages {
            try read(pgno, into: page)
            try body(pgno, UnsafeRawBufferPointer(page))
        }
    }

    /// Reads one page.
    func read(_ pgno: Pgno, into page: UnsafeMutableRawBufferPointer) throws {
        if let frame = map[pgno] {
            return try custody.wal.readPage(frame: frame, pageSize: custody.pageSize, into: page)
        }
        let count = try custody.files.readDatabase(
            at: Int64(pgno - 1) * Int64(pageSize),
            into: page
        )
        guard count == pageSize else {
            throw DatabaseFault.missingPage(path: custody.files.path, pgno: pgno)
        }
    }

    /// Whether nothing that was read can have been overwritten meanwhile.
    func isStillValid() throws -> Bool {
        try map.isEmpty || custody.isUnchanged(since: view)
    }
}
