import SQLiteWAL
import TestSupport
import Testing

@Suite("damaged WALs")
struct WALMutationTests {
    @Test(
        "whatever the damage, reading ends where the obvious method ends",
        .enabled(if: Shared.isPresent, Shared.missing),
        arguments: GoldenWAL.all
    )
    func mutations(wal: GoldenWAL) throws {
        let original = try wal.bytes()
        for seed in 0..<60 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            var image = WALImage(bytes: original.mutated(using: &random))
            // Without this, hardly any damage would get past the checksums.
            if seed % 2 == 0 { image.reseal() }
            try check(image, using: &random, "seed \(seed)")
        }
    }

    @Test("bytes without any sense are refused or end", arguments: 0..<64)
    func noise(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let count = Int.random(in: 0...3000, using: &random)
        var image = WALImage(bytes: (0..<count).map { _ in .random(in: 0...255, using: &random) })
        image.reseal()
        try check(image, using: &random, "seed \(seed)")
    }

    private func check(
        _ image: WALImage,
        using random: inout SeededGenerator,
        _ comment: Comment
    ) throws {
        let reader = image.reader
        var cursors = (0..<3).map { _ in WALCursor.random(using: &random) }
        do {
            if let header = try reader.header() {
                let scan = try reader.scan(from: .start(of: header)) { cursors.append($0.end) }
                let expected = NaiveWAL(image.bytes)
                #expect(scan.pages.dictionary == expected.map, comment)
                #expect(scan.commits == expected.commits.count, comment)
                #expect(scan.frames == Int(expected.commits.last?.frame ?? 0), comment)
                #expect(scan.validFrames == expected.validFrames, comment)
                #expect(scan.stop == expected.stop, comment)
                var wild = WALCursor.random(using: &random)
                wild.salt = header.salt
                wild.pageSize = header.pageSize
                wild.nextFrame %= 64
                cursors.append(wild)
            }
        } catch is WALError {
            // A refused header is an answer, too.
        }
        for cursor in cursors.suffix(8) {
            do {
                let scan = try reader.scan(from: cursor)
                #expect(scan.end.nextFrame >= cursor.nextFrame, comment)
                #expect(scan.frames == Int(scan.end.nextFrame - cursor.nextFrame), comment)
                #expect(scan.validFrames >= scan.frames, comment)
                #expect(scan.frames == 0 || scan.end.offset <= image.bytes.count, comment)
                #expect(try reader.continues(cursor) == (scan.validFrames > 0), comment)
                #expect(
                    scan.pages.allSatisfy {
                        $0.frame >= cursor.nextFrame && $0.frame < scan.end.nextFrame
                            && $0.pgno <= scan.end.commit
                    },
                    comment
                )
                if scan.frames > 0 { #expect(try reader.holds(scan.end), comment) }
            } catch is WALError {
                #expect(
                    cursor.nextFrame == 0 || cursor.nextFrame == .max
                        || !WALHeader.isPageSize(cursor.pageSize),
                    comment
                )
            }
        }
    }
}

extension WALCursor {
    fileprivate static func random(using random: inout SeededGenerator) -> WALCursor {
        func word() -> UInt32 {
            [0, 1, 2, .max - 1, .max, .random(in: 0...(.max), using: &random)]
                .randomElement(using: &random) ?? 0
        }
        return WALCursor(
            salt: WALSalt(salt1: word(), salt2: word()),
            sequence: word(),
            pageSize: Bool.random(using: &random) ? 512 << (word() % 8) : word(),
            bigEndianChecksums: .random(using: &random),
            nextFrame: word(),
            checksum: WALChecksum(s1: word(), s2: word()),
            commit: word()
        )
    }
}

extension [UInt8] {
    /// One to four random changes of a kind that disks, crashes and bad programs make.
    fileprivate func mutated(using random: inout SeededGenerator) -> [UInt8] {
        var bytes = self
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            guard !bytes.isEmpty else { break }
            let at = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<7, using: &random) {
            case 0: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1: bytes[at] = .random(in: 0...255, using: &random)
            case 2: bytes.removeSubrange(at...)
            case 3: bytes.append(contentsOf: bytes[at...].prefix(2000))
            case 4: bytes.append(contentsOf: repeatElement(0, count: at % 3000))
            case 5: bytes.removeSubrange(at..<Swift.min(at + 8, bytes.count))
            default:
                // A word of some frame header, if the file is long enough to have one.
                let pageSize = bytes.count < 12 ? 512 : Int(bytes.word(at: 8))
                let frame = 32 + (at / (24 + pageSize)) * (24 + pageSize)
                let field = frame + 4 * Int.random(in: 0..<6, using: &random)
                guard field + 4 <= bytes.count else { continue }
                bytes.put([0, 1, 2, 5, .max].randomElement(using: &random) ?? 0, at: field)
            }
        }
        return bytes
    }
}
