// Compiled together with the sources of LTXCodec by `scripts/fuzz decoder`; not part of the
// package.

/// Reads an input as an LTX file in every way there is, and stops the process where an answer
/// contradicts another.
///
/// A checksum or size that does not fit is put right and the file read again, since mutation alone
/// would hardly ever get past the first one.
@_cdecl("LLVMFuzzerTestOneInput")
public func ltxDecoderFuzz(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    var file = Array(UnsafeBufferPointer(start: data, count: data == nil ? 0 : size))
    checkNames(file)
    // Each round gets past one more fault; a file has only so many of these.
    for _ in 0..<4 {
        guard let fault = check(file), repair(&file, fault) else { break }
    }
    return 0
}

/// Stops the process and says where, in optimized builds too.
private func expect(_ condition: Bool, line: UInt = #line) {
    guard condition else { fatalError("the condition of line \(line) does not hold") }
}

private func checkNames(_ bytes: [UInt8]) {
    let text = String(decoding: bytes.prefix(40), as: UTF8.self)
    if let txid = TXID(text) { expect(TXID("\(txid)") == txid) }
    if let name = LTXFileName(text) { expect("\(name)" == text) }
}

private struct Contents: Equatable {
    var header: LTXHeader
    var pages: [Page] = []
    var trailer: LTXTrailer?

    struct Page: Equatable {
        var pgno: Pgno
        var bytes: [UInt8]
    }
}

/// Reads a file; returns the first fault of one that is bad.
private func check(_ file: [UInt8]) -> LTXError? {
    let whole = decode(file, chunk: .max)
    let pieces = decode(file, chunk: 1 + file.count % 7)
    expect(whole == pieces)
    let contents: Contents
    switch whole {
    case .success(let good):
        contents = good
    case .failure(let fault):
        expect(!"\(fault)".isEmpty)
        _ = try? readPages(file)
        return fault
    }

    // A good file is good for everyone.
    do {
        let pages = try readPages(file)
        expect(pages == contents.pages)
        var copy: [UInt8] = []
        let inputs = [Int.max, 3].map {
            LTXMergeInput(name: "input", read: source(of: file, chunk: $0))
        }
        _ = try LTXCompactor.compact(inputs) { copy.append(contentsOf: $0) }
        guard case .success(let copied) = decode(copy, chunk: .max) else {
            fatalError("what was written cannot be read")
        }
        expect(copied.pages == contents.pages)
        expect(copied.header.commit == contents.header.commit)
    } catch {
        fatalError("a good file is refused: \(error)")
    }
    return nil
}

private func decode(_ file: [UInt8], chunk: Int) -> Result<Contents, LTXError> {
    do {
        var decoder = try LTXDecoder(
            bufferSize: min(chunk, 64 << 10),
            read: source(of: file, chunk: chunk)
        )
        var contents = Contents(header: decoder.header)
        var page = [UInt8](repeating: 0, count: Int(decoder.header.pageSize))
        while let pgno = try page.withUnsafeMutableBytes({ try decoder.nextPage(into: $0) }) {
            contents.pages.append(Contents.Page(pgno: pgno, bytes: page))
        }
        contents.trailer = try decoder.finish()
        return .success(contents)
    } catch let fault as LTXError {
        return .failure(fault)
    } catch {
        fatalError("not a fault of the file: \(error)")
    }
}

private func readPages(_ file: [UInt8]) throws -> [Contents.Page] {
    var reader = try LTXPageReader(size: Int64(file.count)) { offset, free in
        guard offset >= 0, offset < file.count else { return 0 }
        let count = min(free.count, file.count - Int(offset))
        free.copyBytes(from: file[Int(offset)..<Int(offset) + count])
        return count
    }
    var page = [UInt8](repeating: 0, count: Int(reader.header.pageSize))
    return try reader.index.map(\.pgno).map { pgno in
        let found = try page.withUnsafeMutableBytes { try reader.readPage(pgno, into: $0) }
        expect(found)
        return Contents.Page(pgno: pgno, bytes: page)
    }
}

/// Puts the number right that a fault is about; says whether there is one.
private func repair(_ file: inout [UInt8], _ fault: LTXError) -> Bool {
    switch fault {
    case .magic:
        put(UInt32(0x4C54_5831), in: &file, at: 0)
    case .pageSize:
        put(UInt32(512), in: &file, at: 8)
    case .index(.size(_, let computed), let offset):
        put(computed, in: &file, at: Int(offset))
    case .fileChecksum(_, let computed, let offset),
        .databaseChecksum(_, let computed, let offset):
        put(computed.rawValue, in: &file, at: Int(offset))
    default:
        return false
    }
    return true
}

private func put(_ value: some FixedWidthInteger, in file: inout [UInt8], at offset: Int) {
    withUnsafeBytes(of: value.bigEndian) {
        file.replaceSubrange(offset..<offset + $0.count, with: $0)
    }
}

private func source(
    of file: [UInt8],
    chunk: Int
) -> (UnsafeMutableRawBufferPointer) throws -> Int {
    var place = 0
    return { free in
        let count = min(free.count, file.count - place, chunk)
        free.copyBytes(from: file[place..<place + count])
        place += count
        return count
    }
}
