import LTXCodec

/// Writes pages into a mirror, neighbours in one go.
final class MirrorWriter {
    private let file: MirrorFile
    private let pageSize: Int
    private let buffer: UnsafeMutableRawBufferPointer
    private var first: Pgno = 0
    private var count = 0

    /// A multiple of every page size.
    private static let bufferSize = 1 << 20

    /// Writes into a file that is locked exclusively.
    init(_ file: MirrorFile, pageSize: UInt32) {
        self.file = file
        self.pageSize = Int(pageSize)
        buffer = .allocate(byteCount: Self.bufferSize, alignment: 4096)
    }

    deinit {
        buffer.deallocate()
    }

    func write(_ pgno: Pgno, _ page: UnsafeRawBufferPointer) throws {
        if count > 0, pgno != first + UInt32(count) || (count + 1) * pageSize > buffer.count {
            try flush()
        }
        if count == 0 { first = pgno }
        let slot = UnsafeMutableRawBufferPointer(
            rebasing: buffer[(count * pageSize)..<((count + 1) * pageSize)]
        )
        slot.copyMemory(from: page)
        count += 1
    }

    /// Writes what has gathered.
    func flush() throws {
        guard count > 0 else { return }
        try file.write(
            UnsafeRawBufferPointer(rebasing: buffer[..<(count * pageSize)]),
            at: Int64(first - 1) * Int64(pageSize)
        )
        count = 0
    }
}
