import Foundation
import SQLiteWAL
import TestSupport
import Testing

@Suite(
    "WALs that SQLite wrote are read as SQLite reads them",
    .enabled(if: Shared.isPresent, Shared.missing)
)
struct GoldenWALTests {
    @Test("header, transactions, end and page map are the listed ones", arguments: GoldenWAL.all)
    func contents(wal: GoldenWAL) throws {
        let expected = wal.expected
        let reader = WALReader(over: try wal.bytes())
        guard let header = try wal.header(in: reader) else { return }
        #expect("0x" + String(header.magic, radix: 16) == expected.magic)
        #expect(header.bigEndianChecksums == (expected.checksumByteOrder == "big"))
        #expect(header.pageSize == expected.pageSize)
        #expect(header.sequence == expected.checkpointSeq)
        #expect(header.salt.salt1 == expected.salt1)
        #expect(header.salt.salt2 == expected.salt2)

        var transactions: [WALTransaction] = []
        let scan = try reader.scan(from: .start(of: header)) { transactions.append($0) }
        #expect(scan.frames == expected.committedFrames)
        #expect(scan.validFrames == expected.validFrames)
        #expect(try reader.writtenFrames(of: header) == UInt32(expected.validFrames))
        #expect(scan.end.offset == expected.endOffset)
        #expect(scan.end.commit == expected.commit)
        #expect(scan.stop.golden == expected.stop)
        #expect(scan.pages.dictionary == expected.map)
        #expect(scan.commits == expected.transactions.count)
        try #require(transactions.count == expected.transactions.count)
        var start = Int64(WALHeader.size)
        for (transaction, expected) in zip(transactions, expected.transactions) {
            #expect(transaction.firstFrame == expected.firstFrame)
            #expect(transaction.end.nextFrame == expected.lastFrame + 1)
            #expect(start == expected.startOffset)
            #expect(transaction.end.offset == expected.endOffset)
            #expect(transaction.end.commit == expected.commit)
            let pages = try (expected.firstFrame...expected.lastFrame).map {
                try reader.frameHeader(at: $0, pageSize: header.pageSize)?.pgno
            }
            #expect(pages == expected.pages)
            start = transaction.end.offset
        }
    }

    @Test("copying the mapped frames gives the listed database", arguments: GoldenWAL.all)
    func applied(wal: GoldenWAL) throws {
        let reader = WALReader(over: try wal.bytes())
        var database = try wal.database()
        if let header = try wal.header(in: reader) {
            let scan = try reader.scan(from: .start(of: header))
            try database.apply(scan, from: reader)
        }
        #expect(SHA256.hex(of: database) == wal.expected.appliedSha256)
        #expect(database.count == wal.expected.appliedSize)
    }

    @Test("reading on from any commit gives what follows it", arguments: GoldenWAL.all)
    func resume(wal: GoldenWAL) throws {
        let reader = WALReader(over: try wal.bytes())
        guard let header = try wal.header(in: reader) else { return }
        var places = [WALCursor.start(of: header)]
        let whole = try reader.scan(from: places[0]) { places.append($0.end) }
        for (index, place) in places.enumerated() {
            let rest = try reader.scan(from: place)
            #expect(rest.end == whole.end)
            #expect(rest.stop == whole.stop)
            #expect(rest.commits == whole.commits - index)
            #expect(rest.frames == Int(whole.end.nextFrame - place.nextFrame))
            #expect(rest.validFrames == whole.validFrames - Int(place.nextFrame - 1))
            #expect(
                rest.pages.dictionary
                    == whole.pages.dictionary.filter {
                        $0.value >= place.nextFrame
                    }
            )
            #expect(try reader.holds(place))
            #expect(try reader.continues(place) == (rest.validFrames > 0))
            #expect(
                try reader.cursor(behind: place.nextFrame - 1, of: header, commit: place.commit)
                    == place
            )
        }
    }

    @Test("the cut WAL of every length is a prefix of the whole one", arguments: GoldenWAL.all)
    func prefixes(wal: GoldenWAL) throws {
        let bytes = try wal.bytes()
        guard let header = try wal.header(in: WALReader(over: bytes)) else { return }
        var ends = [WALCursor.start(of: header)]
        let whole = try WALReader(over: bytes).scan(from: ends[0]) { ends.append($0.end) }
        let step = 24 + Int(header.pageSize)
        for frames in 0...Int(whole.end.nextFrame - 1) {
            for extra in [0, 1, 23, 24, step - 1] {
                let length = min(bytes.count, 32 + frames * step + extra)
                let cut = try WALReader(over: Array(bytes[..<length])).scan(from: ends[0])
                #expect(cut.end == ends.last { $0.offset <= length })
            }
        }
    }
}

/// One case of golden/wal with its listed answers.
struct GoldenWAL: Decodable, CustomTestStringConvertible, Sendable {
    struct Transaction: Decodable, Sendable {
        var firstFrame, lastFrame, commit: UInt32
        var startOffset, endOffset: Int64
        var pages: [UInt32]
    }

    struct Expected: Decodable, Sendable {
        var headerValid: Bool
        var magic, checksumByteOrder: String?
        var pageSize, checkpointSeq, salt1, salt2: UInt32?
        var transactions: [Transaction]
        var committedFrames, validFrames, appliedSize: Int
        var endOffset: Int64
        var commit: UInt32
        var stop, appliedSha256: String
        var pageMap: [String: UInt32]

        var map: [UInt32: UInt32] {
            Dictionary(uniqueKeysWithValues: pageMap.map { (UInt32($0) ?? 0, $1) })
        }
    }

    private struct Manifest: Decodable {
        var wal: [GoldenWAL]
    }

    var name, path: String
    var expected: Expected
    var testDescription: String { name }

    static let all: [GoldenWAL] = {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard Shared.isPresent,
            let json = try? Data(contentsOf: Shared.golden.appending(path: "MANIFEST.json"))
        else { return [] }
        do {
            return try decoder.decode(Manifest.self, from: json).wal
        } catch {
            Issue.record(error, "golden/MANIFEST.json does not have the expected form")
            return []
        }
    }()

    func bytes() throws -> [UInt8] { try file("db.sqlite-wal") }
    func database() throws -> [UInt8] { try file("db.sqlite") }

    private func file(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: Shared.golden.appending(path: path).appending(path: name)))
    }

    /// The header; `nil`, after checking why, where the case has none to give.
    func header(in reader: WALReader) throws -> WALHeader? {
        do {
            let header = try reader.header()
            #expect((header != nil) == expected.headerValid)
            if header == nil { #expect(["empty", "short-header"].contains(expected.stop)) }
            return header
        } catch let error as WALError {
            #expect(!expected.headerValid)
            #expect(error.golden == expected.stop, "\(error)")
            return nil
        }
    }
}

extension WALEnd {
    /// The word for it in the manifest.
    fileprivate var golden: String {
        switch self {
        case .endOfFile: "end-of-file"
        case .tornFrame: "torn-frame"
        case .saltMismatch: "salt-mismatch"
        case .pageZero: "page-zero"
        case .checksumMismatch: "checksum-mismatch"
        }
    }
}

extension WALError {
    /// The manifest's word for a header that is refused.
    fileprivate var golden: String {
        switch self {
        case .truncatedHeader: "short-header"
        case .magic: "bad-magic"
        case .pageSize: "bad-page-size"
        case .headerChecksum: "header-checksum"
        case .version: "bad-version"
        case .frameNumber, .truncatedFrame: "not about the header"
        }
    }
}

extension [UInt8] {
    /// Copies the frames of a scan into a database and cuts it to its size, as a checkpoint does.
    mutating func apply(_ scan: WALScan, from reader: WALReader) throws {
        guard scan.commits > 0 else { return }
        let pageSize = Int(scan.end.pageSize)
        let size = Int(scan.end.commit) * pageSize
        self = Array(prefix(size)) + [UInt8](repeating: 0, count: Swift.max(0, size - count))
        try withUnsafeMutableBytes { database in
            for entry in scan.pages {
                let start = (Int(entry.pgno) - 1) * pageSize
                try reader.readPage(
                    frame: entry.frame,
                    pageSize: scan.end.pageSize,
                    into: UnsafeMutableRawBufferPointer(
                        rebasing: database[start..<start + pageSize]
                    )
                )
            }
        }
    }
}
