import Bucket
import Foundation
import LTXCodec
import TestSupport

/// A bucket whose files hold made-up pages.
struct MadeBucket {
    let client: DirectoryBucket
    private let directory: URL

    init(in directory: URL) {
        self.directory = directory
        client = DirectoryBucket(directory.appending(path: "bucket").path)
    }

    /// Adds a file whose pages are filled with a byte each.
    ///
    /// `header` is the range that its header gives,
    /// if another than its name.
    @discardableResult
    func add(
        level: Int = 0,
        _ min: UInt64,
        _ max: UInt64,
        commit: UInt32,
        pageSize: UInt32 = 512,
        header range: (UInt64, UInt64)? = nil,
        _ pages: [(Pgno, UInt8)]
    ) async throws -> BucketFile {
        let size = Int(pageSize)
        return try await add(
            level: level,
            min,
            max,
            commit: commit,
            pageSize: pageSize,
            header: range,
            pages: pages.map { pgno, byte in (pgno, [UInt8](repeating: byte, count: size)) }
        )
    }

    /// Adds a file with whole pages.
    @discardableResult
    func add(
        level: Int = 0,
        _ min: UInt64,
        _ max: UInt64,
        commit: UInt32,
        pageSize: UInt32,
        header range: (UInt64, UInt64)? = nil,
        pages: [(Pgno, [UInt8])]
    ) async throws -> BucketFile {
        let (first, last) = range ?? (min, max)
        let bytes = try ltx(
            LTXHeader(
                pageSize: pageSize,
                commit: commit,
                minTXID: TXID(first),
                maxTXID: TXID(last),
                timestamp: Int64(max) * 1000
            ),
            pages
        )
        return try await put(level: level, min, max, bytes)
    }

    /// Adds a file of any bytes.
    @discardableResult
    func put(
        level: Int = 0,
        _ min: UInt64,
        _ max: UInt64,
        _ bytes: [UInt8]
    ) async throws -> BucketFile {
        let source = directory.appending(path: "source-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: source) }
        try Data(bytes).write(to: source)
        let file = BucketFile(
            level: level,
            name: LTXFileName(minTXID: TXID(min), maxTXID: TXID(max)),
            sizeInBytes: Int64(bytes.count),
            timestamp: Int64(max) * 1000
        )
        try await client.put(source.path, as: file)
        return file
    }

    /// Three states of a database of 512-byte pages.
    ///
    /// 1: pages 1 to 4; 2: page 2 changed and 5 added; 3: cut to 3 pages, page 3 changed.
    static func threeStates(in directory: URL) async throws -> MadeBucket {
        let bucket = MadeBucket(in: directory)
        try await bucket.add(1, 1, commit: 4, [(1, 11), (2, 12), (3, 13), (4, 14)])
        try await bucket.add(2, 2, commit: 5, [(2, 22), (5, 25)])
        try await bucket.add(3, 3, commit: 3, [(3, 33)])
        return bucket
    }
}

func ltx(_ header: LTXHeader, _ pages: [(Pgno, [UInt8])]) throws -> [UInt8] {
    let output = Output()
    var encoder = try LTXEncoder(header: header) { output.bytes += $0 }
    for (pgno, page) in pages {
        try page.withUnsafeBytes { try encoder.append(pgno: pgno, page: $0) }
    }
    _ = try encoder.finish()
    return output.bytes
}

private final class Output {
    var bytes: [UInt8] = []
}

/// The bytes that fill the pages of a restored database.
func fills(_ path: String, pageSize: Int = 512) throws -> [UInt8] {
    let bytes = try contents(path)
    return stride(from: 0, to: bytes.count, by: pageSize).map { start in
        let page = bytes[start..<Swift.min(start + pageSize, bytes.count)]
        return page.allSatisfy { $0 == page.first } ? page.first ?? 0 : 0xEE
    }
}
