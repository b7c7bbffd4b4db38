import Bucket
import LTXCodec

/// Everything a mirror knows of itself at one state, but for the checksums of its pages.
struct MirrorRecord: Equatable {
    /// Which record is the younger one of two.
    var sequence: UInt64 = 0
    var txid = TXID.zero
    /// Header timestamp of the last file applied, milliseconds since 1970.
    var timestamp: Int64 = 0
    /// When it was applied, milliseconds since 1970.
    var appliedAt: Int64 = 0
    var pageSize: UInt32 = 0
    /// Size in pages.
    var commit: UInt32 = 0
    /// Rolling checksum of the source's pages.
    var checksum = Checksum.none
    /// CRC-64 of the mirror's own page 1: which of two records is true of the file.
    var stamp: UInt64 = 0
    /// Change counter in the mirror's page 1.
    var counter: UInt32 = 0
    /// What the source's page 1 has where the mirror's has its own.
    var source = PresentedPage()
    var writer: MirrorStatus.Writer?
    /// What the source's writer said the checksum is, where it is another one.
    var expected = Checksum.none
    var isDiverged = false
    /// The last file applied, to tell a bucket whose history was replaced.
    var anchor: Anchor?

    struct Anchor: Equatable {
        var level: Int
        var name: LTXFileName
        var fileChecksum: Checksum
    }

    var sizeInBytes: Int64 { Int64(commit) * Int64(pageSize) }
}

// MARK: - Bytes

extension MirrorRecord {
    /// Bytes of a record on disk.
    static let size = 128
    private static let magic: UInt64 = 0x314E_5453_4F50_4D44  // "DMPOSTN1"

    /// | bytes | field |
    /// | --- | --- |
    /// | 0 | `DMPOSTN1` |
    /// | 8, 16, 24, 32 | sequence, TXID, timestamp, applied at |
    /// | 40, 44 | page size, commit |
    /// | 48, 56 | checksum, stamp |
    /// | 64 | counter |
    /// | 68, 69 | the source's write and read version |
    /// | 70, 71 | writer, flags (1: diverged, 2: there is an anchor) |
    /// | 72, 76 | the source's change counter and the one its size is valid for |
    /// | 80 | expected checksum |
    /// | 88, 96, 104, 112 | anchor: level, first and last TXID, file checksum |
    /// | 120 | CRC-64 of all before |
    ///
    /// All numbers are little-endian.
    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.size)
        bytes.append(number: Self.magic)
        bytes.append(number: sequence)
        bytes.append(number: txid.rawValue)
        bytes.append(number: timestamp)
        bytes.append(number: appliedAt)
        bytes.append(number: pageSize)
        bytes.append(number: commit)
        bytes.append(number: checksum.rawValue)
        bytes.append(number: stamp)
        bytes.append(number: counter)
        bytes += [source.writeVersion, source.readVersion]
        bytes += [writer?.rawValue ?? 0, (isDiverged ? 1 : 0) | (anchor == nil ? 0 : 2)]
        bytes.append(number: source.changeCounter)
        bytes.append(number: source.validFor)
        bytes.append(number: expected.rawValue)
        bytes.append(number: UInt64(anchor?.level ?? 0))
        bytes.append(number: anchor?.name.minTXID.rawValue ?? 0)
        bytes.append(number: anchor?.name.maxTXID.rawValue ?? 0)
        bytes.append(number: anchor?.fileChecksum.rawValue ?? 0)
        bytes.append(number: Self.crc(bytes[...]))
        return bytes
    }

    /// Reads a record; `nil` for bytes that are none.
    init?(_ bytes: ArraySlice<UInt8>) {
        var reader = NumberReader(bytes)
        guard bytes.count == Self.size,
            reader.next(UInt64.self) == Self.magic,
            Self.crc(bytes.dropLast(8)) == NumberReader(bytes.suffix(8)).peek(UInt64.self)
        else { return nil }
        sequence = reader.next(UInt64.self)
        txid = TXID(reader.next(UInt64.self))
        timestamp = reader.next(Int64.self)
        appliedAt = reader.next(Int64.self)
        pageSize = reader.next(UInt32.self)
        commit = reader.next(UInt32.self)
        checksum = Checksum(rawValue: reader.next(UInt64.self))
        stamp = reader.next(UInt64.self)
        counter = reader.next(UInt32.self)
        source.writeVersion = reader.next(UInt8.self)
        source.readVersion = reader.next(UInt8.self)
        writer = MirrorStatus.Writer(rawValue: reader.next(UInt8.self))
        let flags = reader.next(UInt8.self)
        source.changeCounter = reader.next(UInt32.self)
        source.validFor = reader.next(UInt32.self)
        expected = Checksum(rawValue: reader.next(UInt64.self))
        isDiverged = flags & 1 != 0
        let level = reader.next(UInt64.self)
        let (first, last) = (TXID(reader.next(UInt64.self)), TXID(reader.next(UInt64.self)))
        let fileChecksum = Checksum(rawValue: reader.next(UInt64.self))
        guard commit == 0 || isPageSize(pageSize) else { return nil }
        if flags & 2 != 0 {
            guard level <= UInt64(BucketFile.snapshotLevel), TXID.zero < first, first <= last
            else { return nil }
            anchor = Anchor(
                level: Int(level),
                name: LTXFileName(minTXID: first, maxTXID: last),
                fileChecksum: fileChecksum
            )
        }
    }

    private static func crc(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        var crc = CRC64()
        bytes.withUnsafeBytes { crc.update($0) }
        return crc.value
    }
}

/// Little-endian numbers one after the other; the caller has checked that they are there.
private struct NumberReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    func peek<T: FixedWidthInteger & BitwiseCopyable>(_: T.Type) -> T {
        rest.withUnsafeBytes { T(littleEndian: $0.loadUnaligned(as: T.self)) }
    }

    mutating func next<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) -> T {
        defer { rest = rest.dropFirst(MemoryLayout<T>.size) }
        return peek(type)
    }
}

extension [UInt8] {
    fileprivate mutating func append<T: FixedWidthInteger>(number: T) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }
}
