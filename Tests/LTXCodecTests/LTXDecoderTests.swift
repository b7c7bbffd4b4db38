import LTXCodec
import TestSupport
import Testing

@Suite("LTX decoder")
struct LTXDecoderTests {
    private let header = LTXHeader(pageSize: 512, commit: 9, minTXID: TXID(2), maxTXID: TXID(2))

    private func file(_ frames: [RawFile.Frame]) -> [UInt8] {
        RawFile(header: header, frames: frames).bytes
    }

    // BUGS B02
    @Test(
        "frames and blocks may take turns, however the stream is cut",
        arguments: [512, 4096, 65536],
        [1, 2, 7, 100, .max]
    )
    func mixedEncodings(pageSize: Int, chunk: Int) throws {
        var random = SeededGenerator(seed: UInt64(pageSize))
        let text = random.page(pageSize)
        let noise = random.bytes(pageSize)
        var raw = RawFile(
            header: LTXHeader(
                pageSize: UInt32(pageSize),
                commit: 6,
                minTXID: TXID(1),
                maxTXID: TXID(1)
            )
        )
        raw.frames = [
            .frame(1, text), .block(2, text), .frame(3, noise), .block(4, noise), .frame(5, text),
            .frame(6, noise),
        ]
        let decoded = try DecodedFile(raw.bytes, chunk: chunk, bufferSize: 1)
        #expect(decoded.pages.map(\.bytes) == raw.frames.map(\.page))
    }

    // Found by scripts/fuzz: cut differently, the content checksum was at fault first.
    @Test(
        "a frame of more than a page has the same fault however the stream is cut",
        arguments: [1, 2, 7, 50, .max],
        [513, 600, 5000]
    )
    func longFrame(chunk: Int, length: Int) {
        var random = SeededGenerator(seed: UInt64(length))
        var frame = RawFile.Frame.frame(1, random.bytes(length))
        frame.stored[frame.stored.count - 1] ^= 1
        let fault = LTXError.pageLength(513, pageSize: 512, pgno: 1, offset: 106)
        #expect(throws: fault) { try DecodedFile(file([frame]), chunk: chunk) }
    }

    // BUGS B02
    @Test("unknown page flags are refused", arguments: 1..<16)
    func pageFlags(bit: UInt16) {
        var frame = RawFile.Frame.block(1, [UInt8](repeating: 0, count: 512))
        frame.flags |= 1 << bit
        #expect(throws: LTXError.pageFlags(frame.flags, pgno: 1, offset: 100)) {
            try DecodedFile(file([frame]))
        }
    }

    // BUGS B01
    @Test("a database on both sides of the lock page goes through, and only without that page")
    func lockPage() throws {
        let header = LTXHeader(
            flags: 0,
            pageSize: 65536,
            commit: 16386,
            minTXID: TXID(1),
            maxTXID: TXID(1)
        )
        let zeros = [UInt8](repeating: 0, count: 65536)
        var checksum = DatabaseChecksum()
        var file: [UInt8] = []
        var encoder = try LTXEncoder(header: header) { file.append(contentsOf: $0) }
        try zeros.withUnsafeBytes { page in
            for pgno: Pgno in 1...16384 {
                try encoder.append(pgno: pgno, page: page)
                checksum.toggle(pgno: pgno, page: page)
            }
            let offset = encoder.sizeInBytes
            #expect(throws: LTXError.lockPage(16385, offset: offset)) {
                try encoder.append(pgno: 16385, page: page)
            }
            try encoder.append(pgno: 16386, page: page)
            checksum.toggle(pgno: 16385, page: page)
            checksum.toggle(pgno: 16386, page: page)
        }
        _ = try encoder.finish(postApplyChecksum: checksum.value)

        var decoder = try LTXDecoder(read: source(of: file))
        var page = zeros
        var last: Pgno = 0
        while let pgno = try page.withUnsafeMutableBytes({ try decoder.nextPage(into: $0) }) {
            #expect(pgno == last + (last == 16384 ? 2 : 1))
            last = pgno
        }
        #expect(last == 16386)
        #expect(try decoder.finish().postApplyChecksum == checksum.value)
    }

    @Test("a snapshot whose last page is the lock page ends before it")
    func lockPageLast() throws {
        let header = LTXHeader(
            pageSize: 65536,
            commit: 16385,
            minTXID: TXID(1),
            maxTXID: TXID(1)
        )
        var size = 0
        var encoder = try LTXEncoder(header: header) { size += $0.count }
        try [UInt8](repeating: 0, count: 65536).withUnsafeBytes { page in
            for pgno: Pgno in 1...16384 { try encoder.append(pgno: pgno, page: page) }
        }
        #expect(try encoder.finish().pageCount == 16384)
    }

    @Test("a source error is passed on, and then again")
    func sourceFails() throws {
        struct Unplugged: Error {}
        let bytes = file([.block(1, [UInt8](repeating: 3, count: 512))])
        var read = 0
        let inner = source(of: bytes, chunk: 105)
        var decoder = try LTXDecoder { free in
            read += 1
            guard read == 1 else { throw Unplugged() }
            return try inner(free)
        }
        var page = [UInt8](repeating: 0, count: 512)
        for _ in 0..<2 {
            #expect(throws: Unplugged.self) {
                try page.withUnsafeMutableBytes { try decoder.nextPage(into: $0) }
            }
        }
        #expect(throws: Unplugged.self) { try decoder.finish() }
        #expect(read == 2)
    }

    @Test("a file cut anywhere is refused, never taken for a shorter one")
    func truncation() throws {
        var random = SeededGenerator(seed: 3)
        let bytes = file([.block(1, random.page(512)), .frame(2, random.page(512))])
        for count in 0..<bytes.count {
            let category = try faultCategory(Array(bytes.prefix(count)))
            #expect(category == "truncated", "cut to \(count) bytes")
            #expect(throws: LTXError.self) {
                _ = try LTXPageReader(
                    size: Int64(count),
                    readAt: randomAccess(to: Array(bytes.prefix(count)))
                )
            }
        }
    }

    // The checksum is made over pages as they are uncompressed, so a match that finds the same
    // bytes elsewhere is no fault.
    @Test("a flipped bit anywhere is noticed, or makes no difference")
    func flippedBits() throws {
        var random = SeededGenerator(seed: 4)
        let bytes = file([.block(1, random.page(512)), .block(2, random.page(512))])
        for bit in 0..<bytes.count * 8 {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            if try faultCategory(flipped) == nil {
                #expect(try DecodedFile(flipped) == DecodedFile(bytes), "bit \(bit)")
            }
        }
    }

    // BUGS B49
    @Test("damage is found unless the checksum was made to fit, which is for SQLite to find")
    func damagedPage() throws {
        var random = SeededGenerator(seed: 49)
        let page = random.bytes(512)
        let good = file([.block(1, page)])
        var damaged = good
        damaged[100 + 10 + 250] ^= 0xFF
        #expect(try faultCategory(damaged) == "file-checksum")

        var other = page
        for place in 200..<216 { other[place] ^= 0xFF }
        #expect(try DecodedFile(file([.block(1, other)])).pages[0].bytes == other)
    }

    // BUGS B08
    @Test("what another version left behind is refused in one line")
    func foreignFiles() throws {
        // Page headers were four bytes long once: then the block's size reads as page flags.
        let block = RawFile.Frame.block(1, [UInt8](repeating: 3, count: 512))
        var raw = [UInt8](repeating: 0, count: LTXHeader.size)
        raw.withUnsafeMutableBytes { header.encode(into: $0) }
        let old = raw + bigEndian(UInt32(1)) + block.stored.dropFirst(4)
        #expect(try faultCategory(old) != nil)

        var random = SeededGenerator(seed: 8)
        #expect(try faultCategory(random.bytes(60)) == "truncated")
        let junk = random.bytes(600)
        #expect(throws: LTXError.magic(junk[..<4].reduce(0) { $0 << 8 | UInt32($1) })) {
            try DecodedFile(junk)
        }
    }

    @Test("a declared size is bounded before it is believed", arguments: [529, 1 << 31, .max])
    func declaredSize(size: UInt32) {
        var frame = RawFile.Frame.block(1, [UInt8](repeating: 0, count: 512))
        frame.stored.replaceSubrange(0..<4, with: bigEndian(size))
        // The longest block of 512 bytes has 512 + 2 + 16 bytes, by the library's bound.
        let bound: UInt32 = 530
        #expect {
            try DecodedFile(file([frame]))
        } throws: { error in
            let expected: LTXError =
                size > bound
                ? .compression(.declaredSize(size), pgno: 1, offset: 106)
                : .truncated(.pageData, offset: Int64(file([frame]).count))
            return error as? LTXError == expected
        }
    }

    @Test("a match with offset 0 is refused wherever it stands", arguments: [0, 20, 300])
    func zeroOffset(before: Int) {
        // Literals, a match of 100 bytes with offset 0, literals.
        func literals(_ count: Int, matchToken: UInt8) -> [UInt8] {
            var bytes: [UInt8] = [UInt8(min(count, 15)) << 4 | matchToken]
            var rest = count - 15
            while rest >= 0 {
                bytes.append(UInt8(min(rest, 255)))
                if rest < 255 { break }
                rest -= 255
            }
            return bytes + (0..<count).map { UInt8($0 & 0x7F) + 1 }
        }
        let block =
            literals(before + 8, matchToken: 15) + [0, 0, 100 - 19]
            + literals(512 - 100 - before - 8, matchToken: 0)
        var frame = RawFile.Frame.block(1, [UInt8](repeating: 0, count: 512))
        frame.stored = bigEndian(UInt32(block.count)) + block
        #expect {
            try DecodedFile(file([frame]))
        } throws: { ($0 as? LTXError)?.category == .badCompression }
    }
}
