/// Which pages may stand in a file, and in what order.
///
/// Page numbers rise and stay within the database; the lock page is left out; a snapshot has
/// every other page.
struct PageOrder {
    private let lock: Pgno
    private let commit: UInt32
    private let isSnapshot: Bool
    private var previous: Pgno = 0

    init(_ header: LTXHeader) {
        lock = lockPgno(pageSize: header.pageSize)
        commit = header.commit
        isSnapshot = header.isSnapshot
    }

    /// Takes the next page, whose frame starts at `offset`; `pgno` is not 0.
    mutating func admit(_ pgno: Pgno, at offset: Int64) throws(LTXError) {
        guard pgno != lock else { throw .lockPage(pgno, offset: offset) }
        guard pgno > previous else { throw .pageOrder(pgno, after: previous, offset: offset) }
        guard pgno <= commit else {
            throw .pageBeyondCommit(pgno, commit: commit, offset: offset)
        }
        if isSnapshot, pgno != due {
            throw .missingPage(due, found: pgno, offset: offset)
        }
        previous = pgno
    }

    /// Checks that nothing is missing where the pages end.
    func finish(at offset: Int64) throws(LTXError) {
        let last = commit == lock ? commit - 1 : commit
        if isSnapshot, previous != last {
            throw .missingPage(due, found: nil, offset: offset)
        }
    }

    /// The page after the previous one, which is not the last.
    private var due: Pgno {
        previous + 1 == lock ? previous + 2 : previous + 1
    }
}
