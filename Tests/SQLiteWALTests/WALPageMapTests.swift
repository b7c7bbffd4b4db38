import SQLiteWAL
import TestSupport
import Testing

@Suite("the page map")
struct WALPageMapTests {
    private func map(_ pages: [UInt32], commit: UInt32 = .max) throws -> WALPageMap {
        var frames = pages.map { WALImage.Frame($0) }
        if let last = pages.last { frames[frames.count - 1] = .init(last, commit: commit) }
        let image = WALImage(frames)
        let header = try #require(try image.reader.header())
        return try image.reader.scan(from: .start(of: header)).pages
    }

    @Test("pages come in ascending order, however they were written")
    func ascending() throws {
        let map = try map([9, 2, .max, 700, 2, 1])
        #expect(map.map(\.pgno) == [1, 2, 9, 700, .max])
        #expect(map.map(\.frame) == [6, 5, 1, 4, 3])
        var visited: [UInt32] = []
        map.forEachAscending { pgno, frame in
            #expect(map[pgno] == frame)
            visited.append(pgno)
        }
        #expect(visited == map.map(\.pgno))
        #expect(map.count == 5)
        for pgno in [0, 3, 8, 10, 701, UInt32.max - 1] { #expect(map[pgno] == nil) }
        #expect(WALPageMap().isEmpty)
        #expect(WALPageMap()[1] == nil)
    }

    // BUGS B14: a hole in what a database grew by proves missed frames.
    @Test("the first page missing from a growth is found")
    func holes() throws {
        let none: UInt32? = nil
        let cases: [([UInt32], UInt32, UInt32, UInt32, UInt32?)] = [
            ([1, 20], 10, 20, 99, 11),
            ([1, 11, 12, 13], 10, 13, 99, none),
            ([11, 12, 14], 10, 14, 99, 13),
            ([11, 12], 10, 13, 99, 13),
            ([], 10, 11, 99, 11),
            ([], 10, 10, 99, none),
            ([], 10, 4, 99, none),
            ([1], 0, 1, 99, none),
            ([11, 12, 14, 15], 10, 15, 13, none),
            ([11, 12, 14], 10, 15, 13, 15),
            ([11, 12], 10, 13, 13, none),
            ([11, 12], 10, 14, 13, 14),
            ([12, 13], 10, 13, 11, none),
            ([13], 10, 13, 11, 12),
            ([11, 12, 13], 10, 13, 12, none),
            ([11, 12, 14], 10, 14, 12, 13),
            ([.max], .max - 1, .max, 99, none),
            ([], .max - 1, .max, .max, none),
            ([], .max - 2, .max, .max - 1, .max),
        ]
        for (pages, previous, commit, lockPage, hole) in cases {
            let map = try map(pages)
            let found = map.firstHole(growingFrom: previous, to: commit, lockPage: lockPage)
            #expect(found == hole, "\(pages) from \(previous) to \(commit) around \(lockPage)")
        }
    }

    @Test("any series of transactions gives the map of the obvious method", arguments: 0..<200)
    func randomTransactions(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let pages = UInt32.random(in: 2...60, using: &random)
        let frames = (0..<Int.random(in: 1...150, using: &random)).map { _ in
            let commits = Int.random(in: 0..<3, using: &random) == 0
            return WALImage.Frame(
                .random(in: 1...pages, using: &random),
                commit: commits ? .random(in: 1...pages, using: &random) : 0
            )
        }
        let image = WALImage(frames, bigEndian: seed % 2 == 0)
        let expected = NaiveWAL(image.bytes)
        let header = try #require(try image.reader.header())
        let scan = try image.reader.scan(from: .start(of: header))
        #expect(scan.pages.dictionary == expected.map, "seed \(seed)")
        #expect(scan.commits == expected.commits.count, "seed \(seed)")
        #expect(scan.smallestCommit == expected.commits.map(\.size).min(), "seed \(seed)")

        // In two parts, it is the same.
        var places: [WALCursor] = []
        _ = try image.reader.scan(from: .start(of: header)) { places.append($0.end) }
        for place in places {
            let older = try image.reader.scan(
                from: .start(of: header),
                through: place.nextFrame - 1
            )
            #expect(older.end == place, "seed \(seed)")
            let newer = try image.reader.scan(from: place)
            #expect(older.pages.overlaid(with: newer) == scan.pages, "seed \(seed)")
        }
    }

    @Test("200,000 pages fit in a map")
    func manyPages() throws {
        // Written backwards, so that no order is there to profit from.
        let count: UInt32 = 200_000
        let map = try ZeroWAL(frames: count) { frame in
            .init(count + 1 - frame, commit: frame == count ? count : 0)
        }.scan().pages
        #expect(map.count == Int(count))
        #expect(map[1] == count)
        #expect(map[count] == 1)
        #expect(map.firstHole(growingFrom: 0, to: count, lockPage: 2_097_153) == nil)
    }
}

/// A long WAL of pages full of zeros, of which only the frame headers take memory.
private struct ZeroWAL {
    private static let step = 24 + 512
    private var headers: [UInt8]
    private let header = WALImage()

    init(frames: UInt32, _ frame: (UInt32) -> WALImage.Frame) {
        headers = []
        headers.reserveCapacity(Int(frames) * 24)
        var sums = (header.bytes.word(at: 24), header.bytes.word(at: 28))
        for number in 1...frames {
            let at = headers.count
            let frame = frame(number)
            headers.append(bigEndian: frame.pgno)
            headers.append(bigEndian: frame.commit)
            headers.append(contentsOf: header.bytes[16..<24])
            sums = headers.checksum(at..<at + 8, bigEndian: false, from: sums)
            for _ in 0..<512 / 8 {
                sums.0 = sums.0 &+ sums.1
                sums.1 = sums.1 &+ sums.0
            }
            headers.append(bigEndian: sums.0)
            headers.append(bigEndian: sums.1)
        }
    }

    func scan() throws -> WALScan {
        let reader = WALReader { offset, buffer in
            let first = (Int(offset) - 32) / Self.step
            let frames = min(buffer.count / Self.step, headers.count / 24 - first)
            for index in 0..<frames {
                let frame = UnsafeMutableRawBufferPointer(
                    rebasing: buffer[index * Self.step..<(index + 1) * Self.step]
                )
                frame.initializeMemory(as: UInt8.self, repeating: 0)
                let at = (first + index) * 24
                frame.copyBytes(from: headers[at..<at + 24])
            }
            return frames * Self.step
        }
        return try reader.scan(from: .start(of: WALHeader(header)))
    }
}

extension WALHeader {
    fileprivate init(_ image: WALImage) throws {
        self = try image.bytes.withUnsafeBytes { try WALHeader(decoding: $0) }
    }
}
