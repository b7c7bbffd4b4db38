import LTXCodec

/// A set of pages of a database, one bit each.
struct PageSet {
    private var words: [UInt64]
    private let commit: UInt32
    private(set) var count = 0

    /// An empty set of the pages 1 to `commit`.
    init(upTo commit: UInt32) {
        self.commit = commit
        words = [UInt64](repeating: 0, count: (Int(commit) + 63) / 64)
    }

    /// Adds a page.
    ///
    /// - Precondition: `pgno` is from 1 to the commit size.
    /// - Returns: Whether it was not in yet.
    mutating func insert(_ pgno: Pgno) -> Bool {
        let (word, bit) = (Int(pgno - 1) / 64, UInt64(1) << ((pgno - 1) % 64))
        guard words[word] & bit == 0 else { return false }
        words[word] |= bit
        count += 1
        return true
    }

    /// The lowest page that is not in the set, `except` apart.
    func firstMissing(except: Pgno) -> Pgno? {
        for (index, word) in words.enumerated() where word != .max {
            var missing = ~word
            while missing != 0 {
                let pgno = UInt64(index) * 64 + UInt64(missing.trailingZeroBitCount) + 1
                guard pgno <= commit else { return nil }
                if pgno != except { return Pgno(pgno) }
                missing &= missing - 1
            }
        }
        return nil
    }

    /// The lowest pages of the set.
    func first(_ limit: Int) -> [Pgno] {
        var pages: [Pgno] = []
        for (index, word) in words.enumerated() where word != 0 {
            var rest = word
            while rest != 0 {
                guard pages.count < limit else { return pages }
                pages.append(Pgno(index * 64 + rest.trailingZeroBitCount + 1))
                rest &= rest - 1
            }
        }
        return pages
    }
}
