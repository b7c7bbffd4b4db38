/// Which frame of a WAL holds the newest committed version of each page.
///
/// A sorted array of 8 bytes a page. Pages that lie beyond the last commit size are not in it,
/// nor are pages that an earlier commit cut off and that were not written again.
public struct WALPageMap: Hashable, Sendable {
    /// A page and the frame that holds it, both counted from 1.
    public struct Entry: Hashable, Sendable {
        public var pgno: UInt32
        public var frame: UInt32
    }

    /// Page number in the upper half of each word, frame number in the lower; ascending.
    private let words: [UInt64]

    public init() {
        words = []
    }

    init(ascending words: [UInt64]) {
        self.words = words
    }

    public var count: Int { words.count }
    public var isEmpty: Bool { words.isEmpty }

    /// The frame that holds a page; `nil` if the WAL does not.
    public subscript(pgno: UInt32) -> UInt32? {
        let position = lowerBound(of: pgno)
        guard position < words.count, pgno == UInt32(words[position] >> 32) else { return nil }
        return UInt32(truncatingIfNeeded: words[position])
    }

    /// Goes through the pages in ascending order.
    public func forEachAscending<E: Error>(
        _ body: (_ pgno: UInt32, _ frame: UInt32) throws(E) -> Void
    ) throws(E) {
        for word in words {
            try body(UInt32(word >> 32), UInt32(truncatingIfNeeded: word))
        }
    }

    /// The first page that a growing database should have written and did not.
    ///
    /// SQLite writes every page that it adds to a database, so a hole proves that frames were
    /// missed.
    ///
    /// - Parameters:
    ///   - previous: Size of the database in pages before.
    ///   - commit: Size of the database in pages after.
    ///   - lockPage: The page that holds byte 2³⁰, which is never written.
    /// - Returns: A page in `previous + 1 … commit` other than the lock page; `nil` without a hole.
    public func firstHole(
        growingFrom previous: UInt32,
        to commit: UInt32,
        lockPage: UInt32
    ) -> UInt32? {
        guard previous < commit else { return nil }
        var expected = previous + 1
        for word in words[lowerBound(of: expected)...] {
            let pgno = UInt32(word >> 32)
            if pgno == lockPage { continue }
            if expected == lockPage {
                guard expected < commit else { return nil }
                expected += 1
            }
            guard pgno == expected else { return expected }
            guard expected < commit else { return nil }
            expected += 1
        }
        guard expected == lockPage else { return expected }
        return expected < commit ? expected + 1 : nil
    }

    /// This map with what a later part of the log holds laid over it.
    ///
    /// The frames of both must lie in one file, as those of an old generation behind the end of
    /// a new one do.
    ///
    /// - Parameter newer: A scan of everything that was committed after this map's frames.
    /// - Returns: The newest frame of each page. Pages that a commit of the later part cut off
    ///   are there only if that part wrote them again.
    public func overlaid(with newer: WALScan) -> WALPageMap {
        let kept = words.prefix { $0 >> 32 <= newer.smallestCommit ?? .max }
        var merged: [UInt64] = []
        merged.reserveCapacity(kept.count + newer.pages.count)
        var (mine, theirs) = (kept[...], newer.pages.words[...])
        while let own = mine.first {
            if let other = theirs.first, other >> 32 <= own >> 32 {
                if other >> 32 == own >> 32 { mine.removeFirst() }
                merged.append(other)
                theirs.removeFirst()
            } else {
                merged.append(own)
                mine.removeFirst()
            }
        }
        merged.append(contentsOf: theirs)
        return WALPageMap(ascending: merged)
    }

    /// The first position whose page is not below the given one.
    private func lowerBound(of pgno: UInt32) -> Int {
        var (low, high) = (0, words.count)
        while low < high {
            let middle = low + (high - low) / 2
            if UInt32(words[middle] >> 32) < pgno { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension WALPageMap: Sequence {
    /// Gives the entries in ascending order of their pages.
    public struct Iterator: IteratorProtocol {
        private var words: Array<UInt64>.Iterator

        init(_ words: [UInt64]) {
            self.words = words.makeIterator()
        }

        public mutating func next() -> Entry? {
            words.next().map {
                Entry(pgno: UInt32($0 >> 32), frame: UInt32(truncatingIfNeeded: $0))
            }
        }
    }

    public func makeIterator() -> Iterator { Iterator(words) }
    public var underestimatedCount: Int { words.count }
}
