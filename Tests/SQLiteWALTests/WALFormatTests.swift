import SQLiteWAL
import Testing

@Suite("WAL and frame headers")
struct WALFormatTests {
    @Test(
        "every page size and both byte orders are read",
        arguments: [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536],
        [false, true]
    )
    func pageSizes(pageSize: Int, bigEndian: Bool) throws {
        let image = WALImage(
            [.init(1), .init(2, commit: 2), .init(2, commit: 2)],
            pageSize: pageSize,
            bigEndian: bigEndian
        )
        let header = try #require(try image.reader.header())
        #expect(header.pageSize == UInt32(pageSize))
        #expect(header.bigEndianChecksums == bigEndian)
        #expect(header.magic == (bigEndian ? 0x377f_0683 : 0x377f_0682))
        #expect(header.sequence == 7)
        #expect(header.salt == WALSalt(salt1: 41, salt2: 0xfeed_beef))
        let scan = try image.reader.scan(from: .start(of: header))
        #expect(scan.pages.dictionary == [1: 1, 2: 3])
        #expect(scan.commits == 2)
        #expect(scan.end.offset == Int64(image.bytes.count))

        var page = [UInt8](repeating: 0, count: pageSize)
        try page.withUnsafeMutableBytes {
            try image.reader.readPage(frame: 3, pageSize: UInt32(pageSize), into: $0)
        }
        #expect(page == Array(image.bytes[(image.offset(ofFrame: 3) + 24)...]))
    }

    @Test("a file shorter than a header has none", arguments: [0, 1, 24, 31])
    func shortFile(count: Int) throws {
        #expect(try WALReader(over: Array(WALImage().bytes[..<count])).header() == nil)
    }

    @Test(
        "a wrong header field is refused by name",
        arguments: [
            (0, 0x377f_0681, WALError.magic(0x377f_0681)),
            (0, 0, .magic(0)),
            (8, 0, .pageSize(0)),
            (8, 1, .pageSize(1)),
            (8, 256, .pageSize(256)),
            (8, 513, .pageSize(513)),
            (8, 131_072, .pageSize(131_072)),
            (8, .max, .pageSize(.max)),
            (4, 3_007_001, .version(3_007_001)),
        ] as [(Int, UInt32, WALError)]
    )
    func refusedField(offset: Int, value: UInt32, error: WALError) {
        var image = WALImage()
        image.bytes.put(value, at: offset)
        image.reseal()
        #expect(throws: error) { try image.reader.header() }
    }

    @Test("one flipped bit in bytes 12–31 is a wrong checksum", arguments: 12..<32)
    func flippedHeaderBit(offset: Int) {
        var image = WALImage()
        image.bytes[offset] ^= 0x10
        let error = #expect(throws: WALError.self) { try image.reader.header() }
        guard case .headerChecksum = error else {
            Issue.record("refused as \(String(describing: error))")
            return
        }
    }

    @Test("decoding fewer bytes than a header has fails")
    func shortBuffers() {
        let bytes = WALImage([.init(1, commit: 1)]).bytes
        bytes.withUnsafeBytes { raw in
            #expect(throws: WALError.truncatedHeader(size: 31)) {
                try WALHeader(decoding: UnsafeRawBufferPointer(rebasing: raw[..<31]))
            }
            let frame = UnsafeRawBufferPointer(rebasing: raw[32..<55])
            #expect(WALFrameHeader(decoding: frame) == nil)
        }
    }

    @Test("errors name the field, the offset and the value")
    func descriptions() {
        let none = WALChecksum(s1: 1, s2: 0xabc)
        for (error, text) in [
            (WALError.magic(1), "offset 0: magic 0x00000001"),
            (.version(9), "offset 4: version 9"),
            (.pageSize(3), "offset 8: page size 3"),
            (.headerChecksum(stored: none, computed: .zero), "0x00000001 0x00000abc is stored"),
            (.truncatedHeader(size: 5), "5 of 32"),
            (.frameNumber(0), "frame number 0"),
            (.truncatedFrame(frame: 2, offset: 568), "frame 2 at offset 568"),
        ] {
            #expect("\(error)".contains(text))
        }
    }

    // BUGS B48: positions beyond 2 and 4 GiB.
    @Test(
        "frame numbers and offsets convert into each other at any size",
        arguments: [
            (1, 512, 32), (2, 512, 568), (2, 65_536, 65_592),
            (4_006_465, 512, 2_147_464_736), (32_767, 65_536, 2_148_138_992),
            (65_513, 65_536, 4_294_966_752), (65_514, 65_536, 4_295_032_312),
            (16_777_217, 65_536, 1_099_914_280_992), (.max, 65_536, 281_578_055_794_672),
        ] as [(UInt32, UInt32, Int64)]
    )
    func offsets(frame: UInt32, pageSize: UInt32, offset: Int64) {
        #expect(WALFrameHeader.offset(ofFrame: frame, pageSize: pageSize) == offset)
        #expect(WALFrameHeader.frame(atOffset: offset, pageSize: pageSize) == frame)
    }

    // BUGS B10 and B48: positions that no frame has come from old files and must not trap.
    @Test(
        "an offset between frames, below the header or out of range is no frame",
        arguments: [
            (.min, 512), (-1, 512), (0, 512), (31, 512), (33, 512), (567, 512), (569, 512),
            (1 << 31 - 1, 4096), (1 << 32 + 32, 4096), (.max, 512), (32, 0), (32, 513),
            (32, .max), (32 + 536 * (1 << 32), 512),
        ] as [(Int64, UInt32)]
    )
    func impossibleOffsets(offset: Int64, pageSize: UInt32) {
        #expect(WALFrameHeader.frame(atOffset: offset, pageSize: pageSize) == nil)
    }

    @Test("an offset that does not fit is none")
    func overflowingOffset() {
        #expect(WALFrameHeader.offset(ofFrame: 0, pageSize: 512) == nil)
        #expect(WALFrameHeader.offset(ofFrame: .max, pageSize: .max) == nil)
    }

    @Test(
        "the next generation has the first salt plus one, and any sequence number but 0",
        arguments: [
            (42, 8, true), (41, 7, false), (42, 7, true), (42, 1, true), (42, 0, false),
            (41, 8, false), (43, 9, false), (40, 6, false),
        ] as [(UInt32, UInt32, Bool)]
    )
    func nextGeneration(salt1: UInt32, sequence: UInt32, isNext: Bool) throws {
        let cursor = WALCursor.start(of: try #require(try WALImage().reader.header()))
        let later = WALImage(sequence: sequence, salt1: salt1, salt2: 3)
        let header = try #require(try later.reader.header())
        #expect(header.isNextGeneration(after: cursor) == isNext)
    }

    @Test("the salt goes round at 2³²")
    func nextGenerationWraps() throws {
        let last = WALImage(sequence: .max, salt1: .max)
        let cursor = WALCursor.start(of: try #require(try last.reader.header()))
        let first = try #require(try WALImage(sequence: 1, salt1: 0).reader.header())
        #expect(first.isNextGeneration(after: cursor))
    }
}
