/// An input of a merge, and the page it stands at.
final class LTXMergeSource {
    let name: String
    let header: LTXHeader
    /// Pages above it do not outlast the later inputs.
    var limit = UInt32.max
    /// There once the input has been read to its end.
    private(set) var trailer: LTXTrailer?

    private var decoder: LTXDecoder
    private let page: RawBytes

    /// All inputs of a merge together buffer about this many bytes, if their pages allow it.
    private static let sharedBufferSize = 4 << 20

    init(_ input: LTXMergeInput, sharedBy count: Int) throws {
        let share = LTXMergeSource.sharedBufferSize / count
        let decoder = try naming(input.name) {
            try LTXDecoder(bufferSize: min(max(share, 16 << 10), 256 << 10), read: input.read)
        }
        name = input.name
        header = decoder.header
        page = RawBytes(count: Int(decoder.header.pageSize))
        self.decoder = decoder
    }

    /// Goes to the next page; `nil` once the input has been read and checked to its end.
    func advance() throws -> Pgno? {
        try naming(name) {
            let buffer = UnsafeMutableRawBufferPointer(start: page.base, count: page.count)
            if let pgno = try decoder.nextPage(into: buffer) { return pgno }
            trailer = try decoder.finish()
            return nil
        }
    }

    func withPage(_ body: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        try body(UnsafeRawBufferPointer(start: page.base, count: page.count))
    }
}

/// Tells which input an error is about; being cancelled is not about an input.
private func naming<R: ~Copyable>(_ input: String, _ body: () throws -> R) throws -> R {
    do {
        return try body()
    } catch let error as CancellationError {
        throw error
    } catch {
        throw LTXMergeError.unreadable(input: input, cause: error)
    }
}

/// The pages that the inputs of a merge stand at: lowest number first, newest input first.
struct LTXMergeQueue {
    // A binary heap of page number and inverted rank in one number.
    private var heap: [UInt64] = []

    mutating func push(_ pgno: Pgno, rank: Int) {
        heap.append(UInt64(pgno) << 32 | UInt64(UInt32.max - UInt32(rank)))
        var child = heap.count - 1
        while child > 0, heap[child] < heap[(child - 1) / 2] {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func pop() -> (pgno: Pgno, rank: Int)? {
        guard let top = heap.first else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        let rank = UInt32.max - UInt32(truncatingIfNeeded: top)
        return (Pgno(top >> 32), Int(rank))
    }

    private mutating func sink() {
        var parent = 0
        while true {
            var least = parent
            for child in 2 * parent + 1...2 * parent + 2
            where child < heap.count && heap[child] < heap[least] {
                least = child
            }
            guard least != parent else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
