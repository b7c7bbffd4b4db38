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

    /// The database as SQLite makes it out of the file and its WAL, byte for byte.
    ///
    /// Nobody may write meanwhile. Another process copies them: closing a descriptor of the file
    /// here would drop every lock of the replicator's connections.
    func image() async throws -> Data {
        let copy = directory.appending(path: "image-\(UUID().uuidString)").path
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
            let outcome = try await runProcess(
                URL(filePath: "/bin/cp"),
                [path + suffix, copy + suffix]
            )
            try #require(outcome.status == 0, "\(outcome.stderr)")
        }
        defer { try? FileManager.default.removeItem(atPath: copy) }
        // The last one to close copies the WAL back.
        let merger = try Connection(path: copy, checkpointing: .automatic)
        _ = try merger.value("SELECT count(*) FROM sqlite_schema")
        try merger.close()
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
        let ours = try await image()
        let different = differingPages(theirs, ours)
        #expect(different.isEmpty, comment, sourceLocation: sourceLocation)
    }

    private func differingPages(_ one: Data, _ other: Data) -> [Int] {
        guard one.count == other.count else { return [-1, one.count, other.count] }
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
