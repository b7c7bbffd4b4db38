/// The first 100 bytes of an LTX file; all numbers are big-endian.
///
/// | offset | bytes | field |
/// | --- | --- | --- |
/// | 0 | 4 | magic "LTX1" |
/// | 4 | 4 | flags |
/// | 8 | 4 | page size |
/// | 12 | 4 | commit |
/// | 16 | 8 + 8 | first and last TXID |
/// | 32 | 8 | timestamp |
/// | 40 | 8 | pre-apply checksum |
/// | 48 | 8 + 8 | WAL offset and size |
/// | 64 | 4 + 4 | WAL salts |
/// | 72 | 8 | node ID |
/// | 80 | 20 | reserved |
public struct LTXHeader: Hashable, Sendable {
    /// Bytes of an encoded header.
    public static let size = 100

    /// Flag bit 1: the file keeps no database checksums.
    public static let noChecksumFlag: UInt32 = 2

    /// `noChecksumFlag` or 0.
    public var flags: UInt32
    /// Bytes a page: a power of two from 512 to 65536.
    public var pageSize: UInt32
    /// Size of the database in pages after the last transaction; 0 if it was deleted.
    public var commit: UInt32
    /// First TXID covered, at least 1.
    public var minTXID: TXID
    /// Last TXID covered.
    public var maxTXID: TXID
    /// When the pages were taken from the database, in milliseconds since 1970 (UTC).
    public var timestamp: Int64
    /// Checksum of the database before this file, if checksums are kept; none in a snapshot.
    public var preApplyChecksum: Checksum
    /// Where the pages began in the WAL, in bytes; 0 if they did not come from one.
    public var walOffset: Int64
    /// Bytes of the WAL that were taken.
    public var walSize: Int64
    /// First salt of the WAL.
    public var walSalt1: UInt32
    /// Second salt of the WAL.
    public var walSalt2: UInt32
    /// Who wrote the file; 0 if nobody said.
    public var nodeID: UInt64

    // Bytes 80 to 99 mean nothing yet, but the file checksum covers them.
    private var reserved: (UInt64, UInt64, UInt32)

    /// Makes a header of the usual kind: no checksums kept, nothing known of a WAL.
    public init(
        flags: UInt32 = LTXHeader.noChecksumFlag,
        pageSize: UInt32,
        commit: UInt32,
        minTXID: TXID,
        maxTXID: TXID,
        timestamp: Int64 = 0,
        preApplyChecksum: Checksum = .none,
        walOffset: Int64 = 0,
        walSize: Int64 = 0,
        walSalt1: UInt32 = 0,
        walSalt2: UInt32 = 0,
        nodeID: UInt64 = 0
    ) {
        self.flags = flags
        self.pageSize = pageSize
        self.commit = commit
        self.minTXID = minTXID
        self.maxTXID = maxTXID
        self.timestamp = timestamp
        self.preApplyChecksum = preApplyChecksum
        self.walOffset = walOffset
        self.walSize = walSize
        self.walSalt1 = walSalt1
        self.walSalt2 = walSalt2
        self.nodeID = nodeID
        reserved = (0, 0, 0)
    }

    /// Holds every page of the database, as its range starts at the first TXID.
    public var isSnapshot: Bool {
        minTXID == TXID(1)
    }

    /// Keeps no database checksums, neither pre-apply nor post-apply.
    public var hasNoChecksum: Bool {
        flags & LTXHeader.noChecksumFlag != 0
    }

    /// The name that the file of this header goes by; `nil` if the TXID range is no range.
    public var fileName: LTXFileName? {
        guard TXID.zero < minTXID, minTXID <= maxTXID else { return nil }
        return LTXFileName(minTXID: minTXID, maxTXID: maxTXID)
    }
}

// MARK: - Bytes

extension LTXHeader {
    static let magic: UInt32 = 0x4C54_5831

    /// Reads and validates a header.
    ///
    /// - Parameter bytes: At least 100 bytes; only those are read.
    /// - Throws: The first fault from front to back.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(LTXError) {
        guard bytes.count >= LTXHeader.size else {
            throw .truncated(.header, offset: Int64(bytes.count))
        }
        let magic = bytes.bigEndian(UInt32.self, at: 0)
        guard magic == LTXHeader.magic else { throw .magic(magic) }
        self.init(
            flags: bytes.bigEndian(UInt32.self, at: 4),
            pageSize: bytes.bigEndian(UInt32.self, at: 8),
            commit: bytes.bigEndian(UInt32.self, at: 12),
            minTXID: TXID(bytes.bigEndian(UInt64.self, at: 16)),
            maxTXID: TXID(bytes.bigEndian(UInt64.self, at: 24)),
            timestamp: bytes.bigEndian(Int64.self, at: 32),
            preApplyChecksum: Checksum(rawValue: bytes.bigEndian(UInt64.self, at: 40)),
            walOffset: bytes.bigEndian(Int64.self, at: 48),
            walSize: bytes.bigEndian(Int64.self, at: 56),
            walSalt1: bytes.bigEndian(UInt32.self, at: 64),
            walSalt2: bytes.bigEndian(UInt32.self, at: 68),
            nodeID: bytes.bigEndian(UInt64.self, at: 72)
        )
        reserved = (
            bytes.bigEndian(UInt64.self, at: 80), bytes.bigEndian(UInt64.self, at: 88),
            bytes.bigEndian(UInt32.self, at: 96)
        )
        try validate()
    }

    /// Writes the header.
    ///
    /// - Precondition: `bytes` has room for 100 bytes.
    public func encode(into bytes: UnsafeMutableRawBufferPointer) {
        precondition(bytes.count >= LTXHeader.size, "no room for a header")
        bytes.setBigEndian(LTXHeader.magic, at: 0)
        bytes.setBigEndian(flags, at: 4)
        bytes.setBigEndian(pageSize, at: 8)
        bytes.setBigEndian(commit, at: 12)
        bytes.setBigEndian(minTXID.rawValue, at: 16)
        bytes.setBigEndian(maxTXID.rawValue, at: 24)
        bytes.setBigEndian(timestamp, at: 32)
        bytes.setBigEndian(preApplyChecksum.rawValue, at: 40)
        bytes.setBigEndian(walOffset, at: 48)
        bytes.setBigEndian(walSize, at: 56)
        bytes.setBigEndian(walSalt1, at: 64)
        bytes.setBigEndian(walSalt2, at: 68)
        bytes.setBigEndian(nodeID, at: 72)
        bytes.setBigEndian(reserved.0, at: 80)
        bytes.setBigEndian(reserved.1, at: 88)
        bytes.setBigEndian(reserved.2, at: 96)
    }

    /// Checks every rule of a header that needs nothing but the header.
    ///
    /// - Throws: The first fault from front to back.
    public func validate() throws(LTXError) {
        guard flags & ~LTXHeader.noChecksumFlag == 0 else { throw .headerFlags(flags) }
        guard isPageSize(pageSize) else {
            throw .pageSize(pageSize)
        }
        guard TXID.zero < minTXID, minTXID <= maxTXID else {
            throw .txidRange(min: minTXID, max: maxTXID)
        }
        guard walOffset >= 0 else { throw .walField(.offset, value: walOffset) }
        guard walSize >= 0 else { throw .walField(.size, value: walSize) }
        if walOffset == 0 {
            guard walSize == 0 else { throw .walField(.size, value: walSize) }
            guard walSalt1 == 0 else { throw .walField(.salt1, value: Int64(walSalt1)) }
            guard walSalt2 == 0 else { throw .walField(.salt2, value: Int64(walSalt2)) }
        }
        let keepsPreApply = !isSnapshot && !hasNoChecksum
        guard keepsPreApply ? preApplyChecksum.isPresent : preApplyChecksum == .none else {
            throw .checksumField(.preApply, value: preApplyChecksum, offset: 40)
        }
    }
}

// MARK: - Hashable

extension LTXHeader {
    public static func == (left: LTXHeader, right: LTXHeader) -> Bool {
        left.encoded == right.encoded
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(encoded)
    }

    private var encoded: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: LTXHeader.size) { buffer, count in
            encode(into: UnsafeMutableRawBufferPointer(buffer))
            count = LTXHeader.size
        }
    }
}
