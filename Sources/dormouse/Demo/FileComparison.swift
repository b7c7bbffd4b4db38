import DurableFiles

/// Compares two database files, page by page.
enum FileComparison {
    /// Whether two files hold the same database.
    ///
    /// Fields of the header may differ that tell the journal mode, how often it was changed, and
    /// by which SQLite.
    static func isSameDatabase(_ left: String, _ right: String) throws(FileError) -> Bool {
        let leftFile = try FileDescriptor(reading: left)
        let rightFile = try FileDescriptor(reading: right)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 << 20, alignment: 16)
        defer { buffer.deallocate() }
        let halves = (
            UnsafeMutableRawBufferPointer(rebasing: buffer[..<(1 << 20)]),
            UnsafeMutableRawBufferPointer(rebasing: buffer[(1 << 20)...])
        )
        var offset: Int64 = 0
        while true {
            let counts = (
                try leftFile.read(at: offset, into: halves.0),
                try rightFile.read(at: offset, into: halves.1)
            )
            guard counts.0 == counts.1 else { return false }
            guard counts.0 > 0 else { return true }
            if offset == 0, counts.0 >= 100 {
                for half in [halves.0, halves.1] {
                    for range in [18..<20, 24..<28, 92..<100] {
                        for index in range { half[index] = 0 }
                    }
                }
            }
            guard halves.0[..<counts.0].elementsEqual(halves.1[..<counts.1]) else { return false }
            offset += Int64(counts.0)
        }
    }
}
