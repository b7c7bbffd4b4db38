import SQLiteWAL

/// What a WAL holds, found the slow and obvious way, to compare a scan with.
struct NaiveWAL {
    var map: [UInt32: UInt32] = [:]
    var commits: [(frame: UInt32, size: UInt32)] = []
    var validFrames = 0
    var stop = WALEnd.endOfFile

    /// Reads a file whose header is known to be valid.
    init(_ bytes: [UInt8]) {
        stop = read(bytes)
    }

    private mutating func read(_ bytes: [UInt8]) -> WALEnd {
        let bigEndian = bytes[3] & 1 == 1
        let pageSize = Int(bytes.word(at: 8))
        var sums = (bytes.word(at: 24), bytes.word(at: 28))
        var pending: [(pgno: UInt32, frame: UInt32)] = []
        var at = 32
        while true {
            guard at < bytes.count else { return .endOfFile }
            guard at + 24 + pageSize <= bytes.count else { return .tornFrame }
            guard bytes[at + 8..<at + 16] == bytes[16..<24] else { return .saltMismatch }
            let pgno = bytes.word(at: at)
            guard pgno != 0 else { return .pageZero }
            sums = bytes.checksum(at..<at + 8, bigEndian: bigEndian, from: sums)
            sums = bytes.checksum(at + 24..<at + 24 + pageSize, bigEndian: bigEndian, from: sums)
            guard sums == (bytes.word(at: at + 16), bytes.word(at: at + 20)) else {
                return .checksumMismatch
            }
            at += 24 + pageSize
            validFrames += 1
            pending.append((pgno, UInt32(validFrames)))
            let size = bytes.word(at: at - pageSize - 20)
            guard size > 0 else { continue }
            for entry in pending { map[entry.pgno] = entry.frame }
            map = map.filter { $0.key <= size }
            commits.append((UInt32(validFrames), size))
            pending = []
        }
    }
}

extension WALPageMap {
    var dictionary: [UInt32: UInt32] {
        Dictionary(uniqueKeysWithValues: map { ($0.pgno, $0.frame) })
    }
}
