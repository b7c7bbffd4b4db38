/// A window on a file that is read front to back in large pieces.
struct InputBuffer: ~Copyable {
    private var storage: RawBytes
    private var start = 0
    private var end = 0
    private var reachedEnd = false

    /// Offset in the file of the first byte that is not consumed.
    private(set) var position: Int64 = 0
    /// Offset in the file that is never read beyond.
    private var limit = Int64.max

    /// Reads at an offset, which for a stream is always where the last read ended; 0 is the end.
    private let read: (Int64, UnsafeMutableRawBufferPointer) throws -> Int

    init(
        capacity: Int,
        read: @escaping (Int64, UnsafeMutableRawBufferPointer) throws -> Int
    ) {
        storage = RawBytes(count: capacity)
        self.read = read
    }

    /// The bytes at hand, valid until the buffer changes.
    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: storage.base + start, count: end - start)
    }

    /// Offset of the end of the file, once a `require` has failed.
    var endOffset: Int64 {
        position + Int64(end - start)
    }

    /// Gets `count` bytes to hand, if the file has that many; `count` is not above the capacity.
    @inline(__always)
    mutating func require(_ count: Int) throws -> Bool {
        if end - start >= count { return true }
        return try fill(count)
    }

    @inline(never)
    private mutating func fill(_ count: Int) throws -> Bool {
        precondition(count <= storage.count, "more bytes asked for than the buffer takes")
        if start > 0 {
            storage.base.copyMemory(from: storage.base + start, byteCount: end - start)
            end -= start
            start = 0
        }
        while end < count, !reachedEnd {
            let offset = position + Int64(end)
            let room = Int(min(Int64(storage.count - end), limit - offset))
            guard room > 0 else { return false }
            let free = UnsafeMutableRawBufferPointer(start: storage.base + end, count: room)
            let got = try read(offset, free)
            precondition(got >= 0 && got <= room, "the source read more than it was asked for")
            reachedEnd = got == 0
            end += got
        }
        return end >= count
    }

    /// Steps over bytes at hand.
    @inline(__always)
    mutating func consume(_ count: Int) {
        start += count
        position += Int64(count)
    }

    /// Makes room for more bytes at once.
    mutating func reserve(_ capacity: Int) {
        guard capacity > storage.count else { return }
        let larger = RawBytes(count: capacity)
        larger.base.copyMemory(from: storage.base + start, byteCount: end - start)
        end -= start
        start = 0
        storage = larger
    }

    /// Goes to another place of a file with random access.
    mutating func seek(to offset: Int64, limit: Int64) {
        start = 0
        end = 0
        position = offset
        self.limit = limit
        reachedEnd = false
    }
}
