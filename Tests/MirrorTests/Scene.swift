import Bucket
import Foundation
import LTXCodec
import Replica
import SQLiteBridge
import TestSupport

/// A bucket that grows by the states of a real database, and a mirror beside it.
final class Scene {
    let directory: URL
    let bucket: DirectoryBucket
    /// The database as a writer in WAL mode has it at each TXID: its page 1 says so, and its change
    /// counter stands still.
    private(set) var images: [TXID: [UInt8]] = [:]
    private(set) var head = TXID.zero
    /// Images that another one took the place of, under the same TXID.
    private(set) var replaced: [TXID: [UInt8]] = [:]
    /// The last state is put into the bucket by the mirror itself.
    private(set) var isWrittenByMirror = false
    private let source: URL

    var mirrorPath: String { directory.appending(path: "mirror.sqlite").path }

    init(in directory: URL, pageSize: Int = 4096) throws {
        self.directory = directory
        bucket = DirectoryBucket(directory.appending(path: "bucket").path)
        source = directory.deletingLastPathComponent()
            .appending(path: "source-\(UUID().uuidString).db")
        try sql(
            """
            PRAGMA page_size = \(pageSize);
            CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB);
            CREATE INDEX i ON t(v);
            """
        )
    }

    deinit {
        try? FileManager.default.removeItem(at: source)
    }

    /// Changes the writer's database; nothing is pushed.
    func sql(_ script: String) throws {
        let connection = try Connection(path: source.path, mode: .create, checkpointing: .automatic)
        try connection.execute(script)
        try connection.close()
    }

    func insert(_ rows: Int, bytes: Int = 300) throws {
        try sql(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
            INSERT INTO t(v) SELECT randomblob(\(bytes)) FROM n
            """
        )
    }

    /// The writer's database as it is now.
    func image() throws -> [UInt8] {
        var bytes = try [UInt8](Data(contentsOf: source))
        bytes[18] = 2
        bytes[19] = 2
        for offset in [24, 92] {
            bytes.replaceSubrange(offset..<offset + 4, with: [0, 0, 0, 7])
        }
        return bytes
    }

    /// Pushes what differs from the head, as one file of level 0.
    @discardableResult
    func push(to txid: TXID? = nil) async throws -> BucketFile {
        let (before, now) = (images[head] ?? [], try image())
        let (first, last) = (head.next, txid ?? head.next)
        images[last] = now
        head = last
        return try await Self.put(before, now, first, last, level: 0, in: bucket)
    }

    /// Puts the database as it is now into the bucket as a snapshot, which becomes its head.
    @discardableResult
    func snapshot(at txid: TXID) async throws -> BucketFile {
        let now = try image()
        images[txid] = now
        head = max(head, txid)
        return try await Self.put([], now, TXID(1), txid, level: 9, in: bucket)
    }

    /// Takes the database as it is now for a state that the mirror will put into the bucket.
    func note(at txid: TXID) throws -> [UInt8] {
        let now = try image()
        replaced[txid] = images[txid]
        images[txid] = now
        head = txid
        isWrittenByMirror = true
        return now
    }

    func noteDeletion(at txid: TXID) {
        images[txid] = []
        head = txid
    }

    /// Stores a file that leads from one image to another.
    @discardableResult
    static func put(
        _ before: [UInt8],
        _ now: [UInt8],
        _ first: TXID,
        _ last: TXID,
        level: Int,
        in bucket: DirectoryBucket
    ) async throws -> BucketFile {
        let bytes = try ltx(before, now, first, last)
        let temporary = FileManager.default.temporaryDirectory
            .appending(path: "ltx-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: temporary) }
        try Data(bytes).write(to: temporary)
        let file = BucketFile(
            level: level,
            name: LTXFileName(minTXID: first, maxTXID: last),
            sizeInBytes: Int64(bytes.count),
            timestamp: 1_700_000_000_000 + Int64(last.rawValue) * 1000
        )
        try await bucket.put(temporary.path, as: file)
        return file
    }

    /// An LTX file of the pages in which two images differ.
    static func ltx(
        _ before: [UInt8],
        _ now: [UInt8],
        _ first: TXID,
        _ last: TXID,
        leavingOut: Set<Pgno> = []
    ) throws -> [UInt8] {
        let size = now.isEmpty ? pageSize(of: before) : pageSize(of: now)
        let output = Output()
        var encoder = try LTXEncoder(
            header: LTXHeader(
                pageSize: UInt32(size),
                commit: UInt32(now.count / size),
                minTXID: first,
                maxTXID: last,
                timestamp: 1_700_000_000_000 + Int64(last.rawValue) * 1000
            )
        ) { output.bytes += $0 }
        for index in 0..<now.count / size {
            let range = index * size..<(index + 1) * size
            let pgno = Pgno(index + 1)
            let isSame = range.upperBound <= before.count && before[range] == now[range]
            if isSame && first > TXID(1) || leavingOut.contains(pgno) { continue }
            try now[range].withUnsafeBytes { try encoder.append(pgno: pgno, page: $0) }
        }
        _ = try encoder.finish()
        return output.bytes
    }

    static func pageSize(of image: [UInt8]) -> Int {
        let stored = Int(image[16]) << 8 | Int(image[17])
        return stored == 1 ? 65_536 : stored
    }

    static func checksum(of image: [UInt8]) -> Checksum {
        let size = pageSize(of: image)
        var database = DatabaseChecksum()
        for index in 0..<image.count / size {
            image[index * size..<(index + 1) * size].withUnsafeBytes {
                database.toggle(pgno: Pgno(index + 1), page: $0)
            }
        }
        return database.value
    }

    /// A mirror of the bucket that gives up waiting soon.
    func mirror(in directory: URL? = nil) -> Mirror {
        Self.mirror(in: directory ?? self.directory)
    }

    static func mirror(in directory: URL) -> Mirror {
        var options = Mirror.Options()
        options.exclusionBout = .milliseconds(50)
        options.pauseBetweenBouts = .milliseconds(100)
        return Mirror(
            path: directory.appending(path: "mirror.sqlite").path,
            bucket: DirectoryBucket(directory.appending(path: "bucket").path),
            executor: SerialThreadExecutor(),
            options: options
        )
    }
}

private final class Output {
    var bytes: [UInt8] = []
}

/// Says where a mirror differs from an image, page 1's own bytes apart; `nil` if nowhere.
///
/// Comparing whole arrays in `#expect` would look for the shortest edit between them, for hours.
func difference(_ mirror: String, _ image: [UInt8]) throws -> String? {
    let (left, right) = (faceless(try contents(mirror)), faceless(image))
    if left == right { return nil }
    let first = zip(left, right).enumerated().first { $0.element.0 != $0.element.1 }?.offset
    return "\(left.count) and \(right.count) bytes, first difference at \(first ?? -1)"
}

/// An image without what a mirror's page 1 has of its own.
func faceless(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    guard bytes.count >= 100 else { return bytes }
    for offset in [18, 19, 24, 25, 26, 27, 92, 93, 94, 95] { bytes[offset] = 0 }
    return bytes
}

func contents(_ path: String) throws -> [UInt8] {
    try [UInt8](Data(contentsOf: URL(filePath: path)))
}

func entries(_ directory: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
}

/// Asks the stock `sqlite3`, in a process that opens the file anew.
func stock(_ path: String, _ sql: String) async throws -> String {
    let outcome = try await runProcess(URL(filePath: "/usr/bin/sqlite3"), [path, sql])
    return outcome.stdout + outcome.stderr
}
