import LTXCodec
import TestSupport
import Testing

@Suite("LTX encoder")
struct LTXEncoderTests {
    private let page = [UInt8](repeating: 5, count: 512)

    private func header(
        commit: UInt32 = 9,
        minTXID: UInt64 = 2,
        flags: UInt32 = LTXHeader.noChecksumFlag,
        preApply: Checksum = .none
    ) -> LTXHeader {
        LTXHeader(
            flags: flags,
            pageSize: 512,
            commit: commit,
            minTXID: TXID(minTXID),
            maxTXID: TXID(minTXID + 1),
            preApplyChecksum: preApply
        )
    }

    private func pages(_ numbers: [Pgno]) -> [DecodedFile.Page] {
        numbers.map { DecodedFile.Page(pgno: $0, bytes: page) }
    }

    @Test(
        "what is decoded is what was encoded, at every page size",
        arguments: (9...16).map { 1 << $0 },
        0..<4 as Range<UInt64>
    )
    func roundTrip(pageSize: Int, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed << 32 | UInt64(pageSize))
        let isSnapshot = seed % 2 == 0
        let commit = UInt32.random(in: 1...40, using: &random)
        let header = LTXHeader(
            pageSize: UInt32(pageSize),
            commit: commit,
            minTXID: TXID(isSnapshot ? 1 : 7),
            maxTXID: TXID(9),
            timestamp: Int64.random(in: .min ... .max, using: &random)
        )
        var pages: [DecodedFile.Page] = []
        for pgno in 1...commit where isSnapshot || Bool.random(using: &random) {
            pages.append(DecodedFile.Page(pgno: pgno, bytes: random.page(pageSize)))
        }
        let file = try encoded(header, pages)
        for chunk in [Int.max, 1000] {
            let decoded = try DecodedFile(file, chunk: chunk, bufferSize: 1)
            #expect(decoded.header == header)
            #expect(decoded.pages == pages)
        }
        var reader = try LTXPageReader(size: Int64(file.count), readAt: randomAccess(to: file))
        #expect(reader.index.map(\.pgno) == pages.map(\.pgno))
        var buffer = [UInt8](repeating: 0, count: pageSize)
        for page in pages.shuffled(using: &random) {
            #expect(try buffer.withUnsafeMutableBytes { try reader.readPage(page.pgno, into: $0) })
            #expect(buffer == page.bytes)
        }
    }

    @Test(
        "what is encoded is what Litestream wrote from the same pages",
        .enabled(if: Shared.isPresent, Shared.missing)
    )
    func sameAsGolden() throws {
        // Compressors may differ in their choices; what surrounds the blocks may not.
        let path = "buckets/ps4096/ltx/0/0000000000000001-0000000000000001.ltx"
        let golden = try DecodedFile(goldenBytes(path))
        let ours = try DecodedFile(encoded(golden.header, golden.pages))
        #expect(ours.header == golden.header)
        #expect(ours.pages == golden.pages)
    }

    @Test("the bytes of a small file are these")
    func bytes() throws {
        let header = header(commit: 3)
        let file = try encoded(header, pages([2, 3]))
        var expected = RawFile(header: header)
        expected.frames = [.block(2, page), .block(3, page)]
        #expect(file == expected.bytes)
    }

    @Test("a deletion has commit 0 and no page", arguments: [1, 2] as [UInt64])
    func deletion(minTXID: UInt64) throws {
        let file = try DecodedFile(encoded(header(commit: 0, minTXID: minTXID), []))
        #expect(file.header.commit == 0)
        #expect(file.pages.isEmpty)
        // BUGS B07: nothing is left of the database.
        #expect(file.applied(to: page + page) == [])
    }

    @Test("a file may change the size and no page")
    func onlyCommit() throws {
        let file = try encoded(header(commit: 3), [])
        #expect(file.count == 131)
        #expect(try DecodedFile(file).pages.isEmpty)
    }

    // BUGS B07
    @Test("a shrinking file without checksums leaves exactly its commit size")
    func shrinks() throws {
        let file = try DecodedFile(encoded(header(commit: 4), pages([1, 4])))
        let before = [UInt8](repeating: 1, count: 10 * 512)
        let after = file.applied(to: before)
        #expect(after.count == 4 * 512)
        #expect(after == page + before[512..<1536] + page)
    }

    @Test("a page that may not stand in the file is refused, and the file goes on without it")
    func refusesPages() throws {
        var file: [UInt8] = []
        var encoder = try LTXEncoder(header: header()) { file.append(contentsOf: $0) }
        try encoder.append(3, page)
        let next = encoder.sizeInBytes
        let refusals: [(Pgno, [UInt8], LTXError)] = [
            (0, page, .pageNumber(flags: 1, offset: next)),
            (3, page, .pageOrder(3, after: 3, offset: next)),
            (2, page, .pageOrder(2, after: 3, offset: next)),
            (10, page, .pageBeyondCommit(10, commit: 9, offset: next)),
            (4, [], .pageLength(0, pageSize: 512, pgno: 4, offset: next)),
            (4, page.dropLast(), .pageLength(511, pageSize: 512, pgno: 4, offset: next)),
            (4, page + [0], .pageLength(513, pageSize: 512, pgno: 4, offset: next)),
        ]
        for (pgno, page, expected) in refusals {
            var error: LTXError?
            do { try encoder.append(pgno, page) } catch let refusal as LTXError { error = refusal }
            #expect(error == expected)
        }
        try encoder.append(9, page)
        _ = try encoder.finish()
        #expect(try DecodedFile(file).pages == pages([3, 9]))
    }

    @Test("a snapshot has every page")
    func snapshotGaps() {
        let header = header(commit: 3, minTXID: 1)
        #expect(throws: LTXError.missingPage(1, found: 2, offset: 100)) {
            try encoded(header, pages([2]))
        }
        #expect(throws: (any Error).self) { try encoded(header, pages([1, 3])) }
        #expect(throws: (any Error).self) { try encoded(header, pages([1, 2])) }
        #expect(throws: LTXError.missingPage(1, found: nil, offset: 100)) {
            try encoded(header, [])
        }
        #expect(throws: Never.self) { try encoded(header, pages([1, 2, 3])) }
    }

    @Test("a file that keeps checksums has those of the database before and after it")
    func keepsChecksums() throws {
        var checksum = DatabaseChecksum()
        page.withUnsafeBytes { page in
            checksum.toggle(pgno: 1, page: page)
            checksum.toggle(pgno: 2, page: page)
        }
        let snapshot = header(commit: 2, minTXID: 1, flags: 0)
        let file = try encoded(snapshot, pages([1, 2]), postApplyChecksum: checksum.value)
        #expect(try DecodedFile(file).trailer.postApplyChecksum == checksum.value)

        let wrong = Checksum(crc: 1)
        #expect {
            try encoded(snapshot, pages([1, 2]), postApplyChecksum: wrong)
        } throws: { ($0 as? LTXError)?.category == .databaseChecksum }
        #expect {
            try encoded(snapshot, pages([1, 2]))
        } throws: { ($0 as? LTXError)?.category == .badChecksumFields }
        #expect {
            try encoded(header(), pages([1]), postApplyChecksum: wrong)
        } throws: { ($0 as? LTXError)?.category == .badChecksumFields }

        // Only the database itself could tell whether those of a later file are right.
        let later = header(flags: 0, preApply: checksum.value)
        let decoded = try DecodedFile(encoded(later, pages([1]), postApplyChecksum: wrong))
        #expect(decoded.header.preApplyChecksum == checksum.value)
        #expect(decoded.trailer.postApplyChecksum == wrong)
    }

    @Test("a failed write fails the file for good")
    func writeFails() throws {
        struct NoSpace: Error {}
        var random = SeededGenerator(seed: 9)
        let header = LTXHeader(
            pageSize: 65536,
            commit: 100,
            minTXID: TXID(2),
            maxTXID: TXID(2)
        )
        var calls = 0
        var encoder = try LTXEncoder(header: header) { _ in
            calls += 1
            throw NoSpace()
        }
        let noise = random.bytes(65536)
        for pgno: Pgno in 1...3 { try encoder.append(pgno, noise) }
        for pgno: Pgno in 4...5 {
            var failed = false
            do { try encoder.append(pgno, noise) } catch is NoSpace { failed = true }
            #expect(failed)
        }
        var failed = false
        do { _ = try encoder.finish() } catch is NoSpace { failed = true }
        #expect(failed)
        #expect(calls == 1)
    }
}

extension LTXEncoder {
    fileprivate mutating func append(_ pgno: Pgno, _ page: [UInt8]) throws {
        try page.withUnsafeBytes { try append(pgno: pgno, page: $0) }
    }
}
