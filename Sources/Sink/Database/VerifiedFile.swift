package import LTXCodec

/// What the sink knows of an LTX file that it has read from front to end.
package struct VerifiedFile: Hashable, Sendable {
    package var header: LTXHeader
    /// The lowest page from which on the file holds every page up to its commit, the lock page
    /// apart; the highest number when the last page is not in it.
    package var denseFrom: Pgno
    /// The checksum in its trailer.
    package var fileChecksum: Checksum

    package init(header: LTXHeader, denseFrom: Pgno, fileChecksum: Checksum = .none) {
        self.header = header
        self.denseFrom = denseFrom
        self.fileChecksum = fileChecksum
    }

    /// Reads a file whole and checks everything that can be checked without its neighbours.
    ///
    /// - Parameters:
    ///   - read: Fills a buffer from an offset on; 0 is the end of the file.
    ///   - began: Is given the header before the first page.
    ///   - take: Is given each page.
    /// - Throws: `LTXError`; whatever the functions throw.
    package init(
        read: @escaping (Int64, UnsafeMutableRawBufferPointer) throws -> Int,
        began: (LTXHeader) throws -> Void = { _ in },
        page take: (Pgno, UnsafeRawBufferPointer) throws -> Void = { _, _ in }
    ) throws {
        var offset: Int64 = 0
        var decoder = try LTXDecoder { buffer in
            let count = try read(offset, buffer)
            offset += Int64(count)
            return count
        }
        let header = decoder.header
        try began(header)
        let lock = lockPgno(pageSize: header.pageSize)
        let page = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(header.pageSize),
            alignment: 16
        )
        defer { page.deallocate() }
        var runStart: Pgno = 1
        var last: Pgno = 0
        while let pgno = try decoder.nextPage(into: page) {
            let due = last &+ 1 == lock ? last &+ 2 : last &+ 1
            if pgno != due { runStart = pgno }
            last = pgno
            try take(pgno, UnsafeRawBufferPointer(page))
        }
        let trailer = try decoder.finish()
        let end = header.commit == lock ? header.commit - 1 : header.commit
        self.init(
            header: header,
            denseFrom: last == end ? runStart : .max,
            fileChecksum: trailer.fileChecksum
        )
    }

    /// What a file is that cannot follow a state; `nil` for one that can.
    ///
    /// - Parameter previous: Page size and commit of the state before it; `nil` when nothing is
    ///   before it.
    /// - Returns: A line for its writer.
    package func refusal(after previous: (pageSize: UInt32, commit: UInt32)?) -> String? {
        guard !header.isSnapshot, let previous else { return nil }
        guard header.pageSize == previous.pageSize else {
            return
                "a delta of \(header.pageSize)-byte pages after \(previous.pageSize)-byte pages: "
                + "push a snapshot"
        }
        guard header.commit > previous.commit else { return nil }
        let lock = lockPgno(pageSize: header.pageSize)
        // No overflow: the new commit is larger.
        let due = previous.commit + 1 == lock ? previous.commit &+ 2 : previous.commit + 1
        guard header.commit >= due, denseFrom > due else { return nil }
        return "the database grows from \(previous.commit) to \(header.commit) pages, "
            + "but not every new page is in the file: frames were missed, rescan"
    }
}
