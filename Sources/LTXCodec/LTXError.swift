/// One fault of an LTX file: which field, where, and what it holds.
///
/// Offsets count bytes from the start of the file. The encoder throws the same faults for a file
/// that it refuses to write.
public enum LTXError: Error, Equatable, Sendable {
    /// The first four bytes are not "LTX1".
    case magic(UInt32)
    /// Header flag bits other than "no checksum".
    case headerFlags(UInt32)
    /// No power of two from 512 to 65536.
    case pageSize(UInt32)
    /// A TXID of 0, or the first one above the last.
    case txidRange(min: TXID, max: TXID)
    /// A WAL place that cannot be.
    case walField(WALField, value: Int64)
    /// A database checksum where none may be, none where one must be, or one without bit 63.
    case checksumField(ChecksumField, value: Checksum, offset: Int64)
    /// The file ends at `offset`, inside or before `part`.
    case truncated(Part, offset: Int64)
    /// A page header with page number 0 that is no end marker.
    case pageNumber(flags: UInt16, offset: Int64)
    /// Page flag bits other than bit 0.
    case pageFlags(UInt16, pgno: Pgno, offset: Int64)
    /// Page numbers that do not rise.
    case pageOrder(Pgno, after: Pgno, offset: Int64)
    /// A page beyond the database size that the header gives.
    case pageBeyondCommit(Pgno, commit: UInt32, offset: Int64)
    /// The page that holds byte 0x40000000 is in the file.
    case lockPage(Pgno, offset: Int64)
    /// A snapshot lacks a page; `found` stands in its place, `nil` for the end of the pages.
    case missingPage(Pgno, found: Pgno?, offset: Int64)
    /// The payload of a page is not what LZ4 writes.
    case compression(CompressionFault, pgno: Pgno, offset: Int64)
    /// The payload unpacks to `length` bytes, or to that many and more.
    case pageLength(Int, pageSize: UInt32, pgno: Pgno, offset: Int64)
    /// The page index does not describe the file's pages.
    case index(IndexFault, offset: Int64)
    /// The file goes on behind its trailer.
    case trailingData(offset: Int64)
    /// The bytes differ from what was written.
    case fileChecksum(stored: Checksum, computed: Checksum, offset: Int64)
    /// The pages of a snapshot differ from the database checksum.
    case databaseChecksum(stored: Checksum, computed: Checksum, offset: Int64)

    public enum WALField: String, Sendable {
        case offset = "WAL offset"
        case size = "WAL size"
        case salt1 = "WAL salt-1"
        case salt2 = "WAL salt-2"
    }

    public enum ChecksumField: String, Sendable {
        case preApply = "pre-apply checksum"
        case postApply = "post-apply checksum"
    }

    public enum Part: String, Sendable {
        case header
        case pageHeader = "page header"
        case pageSizePrefix = "page size prefix"
        case pageData = "page data"
        case index = "page index"
        case indexSize = "page index size"
        case trailer
    }

    public enum CompressionFault: Equatable, Sendable {
        /// No LZ4 block of one page is that long.
        case declaredSize(UInt32)
        /// The block cannot be unpacked into one page.
        case block
        /// A match with offset 0, which names no bytes.
        case matchOffset
        /// The frame starts with other bytes than an LZ4 frame.
        case frameMagic(UInt32)
        /// What the LZ4 library says of the frame.
        case frame(String)
    }

    public enum IndexFault: Equatable, Sendable {
        /// A varint of more than 64 bits.
        case overflow
        /// Not the entry that is due here: `due`, or none, or none that fits the file.
        case entry(pgno: UInt64, offset: UInt64, size: UInt64, due: Pgno?)
        /// The index leaves out what stands before the offset, where the pages end.
        case gap(upTo: Int64)
        /// The index ends, but not its pages.
        case missing(Pgno)
        /// The size field differs from the size of the index.
        case size(stored: UInt64, computed: UInt64)
        /// The index ends without its zero byte.
        case unterminated
        /// The page frame is not where or what the index says.
        case frame(Pgno)
    }
}

// MARK: - Categories

extension LTXError {
    /// The short name of a kind of fault, stable for programs.
    public enum Category: String, Sendable, CaseIterable {
        case badMagic = "bad-magic"
        case badHeaderFlags = "bad-header-flags"
        case badPageSize = "bad-page-size"
        case badTXIDRange = "bad-txid-range"
        case badWALFields = "bad-wal-fields"
        case badChecksumFields = "bad-checksum-fields"
        case truncated
        case badPageNumber = "bad-page-number"
        case badPageFlags = "bad-page-flags"
        case pageOrder = "page-order"
        case pageBeyondCommit = "page-beyond-commit"
        case lockPage = "lock-page"
        case missingPage = "missing-page"
        case badCompression = "bad-compression"
        case pageLength = "page-length"
        case badIndex = "bad-index"
        case trailingData = "trailing-data"
        case fileChecksum = "file-checksum"
        case databaseChecksum = "db-checksum"
    }

    public var category: Category {
        switch self {
        case .magic: .badMagic
        case .headerFlags: .badHeaderFlags
        case .pageSize: .badPageSize
        case .txidRange: .badTXIDRange
        case .walField: .badWALFields
        case .checksumField: .badChecksumFields
        case .truncated: .truncated
        case .pageNumber: .badPageNumber
        case .pageFlags: .badPageFlags
        case .pageOrder: .pageOrder
        case .pageBeyondCommit: .pageBeyondCommit
        case .lockPage: .lockPage
        case .missingPage: .missingPage
        case .compression: .badCompression
        case .pageLength: .pageLength
        case .index: .badIndex
        case .trailingData: .trailingData
        case .fileChecksum: .fileChecksum
        case .databaseChecksum: .databaseChecksum
        }
    }
}
