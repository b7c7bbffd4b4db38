extension WALPageMap {
    /// Gathers the page map of consecutive transactions.
    ///
    /// A page counts if no commit at or after its frame was smaller than its number. Instead of
    /// going through all pages at each commit that shrinks the database, the builder keeps the
    /// minima that matter: of the commits so far, those that no later one undercuts.
    struct Builder {
        private struct Minimum {
            var lastFrame: UInt32
            var commit: UInt32
        }

        private var frames: [UInt32: UInt32] = [:]

        /// Ascending in both fields; no longer than the number of pages the database grew by.
        private var minima: [Minimum] = []

        /// Takes in one committed transaction.
        ///
        /// - Parameters:
        ///   - pages: Page numbers in frame order.
        ///   - firstFrame: The frame of the first of them.
        ///   - commit: Size of the database in pages afterwards.
        mutating func commit(pages: [UInt32], firstFrame: UInt32, commit: UInt32) {
            var frame = firstFrame
            for pgno in pages {
                frames[pgno] = frame
                frame += 1
            }
            while let last = minima.last, last.commit >= commit { minima.removeLast() }
            minima.append(Minimum(lastFrame: frame - 1, commit: commit))
        }

        /// The smallest database size, in pages, of all commits; `nil` without one.
        var smallestCommit: UInt32? { minima.first?.commit }

        consuming func finish() -> WALPageMap {
            var words: [UInt64] = []
            words.reserveCapacity(frames.count)
            for (pgno, frame) in frames where pgno <= smallestCommit(since: frame) {
                words.append(UInt64(pgno) << 32 | UInt64(frame))
            }
            frames = [:]
            words.sort()
            return WALPageMap(ascending: words)
        }

        /// The smallest database size, in pages, of all commits at or behind a frame.
        private func smallestCommit(since frame: UInt32) -> UInt32 {
            var (low, high) = (0, minima.count)
            while low < high {
                let middle = low + (high - low) / 2
                if minima[middle].lastFrame < frame { low = middle + 1 } else { high = middle }
            }
            return low < minima.count ? minima[low].commit : 0
        }
    }
}
