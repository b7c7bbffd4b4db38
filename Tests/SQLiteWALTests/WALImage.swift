import SQLiteWAL

/// The bytes of a WAL, written by the rules of SQLite's file format without the code under test.
struct WALImage {
    struct Frame {
        var pgno: UInt32
        var commit: UInt32

        init(_ pgno: UInt32, commit: UInt32 = 0) {
            self.pgno = pgno
            self.commit = commit
        }
    }

    var bytes: [UInt8]
    let pageSize: Int

    /// Writes a WAL whose page contents differ from frame to frame.
    init(
        _ frames: [Frame] = [],
        pageSize: Int = 512,
        sequence: UInt32 = 7,
        salt1: UInt32 = 41,
        salt2: UInt32 = 0xfeed_beef,
        bigEndian: Bool = false
    ) {
        self.pageSize = pageSize
        bytes = []
        bytes.append(bigEndian: bigEndian ? 0x377f_0683 : 0x377f_0682)
        bytes.append(bigEndian: WALHeader.version)
        bytes.append(bigEndian: UInt32(pageSize))
        bytes.append(bigEndian: sequence)
        bytes.append(bigEndian: salt1)
        bytes.append(bigEndian: salt2)
        bytes.append(contentsOf: repeatElement(0, count: 8))
        for (index, frame) in frames.enumerated() {
            bytes.append(bigEndian: frame.pgno)
            bytes.append(bigEndian: frame.commit)
            bytes.append(contentsOf: repeatElement(0, count: 16))
            let seed = UInt8(truncatingIfNeeded: index)
            bytes.append(contentsOf: (0..<pageSize).map { UInt8(truncatingIfNeeded: $0) &+ seed })
        }
        reseal()
    }

    init(bytes: [UInt8]) {
        self.bytes = bytes
        pageSize = bytes.count < 32 ? 512 : Int(bytes.word(at: 8))
    }

    /// Puts the right salts and checksums everywhere, whatever the other bytes are.
    mutating func reseal() {
        guard bytes.count >= 32, WALHeader.isPageSize(UInt32(truncatingIfNeeded: pageSize)) else {
            return
        }
        let bigEndian = bytes[3] & 1 == 1
        var sums = bytes.checksum(0..<24, bigEndian: bigEndian)
        bytes.put(sums.0, at: 24)
        bytes.put(sums.1, at: 28)
        var at = 32
        while at + 24 + pageSize <= bytes.count {
            bytes.replaceSubrange(at + 8..<at + 16, with: bytes[16..<24])
            sums = bytes.checksum(at..<at + 8, bigEndian: bigEndian, from: sums)
            sums = bytes.checksum(at + 24..<at + 24 + pageSize, bigEndian: bigEndian, from: sums)
            bytes.put(sums.0, at: at + 16)
            bytes.put(sums.1, at: at + 20)
            at += 24 + pageSize
        }
    }

    /// Where a frame, counted from 1, begins.
    func offset(ofFrame frame: Int) -> Int { 32 + (frame - 1) * (24 + pageSize) }

    var reader: WALReader { WALReader(over: bytes) }
}

extension WALReader {
    /// A reader of bytes in memory.
    ///
    /// - Parameters:
    ///   - bytes: The file.
    ///   - base: The offset at which they begin; nothing but zeros lies before.
    ///   - most: The most bytes that one read gives.
    init(over bytes: [UInt8], base: Int64 = 0, most: Int = .max) {
        self.init { offset, buffer in
            let count = min(most, buffer.count, max(0, Int(base) + bytes.count - Int(offset)))
            for index in 0..<count {
                let at = Int(offset - base) + index
                buffer[index] = at < 0 ? 0 : bytes[at]
            }
            return count
        }
    }
}

extension [UInt8] {
    mutating func append(bigEndian word: UInt32) {
        append(contentsOf: (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) })
    }

    mutating func put(_ word: UInt32, at offset: Int) {
        for index in 0..<4 {
            self[offset + index] = UInt8(truncatingIfNeeded: word >> (24 - 8 * index))
        }
    }

    func word(at offset: Int, bigEndian: Bool = true) -> UInt32 {
        (0..<4).reduce(0) { $0 << 8 | UInt32(self[offset + (bigEndian ? $1 : 3 - $1)]) }
    }

    func checksum(
        _ range: Range<Int>,
        bigEndian: Bool,
        from start: (UInt32, UInt32) = (0, 0)
    ) -> (UInt32, UInt32) {
        var (s1, s2) = start
        for at in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
            s1 = s1 &+ word(at: at, bigEndian: bigEndian) &+ s2
            s2 = s2 &+ word(at: at + 4, bigEndian: bigEndian) &+ s1
        }
        return (s1, s2)
    }
}
