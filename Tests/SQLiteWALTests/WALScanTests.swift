import Foundation
import SQLiteWAL
import TestSupport
import Testing

@Suite("scanning a WAL")
struct WALScanTests {
    /// Two transactions and two frames of a third, whose commit frame has not come.
    private static let image = WALImage([
        .init(1), .init(2), .init(3, commit: 3), .init(2, commit: 3), .init(1), .init(4),
    ])

    private func start(of image: WALImage) throws -> WALCursor {
        .start(of: try #require(try image.reader.header()), commit: 9)
    }

    @Test("a WAL with a header and no frame leaves the cursor where it is")
    func headerOnly() throws {
        let image = WALImage()
        let scan = try image.reader.scan(from: try start(of: image))
        #expect(scan.end == (try start(of: image)))
        #expect(scan.end.commit == 9)
        #expect(scan.pages.isEmpty)
        #expect(scan.pages.count == 0)
        #expect(scan.commits == 0)
        #expect(scan.stop == .endOfFile)
    }

    @Test("an empty file ends a scan at once")
    func emptyFile() throws {
        let cursor = try start(of: WALImage())
        let reader = WALReader(over: [])
        #expect(try reader.scan(from: cursor).stop == .endOfFile)
        #expect(try reader.holds(cursor) == false)
        #expect(try reader.continues(cursor) == false)
    }

    // BUGS B12: SQLite rewrites the frames of a running transaction in place.
    @Test("frames behind the last commit frame are seen and not taken")
    func uncommittedTail() throws {
        let scan = try Self.image.reader.scan(from: try start(of: Self.image))
        #expect(scan.pages.dictionary == [1: 1, 2: 4, 3: 3])
        #expect(scan.frames == 4)
        #expect(scan.validFrames == 6)
        #expect(scan.end.nextFrame == 5)
        #expect(scan.end.commit == 3)

        // The transaction's frames are written again with other pages, and then committed.
        var frames: [WALImage.Frame] = [
            .init(1), .init(2), .init(3, commit: 3), .init(2, commit: 3),
        ]
        frames += [.init(5), .init(4), .init(6, commit: 6)]
        let later = WALImage(frames)
        let rest = try later.reader.scan(from: scan.end)
        #expect(rest.pages.dictionary == [4: 6, 5: 5, 6: 7])
        #expect(rest.end.nextFrame == 8)
        #expect(rest.commits == 1)
    }

    @Test(
        "a scan leaves alone what lies behind the last frame it is given",
        arguments: [(0, 0, 0), (1, 1, 0), (3, 3, 3), (4, 4, 4), (5, 5, 4), (6, 6, 4), (7, 6, 4)]
            as [(UInt32, Int, Int)]
    )
    func lastFrame(through: UInt32, valid: Int, committed: Int) throws {
        let start = try start(of: Self.image)
        let scan = try Self.image.reader.scan(from: start, through: through)
        #expect(scan.validFrames == valid)
        #expect(scan.frames == committed)
        #expect(scan.stop == .endOfFile)
    }

    @Test(
        "a scan stops in front of the first frame that is not valid",
        arguments: [
            (0, UInt32(9), WALEnd.checksumMismatch), (4, 1, .checksumMismatch),
            (8, 40, .saltMismatch), (12, 0, .saltMismatch), (16, 0, .checksumMismatch),
            (20, 0, .checksumMismatch), (24, 1, .checksumMismatch), (532, 1, .checksumMismatch),
            (0, 0, .pageZero),
        ]
    )
    func stops(offset: Int, value: UInt32, stop: WALEnd) throws {
        var image = Self.image
        image.bytes.put(value, at: image.offset(ofFrame: 4) + offset)
        let scan = try image.reader.scan(from: try start(of: image))
        #expect(scan.stop == stop)
        #expect(scan.validFrames == 3)
        #expect(scan.end.nextFrame == 4)
    }

    // BUGS B09: pages above the last commit size.
    @Test("a page that a shrink cuts off comes back only if it is written again")
    func shrink() throws {
        let cases: [([WALImage.Frame], [UInt32: UInt32])] = [
            ([.init(1), .init(4, commit: 4), .init(1, commit: 2)], [1: 3]),
            ([.init(4, commit: 4), .init(1, commit: 2), .init(1, commit: 4)], [1: 3]),
            (
                [.init(4, commit: 4), .init(1, commit: 2), .init(4), .init(3, commit: 4)],
                [1: 2, 3: 4, 4: 3]
            ),
            ([.init(3), .init(2), .init(1, commit: 2), .init(1, commit: 5)], [1: 4, 2: 2]),
            (
                [
                    .init(5, commit: 9), .init(1, commit: 7), .init(6, commit: 6),
                    .init(2, commit: 8),
                ],
                [1: 2, 2: 4, 5: 1, 6: 3]
            ),
            ([.init(.max, commit: .max), .init(1, commit: .max - 1)], [1: 2]),
        ]
        for (frames, expected) in cases {
            let image = WALImage(frames)
            let scan = try image.reader.scan(from: try start(of: image))
            #expect(scan.pages.dictionary == expected)
            #expect(NaiveWAL(image.bytes).map == expected)
        }
    }

    // BUGS B10: places that old files remember.
    @Test("an impossible cursor is refused, not followed")
    func impossibleCursors() throws {
        let reader = Self.image.reader
        let good = try start(of: Self.image)
        var cursor = good
        for frame in [0, UInt32.max] {
            cursor.nextFrame = frame
            #expect(throws: WALError.frameNumber(frame)) { try reader.scan(from: cursor) }
            #expect(throws: WALError.frameNumber(frame)) { try reader.continues(cursor) }
            #expect(throws: WALError.frameNumber(frame)) { try reader.holds(cursor) }
            #expect(cursor.offset >= 32)
        }
        cursor = good
        for pageSize in [0, 1, 513, 131_072, UInt32.max] {
            cursor.pageSize = pageSize
            cursor.nextFrame = .max - 1
            #expect(throws: WALError.pageSize(pageSize)) { try reader.scan(from: cursor) }
            #expect(throws: WALError.pageSize(pageSize)) { try reader.holds(cursor) }
            #expect(throws: WALError.pageSize(pageSize)) {
                try reader.frameHeader(at: 1, pageSize: pageSize)
            }
            #expect(cursor.offset >= 32)
        }
    }

    // BUGS B10: offset and size of the last LTX file may sit on the WAL header.
    @Test(
        "the WAL range of an old LTX file becomes a cursor, or is an unknown place",
        arguments: [
            (32, 0, 1), (32, 100, nil), (32, 536, 2), (32, 3 * 536, 4), (1104, 536, 4),
            (0, 0, nil), (0, 32, nil), (.max, .max, nil), (32, .min, nil), (568, -536, nil),
            (32, -32, nil), (32, 9 * 536, nil),
        ] as [(Int64, Int64, UInt32?)]
    )
    func takenOverRange(offset: Int64, size: Int64, nextFrame: UInt32?) throws {
        let reader = Self.image.reader
        let header = try #require(try reader.header())
        let cursor = try WALFrameHeader.frame(behindOffset: offset, size: size, pageSize: 512)
            .flatMap {
                try reader.cursor(behind: $0 - 1, of: header, commit: 0)
            }
        #expect(cursor?.nextFrame == nextFrame)
        guard let cursor else { return }
        #expect(try reader.holds(cursor))
        #expect(
            try reader.scan(from: cursor).end == (try reader.scan(from: start(of: Self.image)).end)
        )
    }

    @Test("a cursor behind the end of the file finds nothing")
    func cursorBehindTheEnd() throws {
        var cursor = try start(of: Self.image)
        for frame in [7, 8, 1000, UInt32.max - 1] {
            cursor.nextFrame = frame
            let scan = try Self.image.reader.scan(from: cursor)
            #expect(scan.end == cursor)
            #expect(scan.stop == .endOfFile)
            #expect(try Self.image.reader.continues(cursor) == false)
        }
    }

    @Test("a cursor holds while the frame before it is the same")
    func holds() throws {
        let reader = Self.image.reader
        let start = try start(of: Self.image)
        let end = try reader.scan(from: start).end
        #expect(try reader.holds(start))
        #expect(try reader.holds(end))
        #expect(try reader.continues(end))
        for change in [
            { $0.checksum.s1 ^= 1 }, { $0.checksum.s2 ^= 1 }, { $0.salt.salt1 ^= 1 },
            { $0.salt.salt2 ^= 1 }, { $0.nextFrame -= 1 }, { $0.nextFrame = 70 },
        ] as [(inout WALCursor) -> Void] {
            var other = end
            change(&other)
            #expect(try reader.holds(other) == false)
            #expect(try reader.continues(other) == false)
        }
        for change in [
            { $0.sequence += 1 }, { $0.pageSize = 1024 }, { $0.bigEndianChecksums = true },
            { $0.salt.salt2 ^= 1 }, { $0.checksum.s1 ^= 1 },
        ] as [(inout WALCursor) -> Void] {
            var other = start
            change(&other)
            #expect(try reader.holds(other) == false)
        }
        var damaged = Self.image
        damaged.bytes[0] = 0
        #expect(try damaged.reader.holds(start) == false)
    }

    @Test("after a restart the rest of the old generation can still be read")
    func leftovers() throws {
        let old = Self.image
        let header = try #require(try old.reader.header())
        var cursor = WALCursor.start(of: header)
        _ = try old.reader.scan(from: cursor) { if $0.firstFrame == 1 { cursor = $0.end } }
        #expect(cursor.nextFrame == 4)
        let next = WALImage([.init(7, commit: 9)], sequence: 8, salt1: 42, salt2: 1)
        var restarted = old
        restarted.bytes.replaceSubrange(..<next.bytes.count, with: next.bytes)

        let newHeader = try #require(try restarted.reader.header())
        #expect(newHeader.isNextGeneration(after: cursor))
        #expect(try restarted.reader.holds(cursor))
        #expect(try restarted.reader.continues(cursor))
        let rest = try restarted.reader.scan(from: cursor)
        #expect(rest.pages.dictionary == [2: 4])
        #expect(rest.stop == .endOfFile)
        let fresh = try restarted.reader.scan(from: .start(of: newHeader))
        #expect(fresh.pages.dictionary == [7: 1])
        #expect(fresh.stop == .saltMismatch)
        #expect(try restarted.reader.writtenFrames(of: newHeader) == 1)
        #expect(try restarted.reader.cursor(behind: 3, of: newHeader, commit: 3) == nil)
        #expect(try restarted.reader.cursor(behind: 60, of: newHeader, commit: 3) == nil)
        #expect(try restarted.reader.cursor(behind: .max, of: newHeader, commit: 3) == nil)
    }

    @Test("frames and pages that the file does not have are not given")
    func missingFrames() throws {
        let reader = Self.image.reader
        #expect(try reader.frameHeader(at: 6, pageSize: 512)?.pgno == 4)
        #expect(try reader.frameHeader(at: 7, pageSize: 512) == nil)
        #expect(try reader.frameHeader(at: 0, pageSize: 512) == nil)
        #expect(try reader.frameHeader(at: .max, pageSize: 65_536) == nil)
        var page = [UInt8](repeating: 0, count: 512)
        page.withUnsafeMutableBytes { page in
            #expect(throws: WALError.truncatedFrame(frame: 7, offset: 3248)) {
                try reader.readPage(frame: 7, pageSize: 512, into: page)
            }
            #expect(throws: WALError.frameNumber(0)) {
                try reader.readPage(frame: 0, pageSize: 512, into: page)
            }
            #expect(throws: WALError.pageSize(0)) {
                try reader.readPage(frame: 1, pageSize: 0, into: page)
            }
        }
    }

    @Test("reads that give a few bytes at a time are put together", arguments: [1, 7, 535, 537])
    func shortReads(most: Int) throws {
        let whole = try Self.image.reader.scan(from: try start(of: Self.image))
        let reader = WALReader(over: Self.image.bytes, most: most)
        #expect(try reader.header() == (try Self.image.reader.header()))
        #expect(try reader.scan(from: try start(of: Self.image)) == whole)
    }

    @Test("an error of the file reaches the caller as it is")
    func readErrors() throws {
        struct Unplugged: Error {}
        let cursor = try start(of: Self.image)
        let reader = WALReader { _, _ in throw Unplugged() }
        #expect(throws: Unplugged.self) { try reader.header() }
        #expect(throws: Unplugged.self) { try reader.scan(from: cursor) }
        #expect(throws: Unplugged.self) { try reader.holds(cursor) }
        #expect(throws: Unplugged.self) {
            try Self.image.reader.scan(from: cursor) { _ in throw Unplugged() }
        }
    }

    @Test(
        "a scan reads in chunks of at most 256 KiB, and each byte once",
        arguments: [512, 65_536]
    )
    func chunks(pageSize: Int) throws {
        let count = 3 * 262_144 / pageSize
        let frames = (1...UInt32(count)).map { WALImage.Frame($0, commit: $0 % 5 == 0 ? $0 : 0) }
        let image = WALImage(frames, pageSize: pageSize)
        let start = try start(of: image)
        var read = 0
        let reader = WALReader { offset, buffer in
            #expect(buffer.count <= 262_144)
            let bytes = image.bytes[min(Int(offset), image.bytes.count)...].prefix(buffer.count)
            buffer.copyBytes(from: bytes)
            read += bytes.count
            return bytes.count
        }
        let scan = try reader.scan(from: start)
        #expect(scan.commits == count / 5)
        #expect(scan.pages.dictionary == NaiveWAL(image.bytes).map)
        #expect(read == image.bytes.count - 32)
    }

    // BUGS B48.
    @Test("frames beyond 4 GiB of a sparse file are read")
    func beyondFourGigabytes() throws {
        try withTemporaryDirectory { directory in
            let image = WALImage(
                [.init(.max - 1), .init(7, commit: .max)],
                pageSize: 65_536,
                bigEndian: true
            )
            var cursor = try start(of: image)
            let file = directory.appending(path: "sparse-wal")
            _ = FileManager.default.createFile(atPath: file.path, contents: nil)
            let handle = try FileHandle(forUpdating: file)
            defer { try? handle.close() }
            for frame in [32_767, 65_514, 81_920, 16_777_216] as [UInt32] {
                cursor.nextFrame = frame
                try handle.truncate(atOffset: UInt64(cursor.offset))
                try handle.seek(toOffset: UInt64(cursor.offset))
                try handle.write(contentsOf: Data(image.bytes[32...]))
                let reader = WALReader { offset, buffer in
                    pread(handle.fileDescriptor, buffer.baseAddress, buffer.count, off_t(offset))
                }
                let scan = try reader.scan(from: cursor)
                #expect(scan.pages.dictionary == [UInt32.max - 1: frame, 7: frame + 1])
                #expect(scan.end.nextFrame == frame + 2)
                #expect(try reader.holds(scan.end))
                #expect(try reader.frameHeader(at: frame + 1, pageSize: 65_536)?.commit == .max)
            }
        }
    }

    @Test("the last frame number that there is ends in an error, not in a trap")
    func lastFrameNumber() throws {
        let image = WALImage([.init(1, commit: 1), .init(2, commit: 2)])
        var cursor = try start(of: image)
        cursor.nextFrame = .max - 1
        let reader = WALReader(over: Array(image.bytes[32...]), base: cursor.offset)
        #expect(throws: WALError.frameNumber(.max)) { try reader.scan(from: cursor) }
        #expect(try reader.continues(cursor))
    }
}
