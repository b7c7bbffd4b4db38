import LTXCodec

/// A file taken apart in memory.
struct DecodedFile: Equatable {
    var header: LTXHeader
    var trailer: LTXTrailer
    /// In file order.
    var pages: [Page]

    struct Page: Equatable {
        var pgno: Pgno
        var bytes: [UInt8]
    }

    /// Reads and checks a whole file, of which one read gives at most `chunk` bytes.
    init(_ file: [UInt8], chunk: Int = .max, bufferSize: Int = 256 << 10) throws {
        var decoder = try LTXDecoder(bufferSize: bufferSize, read: source(of: file, chunk: chunk))
        header = decoder.header
        pages = []
        var page = [UInt8](repeating: 0, count: Int(header.pageSize))
        while let pgno = try page.withUnsafeMutableBytes({ try decoder.nextPage(into: $0) }) {
            pages.append(Page(pgno: pgno, bytes: page))
        }
        trailer = try decoder.finish()
    }

    /// The database that the file makes of another one; missing pages are zeros.
    func applied(to database: [UInt8]) -> [UInt8] {
        let pageSize = Int(header.pageSize)
        let size = Int(header.commit) * pageSize
        var result = Array(database.prefix(size))
        result += [UInt8](repeating: 0, count: size - result.count)
        for page in pages {
            let start = (Int(page.pgno) - 1) * pageSize
            result.replaceSubrange(start..<start + pageSize, with: page.bytes)
        }
        return result
    }
}

/// A stream of bytes in memory.
func source(
    of file: [UInt8],
    chunk: Int = .max
) -> (UnsafeMutableRawBufferPointer) throws -> Int {
    var place = 0
    return { free in
        let count = min(free.count, file.count - place, chunk)
        file.withUnsafeBytes {
            free.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[place..<place + count]))
        }
        place += count
        return count
    }
}

/// A file in memory, read at any place.
func randomAccess(to file: [UInt8]) -> (Int64, UnsafeMutableRawBufferPointer) throws -> Int {
    { offset, free in
        let start = min(Int(offset), file.count)
        let count = min(free.count, file.count - start)
        file.withUnsafeBytes {
            free.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count]))
        }
        return count
    }
}

/// Writes a file in memory.
func encoded(
    _ header: LTXHeader,
    _ pages: [DecodedFile.Page],
    postApplyChecksum: Checksum = .none
) throws -> [UInt8] {
    var file: [UInt8] = []
    var encoder = try LTXEncoder(header: header) { file.append(contentsOf: $0) }
    for page in pages {
        try page.bytes.withUnsafeBytes { try encoder.append(pgno: page.pgno, page: $0) }
    }
    let summary = try encoder.finish(postApplyChecksum: postApplyChecksum)
    precondition(summary.sizeInBytes == file.count && summary.pageCount == pages.count)
    return file
}

/// The category of the fault a full check finds; `nil` for a good file.
func faultCategory(_ file: [UInt8], chunk: Int = .max) throws -> String? {
    do {
        _ = try DecodedFile(file, chunk: chunk)
        return nil
    } catch let error as LTXError {
        return error.category.rawValue
    }
}
