import DurableFiles
package import LTXCodec

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The page ledger on disk: a header of 64 bytes, then 8 bytes a page, little-endian.
///
/// | bytes | field |
/// | --- | --- |
/// | 0–7 | `DMLEDGR1` |
/// | 8–11 | page size |
/// | 12–15 | commit |
/// | 16–23 | TXID |
/// | 24–31 | database checksum |
/// | 32–39 | CRC-64 of bytes 0–31 |
///
/// It is changed in place. A kill half-way leaves entries of the next TXID under the old header;
/// playing the delta files from the header's TXID on over it makes it right again, whatever
/// arrived, since an entry is set and not advanced. What such a replay cannot mend, the exclusive
/// or over all entries shows.
package struct LedgerFile {
    let path: String

    package init(path: String) {
        self.path = path
    }

    private static let headerSize = 64
    private static let magic: [UInt8] = Array("DMLEDGR1".utf8)

    /// Why a ledger on disk is of no use.
    package enum Damage: Error, CustomStringConvertible {
        case header
        case length
        case entry

        package var description: String {
            switch self {
            case .header: "its header is damaged"
            case .length: "it is shorter than its header says"
            case .entry: "one of its entries is no checksum"
            }
        }
    }

    /// A ledger as the file has it, which may need a replay.
    package struct Loaded {
        package var ledger: PageLedger
        /// What the header says the database checksum is.
        package var checksum: Checksum
    }

    /// Reads the file; `nil` if there is none.
    package func load() throws -> Loaded? {
        guard let status = try FileStatus.of(path) else { return nil }
        let file = try FileDescriptor(reading: path)
        var header = [UInt8](repeating: 0, count: Self.headerSize)
        let count = try header.withUnsafeMutableBytes { try file.read(at: 0, into: $0) }
        let pages = try Self.pages(header: header[..<count])
        guard status.sizeInBytes >= Int64(Self.headerSize) + 8 * Int64(pages) else {
            throw Damage.length
        }
        var checksums = [UInt64](repeating: 0, count: pages)
        let read = try checksums.withUnsafeMutableBytes {
            try file.read(at: Int64(Self.headerSize), into: $0)
        }
        guard read == 8 * pages else { throw Damage.length }
        return try Self.loaded(header: header, checksums)
    }

    /// Reads a ledger that came over a wire.
    package static func decode(_ bytes: [UInt8]) throws(Damage) -> Loaded {
        let pages = try pages(header: bytes.prefix(headerSize))
        guard bytes.count - headerSize == 8 * pages else { throw .length }
        var checksums = [UInt64](repeating: 0, count: pages)
        checksums.withUnsafeMutableBytes { $0.copyBytes(from: bytes[headerSize...]) }
        return try loaded(header: bytes, checksums)
    }

    /// How many entries follow an undamaged header.
    private static func pages(header: ArraySlice<UInt8>) throws(Damage) -> Int {
        let header = Array(header)
        guard header.count == headerSize, Array(header[..<8]) == magic,
            header.integer(UInt64.self, at: 32) == crc(header[..<32]),
            isPageSize(header.integer(UInt32.self, at: 8))
        else { throw .header }
        return Int(header.integer(UInt32.self, at: 12))
    }

    private static func loaded(
        header: [UInt8],
        _ entries: [UInt64]
    ) throws(Damage) -> Loaded {
        var checksums = entries
        #if _endian(big)
        for index in checksums.indices { checksums[index] = checksums[index].byteSwapped }
        #endif
        // The exclusive or over all entries leaves the topmost bit out, which every checksum has.
        guard checksums.allSatisfy({ $0 == 0 || $0 >> 63 == 1 }) else { throw .entry }
        return Loaded(
            ledger: PageLedger(
                pageSize: header.integer(UInt32.self, at: 8),
                txid: TXID(header.integer(UInt64.self, at: 16)),
                checksums: checksums
            ),
            checksum: Checksum(rawValue: header.integer(UInt64.self, at: 24))
        )
    }

    /// Writes the whole ledger as a new file.
    package func replace(with ledger: PageLedger) throws {
        let file = try DurableFile(path)
        try Self.header(of: ledger).withUnsafeBytes { try file.write($0) }
        try ledger.checksums.withUnsafeBytes { try file.write($0) }
        try file.publish()
    }

    /// Writes what changed since the file was last written, header last.
    ///
    /// - Parameters:
    ///   - ledger: The ledger as it is now.
    ///   - changed: Ascending page numbers whose entries changed.
    ///   - grownFrom: The commit before, so that new pages without an entry are written too.
    ///   - durably: Wait for the disk; not for who can compute the ledger anew.
    /// - Throws: `FileError`.
    package func update(
        to ledger: PageLedger,
        changed: [Pgno],
        grownFrom: UInt32,
        durably: Bool = true
    ) throws {
        let file = try FileDescriptor(path, O_RDWR)
        try ledger.checksums.withUnsafeBytes { entries in
            var index = 0
            while index < changed.count {
                var end = index + 1
                while end < changed.count, changed[end] == changed[end - 1] + 1 { end += 1 }
                let range = 8 * (Int(changed[index]) - 1)..<8 * Int(changed[end - 1])
                try file.write(
                    UnsafeRawBufferPointer(rebasing: entries[range]),
                    at: Int64(Self.headerSize + range.lowerBound)
                )
                index = end
            }
        }
        // A lock page among the new ones has no entry but takes its room. The file is never
        // shorter than its header says, so that a kill between two steps can be mended.
        let length = Int64(Self.headerSize) + 8 * Int64(ledger.commit)
        if ledger.commit > grownFrom { try file.truncate(to: length) }
        try Self.header(of: ledger).withUnsafeBytes { try file.write($0, at: 0) }
        if ledger.commit < grownFrom { try file.truncate(to: length) }
        if durably { try file.sync() }
    }

    /// What stands before the entries, which follow with 8 bytes a page, little-endian.
    package static func header(of ledger: PageLedger) -> [UInt8] {
        var bytes = magic
        bytes.append(ledger.pageSize)
        bytes.append(ledger.commit)
        bytes.append(ledger.txid.rawValue)
        bytes.append(ledger.checksum.rawValue)
        bytes.append(crc(bytes[...]))
        bytes.append(contentsOf: repeatElement(0, count: headerSize - bytes.count))
        return bytes
    }

    private static func crc(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        var crc = CRC64()
        bytes.withUnsafeBytes { crc.update($0) }
        return crc.value
    }
}

extension [UInt8] {
    fileprivate mutating func append<T: FixedWidthInteger>(_ value: T) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }

    /// A little-endian integer; the caller has checked that it is there.
    fileprivate func integer<T: FixedWidthInteger & BitwiseCopyable>(
        _: T.Type,
        at offset: Int
    ) -> T {
        withUnsafeBytes { T(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: T.self)) }
    }
}
