extension LTXError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .magic(let value):
            "magic at offset 0 is 0x\(Hexadecimal.text(value)): not an LTX file"
        case .headerFlags(let value):
            "header flags at offset 4 are 0x\(Hexadecimal.text(value)): unknown bits"
        case .pageSize(let value):
            "page size at offset 8 is \(value): must be a power of two from 512 to 65536"
        case .txidRange(let min, let max):
            "TXIDs at offset 16 are \(min)-\(max): must be from 1 and in order"
        case .walField(let field, let value):
            "\(field.rawValue) at offset \(field.headerOffset) is \(value): "
                + (value < 0 ? "must not be negative" : "set although the WAL offset is 0")
        case .checksumField(let field, let value, let offset):
            "\(field.rawValue) at offset \(offset) is \(value): "
                + (value.isPresent ? "must not be kept here" : "missing or without its top bit")
        case .truncated(let part, let offset):
            "file ends at offset \(offset), in the \(part.rawValue)"
        case .pageNumber(let flags, let offset):
            "page number at offset \(offset) is 0, with flags 0x\(Hexadecimal.text(flags))"
        case .pageFlags(let flags, let pgno, let offset):
            "flags of page \(pgno) at offset \(offset) are 0x\(Hexadecimal.text(flags)): "
                + "unknown bits"
        case .pageOrder(let pgno, let previous, let offset):
            "page number at offset \(offset) is \(pgno): must be above \(previous)"
        case .pageBeyondCommit(let pgno, let commit, let offset):
            "page number at offset \(offset) is \(pgno): the database has \(commit) pages"
        case .lockPage(let pgno, let offset):
            "page number at offset \(offset) is \(pgno): the lock page is never stored"
        case .missingPage(let pgno, let found, let offset):
            "page \(pgno) of the snapshot is due at offset \(offset), where "
                + (found.map { "page \($0) is" } ?? "the pages end")
        case .compression(let fault, let pgno, let offset):
            "data of page \(pgno) at offset \(offset): \(fault)"
        case .pageLength(let length, let pageSize, let pgno, let offset):
            "data of page \(pgno) at offset \(offset) unpacks to \(length) bytes "
                + (length > Int(pageSize) ? "or more, not \(pageSize)" : "instead of \(pageSize)")
        case .index(let fault, let offset):
            "page index at offset \(offset): \(fault)"
        case .trailingData(let offset):
            "bytes follow the trailer at offset \(offset)"
        case .fileChecksum(let stored, let computed, let offset):
            "file checksum at offset \(offset) is \(stored), the bytes give \(computed)"
        case .databaseChecksum(let stored, let computed, let offset):
            "post-apply checksum at offset \(offset) is \(stored), the pages give \(computed)"
        }
    }
}

extension LTXError.WALField {
    fileprivate var headerOffset: Int {
        switch self {
        case .offset: 48
        case .size: 56
        case .salt1: 64
        case .salt2: 68
        }
    }
}

extension LTXError.CompressionFault: CustomStringConvertible {
    public var description: String {
        switch self {
        case .declaredSize(let size): "declared size \(size) is more than a page can take"
        case .block: "no LZ4 block of one page"
        case .matchOffset: "LZ4 match offset 0"
        case .frameMagic(let value): "0x\(Hexadecimal.text(value)) is not the magic of an LZ4 frame"
        case .frame(let message): "bad LZ4 frame (\(message))"
        }
    }
}

extension LTXError.IndexFault: CustomStringConvertible {
    public var description: String {
        switch self {
        case .overflow:
            "varint of more than 64 bits"
        case .entry(let pgno, let offset, let size, let due):
            "entry of page \(pgno), offset \(offset), size \(size) where "
                + (due.map { "page \($0) is due" } ?? "no such frame can be")
        case .gap(let end):
            "its frames end before the pages do, at offset \(end)"
        case .missing(let pgno):
            "no entry of page \(pgno)"
        case .size(let stored, let computed):
            "size field is \(stored), the index has \(computed) bytes"
        case .unterminated:
            "no zero byte at its end"
        case .frame(let pgno):
            "entry of page \(pgno) does not lead to that page's frame"
        }
    }
}
