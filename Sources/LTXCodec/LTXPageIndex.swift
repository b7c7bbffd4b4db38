/// Where each page of a file stands, by page number.
///
/// Takes 12 bytes a page.
public struct LTXPageIndex: Sendable {
    /// One page frame.
    public struct Entry: Hashable, Sendable {
        public var pgno: Pgno
        /// Where the page header starts, in bytes from the start of the file.
        public var offset: Int64
        /// Bytes of the whole frame, page header included.
        public var size: Int64

        public init(pgno: Pgno, offset: Int64, size: Int64) {
            self.pgno = pgno
            self.offset = offset
            self.size = size
        }
    }

    private var pgnos: [Pgno] = []
    private var offsets: [Int64] = []
    private var end = Int64(LTXHeader.size)

    init() {}

    /// Adds the frame that follows the last one; the caller has checked that it does.
    mutating func append(_ pgno: Pgno, size: Int64) {
        pgnos.append(pgno)
        offsets.append(end)
        end += size
    }

    /// Where the frames end and the end marker stands.
    var endOffset: Int64 {
        end
    }

    /// Finds a page; `nil` if the file does not carry it.
    public func lookup(_ pgno: Pgno) -> Entry? {
        var low = 0
        var high = pgnos.count
        while low < high {
            let middle = (low + high) / 2
            if pgnos[middle] < pgno {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low < pgnos.count && pgnos[low] == pgno ? self[low] : nil
    }
}

extension LTXPageIndex: RandomAccessCollection {
    public var startIndex: Int {
        0
    }

    public var endIndex: Int {
        pgnos.count
    }

    /// The entries in page order.
    public subscript(position: Int) -> Entry {
        let next = position + 1 < offsets.count ? offsets[position + 1] : end
        return Entry(
            pgno: pgnos[position],
            offset: offsets[position],
            size: next - offsets[position]
        )
    }
}
