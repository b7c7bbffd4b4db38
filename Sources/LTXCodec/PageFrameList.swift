/// The page frames of a file in order: page number, offset and size of each.
///
/// Kept as the steps between page numbers and the sizes, three or four bytes a page, because
/// frames follow each other without a gap.
struct PageFrameList {
    private var bytes: [UInt8] = []
    private var lastPgno: Pgno = 0
    private(set) var count = 0

    /// Adds the next frame; page numbers rise, sizes are positive.
    mutating func append(_ pgno: Pgno, size: Int) {
        withUnsafeTemporaryAllocation(byteCount: 2 * Varint.maxSize, alignment: 1) { scratch in
            guard let base = scratch.baseAddress else { return }
            let step = Varint.encode(UInt64(pgno - lastPgno), to: base)
            let length = step + Varint.encode(UInt64(size), to: base + step)
            bytes.append(contentsOf: UnsafeRawBufferPointer(start: base, count: length))
        }
        lastPgno = pgno
        count += 1
    }

    /// Reads the list from its start.
    struct Cursor {
        private let list: PageFrameList
        private var place = 0
        private var pgno: Pgno = 0
        private var offset = Int64(LTXHeader.size)

        init(_ list: PageFrameList) {
            self.list = list
        }

        mutating func next() -> LTXPageIndex.Entry? {
            guard place < list.bytes.count else { return nil }
            pgno += Pgno(truncatingIfNeeded: number())
            let size = Int64(truncatingIfNeeded: number())
            defer { offset += size }
            return LTXPageIndex.Entry(pgno: pgno, offset: offset, size: size)
        }

        private mutating func number() -> UInt64 {
            list.bytes.withUnsafeBytes { bytes in
                guard case .value(let value, let size) = Varint.decode(bytes, at: place) else {
                    preconditionFailure("the list holds what append wrote")
                }
                place += size
                return value
            }
        }
    }
}
