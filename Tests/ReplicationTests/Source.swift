import Bucket
import Foundation
import LTXCodec
import Replication
import SQLiteBridge
import TestSupport
import Testing

/// A source database, its bucket, and what tests ask of them.
final class Source {
    let directory: URL
    let path: String
    let bucketPath: String
    /// An application's connection, made by the one opener; tests open foreign ones themselves.
    let app: Connection

    init(_ directory: URL, pageSize: Int = 4096) throws {
        self.directory = directory
        path = directory.appending(path: "app.db").path
        bucketPath = directory.appending(path: "bucket").path
        app = try Connection(path: path, mode: .create)
        try app.execute("PRAGMA page_size=\(pageSize); PRAGMA journal_mode=WAL")
        try app.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
    }

    var bucket: DirectoryBucket { DirectoryBucket(bucketPath) }

    func replicator(_ change: (inout ReplicatorOptions) -> Void = { _ in }) -> Replicator {
        var options = ReplicatorOptions()
        change(&options)
        return Replicator(database: path, bucket: bucket, options: options)
    }

    func insert(_ count: Int = 1, bytes: Int = 100) throws {
        for _ in 0..<count {
            try app.execute("INSERT INTO t(v) VALUES (randomblob(\(bytes)))")
        }
    }

    /// The pages of the database as SQLite gives them to a copy of it.
    func image() throws -> Data {
        let copy = directory.appending(path: "image-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: copy) }
        do {
            // By a connection of its own: a test may have closed the application's.
            let reader = try Connection(path: path)
            let target = try Connection(path: copy, mode: .create, checkpointing: .automatic)
            try reader.backup(to: target)
        }
        return try Data(contentsOf: URL(filePath: copy))
    }

    /// Restores with stock Litestream and compares page by page.
    func expectRestorable(
        _ comment: Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let restored = directory.appending(path: "restored-\(UUID().uuidString)").path
        let outcome = try await runProcess(
            Peers.litestream,
            ["restore", "-o", restored, "file://\(bucketPath)"]
        )
        try #require(
            outcome.status == 0,
            "litestream: \(outcome.stderr)",
            sourceLocation: sourceLocation
        )
        let theirs = try Data(contentsOf: URL(filePath: restored))
        let ours = try image()
        let different = differingPages(theirs, ours)
        #expect(different.isEmpty, comment, sourceLocation: sourceLocation)
    }

    private func differingPages(_ one: Data, _ other: Data) -> [Int] {
        guard one.count == other.count else { return [-1, one.count, other.count] }
        // Bytes 24–27 and 92–99 of page 1 are counters that a backup writes anew.
        var (one, other) = (one, other)
        for range in [24..<28, 92..<100] {
            one.replaceSubrange(range, with: Data(count: range.count))
            other.replaceSubrange(range, with: Data(count: range.count))
        }
        return stride(from: 0, to: one.count, by: 512).filter {
            one[$0..<$0 + 512] != other[$0..<$0 + 512]
        }
    }
}

/// Runs a body on a fresh source.
func withSource(
    pageSize: Int = 4096,
    _ body: (Source) async throws -> Void
) async throws {
    try await withTemporaryDirectory { try await body(Source($0, pageSize: pageSize)) }
}

extension PushRecord {
    /// Kinds of the syncs that made something.
    var kinds: [SyncKind] { syncs.map(\.kind).filter { $0 != .nothing } }
}
