import Bucket
import Foundation
import LTXCodec
import Replica
import Replication
import SQLiteBridge
import TestSupport
import Testing

/// A source database, its bucket, and what tests ask of them.
final class Source {
    let directory: URL
    let path: String
    var bucketPath: String
    /// An application's connection, made by the one opener; tests open foreign ones themselves.
    let app: Connection

    init(
        _ directory: URL,
        pageSize: Int = 4096,
        bucket: String? = nil,
        pragmas: String = ""
    ) throws {
        self.directory = directory
        path = directory.appending(path: "app.db").path
        bucketPath = bucket ?? directory.appending(path: "bucket").path
        app = try Connection(path: path, mode: .create)
        try app.execute("PRAGMA page_size=\(pageSize); \(pragmas); PRAGMA journal_mode=WAL")
        try app.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
    }

    /// A database that is there already, with another bucket.
    private init(existing directory: URL, bucket: String) throws {
        self.directory = directory
        path = directory.appending(path: "app.db").path
        bucketPath = bucket
        app = try Connection(path: path)
    }

    convenience init(adopting other: Source, bucket: String) throws {
        try self.init(existing: other.directory, bucket: bucket)
    }

    func subdirectory(_ name: String) throws -> URL {
        let url = directory.appending(path: name)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        return url
    }

    /// The device a second time: database, sidecars and the replicator's own files.
    func clone() async throws -> Source {
        let twin = try subdirectory("clone")
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            .filter { $0.hasPrefix("app.db") || $0.hasPrefix(".app.db") }
            .filter { !$0.hasSuffix("-shm") }
        let outcome = try await runProcess(
            URL(filePath: "/bin/cp"),
            ["-a"] + names.map { directory.appending(path: $0).path } + [twin.path]
        )
        try #require(outcome.status == 0, "\(outcome.stderr)")
        return try Source(existing: twin, bucket: bucketPath)
    }

    /// Wipes the device and restores the database with Litestream, as after a loss.
    func restoreInPlace() async throws {
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: path + suffix)
        }
        try FileManager.default.removeItem(atPath: metaPath)
        let outcome = try await runProcess(
            Peers.litestream,
            ["restore", "-o", path, "file://\(bucketPath)"]
        )
        try #require(outcome.status == 0, "\(outcome.stderr)")
    }

    /// Puts a file into the bucket that somebody else could have made, from the pages of another.
    func forge(from file: String, minTXID: TXID, maxTXID: TXID) async throws {
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: file)))
        var offset = 0
        var decoder = try LTXDecoder { buffer in
            let count = min(buffer.count, bytes.count - offset)
            buffer.copyBytes(from: bytes[offset..<offset + count])
            offset += count
            return count
        }
        var header = decoder.header
        header.minTXID = minTXID
        header.maxTXID = maxTXID
        header.timestamp += 1
        var forged: [UInt8] = []
        var encoder = try LTXEncoder(header: header) { forged.append(contentsOf: $0) }
        let page = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(header.pageSize),
            alignment: 16
        )
        defer { page.deallocate() }
        while let pgno = try decoder.nextPage(into: page) {
            try encoder.append(pgno: pgno, page: UnsafeRawBufferPointer(page))
        }
        _ = try encoder.finish()
        let name = LTXFileName(minTXID: minTXID, maxTXID: maxTXID)
        try Data(forged).write(to: URL(filePath: "\(bucketPath)/ltx/0/\(name)"))
    }

    /// Where a replicator keeps what it must know after a kill.
    var metaPath: String { directory.appending(path: ".app.db-litestream").path }
    var statePath: String { metaPath + "/dormouse-state" }
    var ledgerPath: String { metaPath + "/dormouse-ledger" }

    /// Puts a new database in the place of the old one, as a restore by hand does.
    func replaceDatabase(_ fill: (ForeignProcess) throws -> Void) async throws {
        let other = directory.appending(path: "other.db").path
        let foreign = try ForeignProcess(other)
        try foreign.open()
        try foreign.sql("PRAGMA journal_mode=WAL")
        try foreign.sql("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
        try fill(foreign)
        try foreign.close()
        for suffix in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: path + suffix)
        }
        guard rename(other, path) == 0 else { throw POSIXError(.EIO) }
    }

    var bucket: DirectoryBucket { DirectoryBucket(bucketPath) }

    func replicator(
        bucket other: (any BucketClient)? = nil,
        _ change: (inout ReplicatorOptions) -> Void = { _ in }
    ) -> Replicator {
        var options = ReplicatorOptions()
        change(&options)
        return Replicator(database: path, bucket: other ?? bucket, options: options)
    }

    func insert(_ count: Int = 1, bytes: Int = 100) throws {
        for _ in 0..<count {
            try app.execute("INSERT INTO t(v) VALUES (randomblob(\(bytes)))")
        }
    }

    /// Makes a file of the database as SQLite sees it, byte for byte.
    ///
    /// Nobody may write meanwhile. Another process copies it: closing a descriptor of the file
    /// here would drop every lock of the replicator's connections.
    private func image(in scratch: URL) async throws -> String {
        let copy = scratch.appending(path: "image-\(UUID().uuidString)").path
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
            let outcome = try await runProcess(
                URL(filePath: "/bin/cp"),
                [path + suffix, copy + suffix]
            )
            try #require(outcome.status == 0, "\(outcome.stderr)")
        }
        // The last one to close copies the WAL back.
        let merger = try Connection(path: copy, checkpointing: .automatic)
        _ = try merger.value("SELECT count(*) FROM sqlite_schema")
        try merger.close()
        return copy
    }

    /// Restores with stock Litestream and compares byte by byte.
    func expectRestorable(
        _ comment: Comment? = nil,
        bucket: String? = nil,
        scratch: URL? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await expectEqual(comment, scratch: scratch ?? directory, sourceLocation) { output in
            let outcome = try await runProcess(
                Peers.litestream,
                ["restore", "-o", output, "file://\(bucket ?? bucketPath)"]
            )
            try #require(
                outcome.status == 0,
                "litestream: \(outcome.stderr)",
                sourceLocation: sourceLocation
            )
        }
    }

    /// Restores with our own `Restore` and compares byte by byte.
    func expectRestoredByUs(
        _ comment: Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await expectEqual(comment, scratch: directory, sourceLocation) { output in
            _ = try await Restore(
                bucket: bucket,
                output: output,
                options: Restore.Options(verbatim: true)
            ).run()
        }
    }

    private func expectEqual(
        _ comment: Comment?,
        scratch: URL,
        _ sourceLocation: SourceLocation,
        restore: (String) async throws -> Void
    ) async throws {
        let output = scratch.appending(path: "restored-\(UUID().uuidString)").path
        try await restore(output)
        let ours = try await image(in: scratch)
        let comparison = try await runProcess(URL(filePath: "/usr/bin/cmp"), [output, ours])
        #expect(
            comparison.status == 0,
            "\(comment.map { "\($0): " } ?? "")\(comparison.stdout)\(comparison.stderr)",
            sourceLocation: sourceLocation
        )
        for file in [output, ours] { try? FileManager.default.removeItem(atPath: file) }
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
