import Bucket
import DurableFiles
import Foundation
import LTXCodec
import TestSupport
import Testing

/// What every backend must do, whatever it stores files in.
///
/// A backend joins by a case of `BucketKind`.
@Suite("every bucket backend")
struct BucketConformance {
    @Test("a new bucket is empty on every level", arguments: BucketKind.allCases)
    func startsEmpty(kind: BucketKind) async throws {
        try await kind.withBucket { bucket, _ in
            let files = try await bucket.listAll()
            #expect(files.isEmpty)
            #expect(try await bucket.head() == .zero)
        }
    }

    @Test("a stored file is listed with its size and timestamp", arguments: BucketKind.allCases)
    func storesFiles(kind: BucketKind) async throws {
        try await kind.withBucket { bucket, directory in
            let file = try await put(bucket, directory, level: 3, 2, 9, bytes(500), at: 1234)
            #expect(try await bucket.list(level: 3) == [file])
            #expect(try await bucket.stat(level: 3, name: file.name) == file)
            #expect(try await bucket.contains(level: 3, name: file.name))
            #expect(try await bucket.contains(level: 2, name: file.name) == false)
            #expect(try await bucket.stat(level: 3, name: name(2, 8)) == nil)
        }
    }

    @Test(
        "timestamps come back to the millisecond, also before 1970",
        arguments: BucketKind.allCases,
        [0, 1, 999, 1_796_027_908_351, -1, -999, -1000, -86_400_001] as [Int64]
    )
    func keepsTimestamps(kind: BucketKind, timestamp: Int64) async throws {
        // A line of a listing has no sign.
        if kind == .http, timestamp < 0 { return }
        try await kind.withBucket { bucket, directory in
            let file = try await put(bucket, directory, level: 0, 1, 1, bytes(9), at: timestamp)
            #expect(try await bucket.list(level: 0).map(\.timestamp) == [file.timestamp])
        }
    }

    @Test("listings are in TXID order, as numbers", arguments: BucketKind.allCases)
    func sortsListings(kind: BucketKind) async throws {
        try await kind.withBucket { bucket, directory in
            let ranges: [(UInt64, UInt64)] = [
                (16, 16), (9, 9), (1, 4), (1, 1), (.max, .max), (255, 256), (1, .max),
            ]
            for (min, max) in ranges {
                _ = try await put(bucket, directory, level: 1, min, max, bytes(3))
            }
            #expect(
                try await bucket.list(level: 1).map(\.name) == [
                    name(1, 1), name(1, 4), name(1, .max), name(9, 9), name(16, 16),
                    name(255, 256), name(.max, .max),
                ]
            )
        }
    }

    @Test("the head is the highest TXID of any level", arguments: BucketKind.allCases)
    func findsHead(kind: BucketKind) async throws {
        try await kind.withBucket { bucket, directory in
            _ = try await put(bucket, directory, level: 0, 7, 7, bytes(3))
            #expect(try await bucket.head() == TXID(7))
            _ = try await put(bucket, directory, level: 9, 1, 12, bytes(3))
            #expect(try await bucket.head() == TXID(12))
            _ = try await put(bucket, directory, level: 2, 8, 11, bytes(3))
            #expect(try await bucket.head() == TXID(12))
        }
    }

    @Test("the same bytes again are a success", arguments: BucketKind.allCases)
    func acceptsSameBytes(kind: BucketKind) async throws {
        try await kind.withBucket { bucket, directory in
            let file = try await put(bucket, directory, level: 0, 1, 1, bytes(70_000))
            _ = try await put(bucket, directory, level: 0, 1, 1, bytes(70_000))
            #expect(try await bucket.list(level: 0) == [file])
        }
    }

    @Test(
        "other bytes under a name that is taken are a conflict and change nothing",
        arguments: BucketKind.allCases,
        [0, 69_999, 70_000, 70_001]
    )
    func refusesOtherBytes(kind: BucketKind, count: Int) async throws {
        try await kind.withBucket { bucket, directory in
            let file = try await put(bucket, directory, level: 0, 1, 1, bytes(70_000))
            await #expect(throws: BucketError.conflict(level: 0, name: file.name)) {
                _ = try await put(bucket, directory, level: 0, 1, 1, bytes(count, seed: 2))
            }
            #expect(try await contents(bucket, file) == bytes(70_000))
            #expect(try await bucket.list(level: 0) == [file])
        }
    }

    @Test("a source of another size than announced is not stored", arguments: BucketKind.allCases)
    func refusesCutSource(kind: BucketKind) async throws {
        try await kind.withBucket { bucket, directory in
            let source = directory.appending(path: "cut").path
            try Data(bytes(99)).write(to: URL(filePath: source))
            let file = BucketFile(level: 0, name: name(1, 1), sizeInBytes: 100, timestamp: 0)
            await #expect(
                throws: BucketError.sourceSize(path: source, expected: 100, actual: 99)
            ) {
                try await bucket.put(source, as: file)
            }
            #expect(try await bucket.list(level: 0).isEmpty)
        }
    }

    @Test("a source that is missing is an error and leaves nothing", arguments: BucketKind.allCases)
    func refusesMissingSource(kind: BucketKind) async throws {
        try await kind.withBucket { bucket, directory in
            let source = directory.appending(path: "none").path
            let file = BucketFile(level: 0, name: name(1, 1), sizeInBytes: 100, timestamp: 0)
            await #expect(throws: BucketError.self) { try await bucket.put(source, as: file) }
            let files = try await bucket.listAll()
            #expect(files.isEmpty)
        }
    }

    // Issue benbjohnson/litestream#807: a read of length 0 that meant "all of it" on one backend.
    @Test(
        "reads mean the same at, before and behind the end",
        arguments: BucketKind.allCases,
        [0, 99, 100, 5000]
    )
    func readsRanges(kind: BucketKind, size: Int) async throws {
        try await kind.withBucket { bucket, directory in
            let content = bytes(size)
            let file = try await put(bucket, directory, level: 0, 1, 1, content)
            let reader = try await bucket.open(file)
            #expect(reader.sizeInBytes == Int64(size))
            for offset in [0, 1, size - 1, size, size + 1, size + 100_000] where offset >= 0 {
                for count in [0, 1, 100, size, size + 10] {
                    let start = min(offset, size)
                    let end = min(offset + count, size)
                    #expect(
                        try read(reader, at: offset, count: count) == Array(content[start..<end]),
                        "offset \(offset), count \(count)"
                    )
                }
            }
        }
    }

    @Test("a file that is gone is not found", arguments: BucketKind.allCases)
    func reportsGoneFiles(kind: BucketKind) async throws {
        try await kind.withBucket { bucket, directory in
            let file = try await put(bucket, directory, level: 0, 1, 1, bytes(10))
            try await bucket.delete([file])
            await #expect(throws: BucketError.notFound(level: 0, name: file.name)) {
                _ = try await bucket.open(file)
            }
        }
    }

    @Test("an open file stays readable after it is deleted", arguments: BucketKind.allCases)
    func readsDeletedFiles(kind: BucketKind) async throws {
        try await kind.withBucket { bucket, directory in
            let file = try await put(bucket, directory, level: 0, 1, 1, bytes(3000))
            let reader = try await bucket.open(file)
            try await bucket.delete([file])
            #expect(try read(reader, at: 0, count: 3000) == bytes(3000))
        }
    }

    @Test(
        "deleting takes the named files only, and twice is no error",
        arguments: BucketKind.allCases
    )
    func deletes(kind: BucketKind) async throws {
        try await kind.withBucket { bucket, directory in
            let first = try await put(bucket, directory, level: 0, 1, 1, bytes(10))
            let second = try await put(bucket, directory, level: 0, 2, 2, bytes(10))
            let compacted = try await put(bucket, directory, level: 1, 1, 1, bytes(10))
            try await bucket.delete([first])
            try await bucket.delete([first])
            #expect(try await bucket.listAll() == [second, compacted])
            try await bucket.delete([second, compacted])
            try await bucket.delete([])
            #expect(try await bucket.listAll().isEmpty)
        }
    }

    @Test("of many writers of one name one content wins", arguments: BucketKind.allCases)
    func oneWriterWins(kind: BucketKind) async throws {
        try await kind.withBucket { bucket, directory in
            let winners = await withTaskGroup(of: Int?.self) { group in
                for writer in 1...8 {
                    group.addTask {
                        let content = bytes(100_000, seed: UInt64(writer))
                        let put = try? await put(
                            bucket,
                            directory,
                            level: 0,
                            1,
                            1,
                            content,
                            source: "writer-\(writer)"
                        )
                        return put == nil ? nil : writer
                    }
                }
                return await group.reduce(into: [Int]()) { $0 += [$1].compactMap { $0 } }
            }
            try #require(winners.count == 1)
            let file = try #require(try await bucket.list(level: 0).first)
            #expect(
                try await contents(bucket, file) == bytes(100_000, seed: UInt64(winners[0]))
            )
        }
    }
}

/// The backends, and the ways one of them can work.
enum BucketKind: String, CaseIterable, Sendable {
    /// Source and bucket on one file system.
    case directory
    /// Source and bucket on two file systems.
    case directoryElsewhere
    /// Behind a server that speaks the plain protocol v1.
    case http

    func withBucket(_ body: (any BucketClient, URL) async throws -> Void) async throws {
        try await withTemporaryDirectory { sources in
            switch self {
            case .directory:
                let bucket = DirectoryBucket(sources.appending(path: "bucket").path)
                try await body(bucket, sources)
            case .directoryElsewhere:
                let root = "/dev/shm/dormouse-test-\(UUID().uuidString)"
                defer { try? FileManager.default.removeItem(atPath: root) }
                try await body(DirectoryBucket(root), sources)
            case .http:
                // Small parts, so that both ways of uploading are tried.
                let options = HTTPBucketOptions(plainLimit: 50_000)
                try await V1Server(fences: false).withBucket(options: options) { bucket, _ in
                    try await body(bucket, sources)
                }
            }
        }
    }
}

func name(_ min: UInt64, _ max: UInt64) -> LTXFileName {
    LTXFileName(minTXID: TXID(min), maxTXID: TXID(max))
}

/// Bytes that are the same for the same seed.
func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = SeededGenerator(seed: seed)
    return [UInt8](unsafeUninitializedCapacity: count + 8) { buffer, filled in
        let raw = UnsafeMutableRawBufferPointer(buffer)
        for offset in stride(from: 0, to: count, by: 8) {
            raw.storeBytes(of: random.next(), toByteOffset: offset, as: UInt64.self)
        }
        filled = count
    }
}

@discardableResult
func put(
    _ bucket: any BucketClient,
    _ directory: URL,
    level: Int,
    _ min: UInt64,
    _ max: UInt64,
    _ content: [UInt8],
    at timestamp: Int64 = 1_796_027_908_351,
    source: String = "source"
) async throws -> BucketFile {
    let path = directory.appending(path: "\(source)-\(UUID().uuidString)")
    try Data(content).write(to: path)
    let file = BucketFile(
        level: level,
        name: name(min, max),
        sizeInBytes: Int64(content.count),
        timestamp: timestamp
    )
    try await bucket.put(path.path, as: file)
    return file
}

func read(_ reader: any RandomReader, at offset: Int, count: Int) throws -> [UInt8] {
    var result = [UInt8](repeating: 0, count: count)
    let read = try result.withUnsafeMutableBytes { try reader.read(at: Int64(offset), into: $0) }
    return Array(result[..<read])
}

func contents(_ bucket: any BucketClient, _ file: BucketFile) async throws -> [UInt8] {
    let reader = try await bucket.open(file)
    return try read(reader, at: 0, count: Int(reader.sizeInBytes))
}
