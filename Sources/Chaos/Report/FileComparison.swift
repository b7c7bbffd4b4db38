public import DurableFiles

/// Compares two database files, page by page.
public enum FileComparison {
    /// Blocks of 4096 bytes in which two files differ, and blocks that only one of them has.
    ///
    /// Fields of the header may differ that tell the journal mode, how often it was changed, and
    /// by which SQLite.
    public static func differingBlocks(_ left: String, _ right: String) throws(FileError) -> Int {
        let leftFile = try FileDescriptor(reading: left)
        let rightFile = try FileDescriptor(reading: right)
        let size = 1 << 20
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * size, alignment: 16)
        defer { buffer.deallocate() }
        let halves = (
            UnsafeMutableRawBufferPointer(rebasing: buffer[..<size]),
            UnsafeMutableRawBufferPointer(rebasing: buffer[size...])
        )
        var offset: Int64 = 0
        var differing = 0
        while true {
            let counts = (
                try leftFile.read(at: offset, into: halves.0),
                try rightFile.read(at: offset, into: halves.1)
            )
            let longer = max(counts.0, counts.1)
            guard longer > 0 else { return differing }
            if offset == 0, min(counts.0, counts.1) >= 100 {
                for half in [halves.0, halves.1] {
                    for range in [18..<20, 24..<28, 92..<100] {
                        for index in range { half[index] = 0 }
                    }
                }
            }
            for start in stride(from: 0, to: longer, by: 4_096) {
                let one = halves.0[min(start, counts.0)..<min(start + 4_096, counts.0)]
                let other = halves.1[min(start, counts.1)..<min(start + 4_096, counts.1)]
                if !one.elementsEqual(other) { differing += 1 }
            }
            offset += Int64(size)
        }
    }

    /// Whether two files hold the same database.
    public static func isSameDatabase(_ left: String, _ right: String) throws(FileError) -> Bool {
        try differingBlocks(left, right) == 0
    }
}
