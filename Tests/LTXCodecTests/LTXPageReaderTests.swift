import LTXCodec
import TestSupport
import Testing

@Suite("LTX page reader")
struct LTXPageReaderTests {
    @Test("a page that the file does not carry is not there")
    func absentPage() throws {
        var random = SeededGenerator(seed: 1)
        let header = LTXHeader(pageSize: 512, commit: 9, minTXID: TXID(2), maxTXID: TXID(2))
        var raw = RawFile(header: header)
        raw.frames = [.block(2, random.page(512)), .frame(5, random.page(512))]
        let file = raw.bytes
        var reader = try LTXPageReader(size: Int64(file.count), readAt: randomAccess(to: file))
        var page = [UInt8](repeating: 0xEE, count: 512)
        for pgno: Pgno in [0, 1, 3, 4, 6, .max] {
            #expect(try !page.withUnsafeMutableBytes { try reader.readPage(pgno, into: $0) })
            #expect(reader.index.lookup(pgno) == nil)
        }
        #expect(page == [UInt8](repeating: 0xEE, count: 512))
        for frame in raw.frames {
            #expect(try page.withUnsafeMutableBytes { try reader.readPage(frame.pgno, into: $0) })
            #expect(page == frame.page)
        }
        #expect(reader.index.count == 2)
    }

    @Test(
        "an index that does not fit its file is refused before a page is read",
        .enabled(if: Shared.isPresent, Shared.missing),
        arguments: Manifest.shared?.ltxBad.filter { $0.name.hasPrefix("index-") } ?? []
    )
    func badIndex(file: Manifest.BadFile) throws {
        let bytes = try goldenBytes(file.file)
        #expect {
            _ = try LTXPageReader(size: Int64(bytes.count), readAt: randomAccess(to: bytes))
        } throws: { error in
            let category = (error as? LTXError)?.category
            return category == .badIndex || category == .pageOrder || category == .missingPage
        }
    }

    @Test("a page whose frame is not the one the index means is refused")
    func otherFrame() throws {
        let header = LTXHeader(pageSize: 512, commit: 9, minTXID: TXID(2), maxTXID: TXID(2))
        var raw = RawFile(header: header)
        raw.frames = [.block(2, [UInt8](repeating: 1, count: 512))]
        var file = raw.bytes
        file[103] = 3
        var reader = try LTXPageReader(size: Int64(file.count), readAt: randomAccess(to: file))
        var page = [UInt8](repeating: 0, count: 512)
        #expect(throws: LTXError.index(.frame(2), offset: 100)) {
            try page.withUnsafeMutableBytes { try reader.readPage(2, into: $0) }
        }
    }
}
