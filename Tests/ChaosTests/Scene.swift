import Bucket
import Foundation
import LTXCodec
import SQLiteBridge
import TestSupport
import Testing

/// A database, its bucket, and the four checks: no row lost, no snapshot after the first, the
/// chain valid, and the restored database equal to its source.
///
/// The oracles are stock `litestream restore` and SQLite itself.
final class Scene {
    let directory: URL
    let database: String
    let bucket: String
    /// Every push that any process of the scene has recorded.
    private(set) var pushes: [LogRecord] = []
    private var copies = 0

    init(_ directory: URL, database: String? = nil, bucket: String? = nil) {
        self.directory = directory
        self.database = database ?? directory.appending(path: "app.db").path
        self.bucket = bucket ?? directory.appending(path: "bucket").path
    }

    // MARK: What was said

    /// Takes note of what a program said about its pushes.
    func note(_ records: [LogRecord]) {
        pushes += records.filter(\.isPush)
    }

    var snapshots: [LogRecord] { pushes.filter { $0["sync_kind"] == "snapshot" } }
    var rescans: [LogRecord] { pushes.filter { $0["sync_kind"] == "rescan" } }
    /// The longest time that a checkpoint held writers up, in microseconds.
    var longestLock: Int { pushes.map { $0.number("lock_usec") }.max() ?? 0 }
    var medianLock: Int {
        let locks = pushes.filter { $0["lock_usec"] != nil }.map { $0.number("lock_usec") }.sorted()
        return locks.isEmpty ? 0 : locks[locks.count / 2]
    }
    var checkpoints: Int { pushes.count { $0["lock_usec"] != nil } }

    /// How often each reason for a rescan was given.
    var rescanReasons: [String: Int] {
        Dictionary(grouping: rescans) { $0["evidence"] ?? "none" }.mapValues(\.count)
    }

    /// How often each reason for a snapshot was given.
    var snapshotReasons: [String: Int] {
        Dictionary(grouping: snapshots) { $0["snapshot_reason"] ?? "none" }.mapValues(\.count)
    }

    func expectNoSnapshotAfterTheFirst(
        _ comment: Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(
            snapshots.count <= 1 && snapshots.allSatisfy { $0["snapshot_reason"] == "first" },
            "\(comment?.rawValue ?? ""): \(snapshots.map(\.line).joined(separator: "\n"))",
            sourceLocation: sourceLocation
        )
    }

    // MARK: Doing

    /// Pushes once from a process of its own, and takes note of it.
    @discardableResult
    func push(
        _ options: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> LogRecord {
        let outcome = try await runProcess(
            Dormouse.binary,
            ["push", database, "--to", bucket, "--json"] + options
        )
        #expect(
            outcome.status == 0,
            "push: \(outcome.stdout) \(outcome.stderr)",
            sourceLocation: sourceLocation
        )
        let record = LogRecord(Self.logfmt(outcome.stdoutBytes))
        note([record])
        return record
    }

    /// The JSON record of `dormouse push` as the line that a resident replicator writes.
    private static func logfmt(_ json: Data) -> String {
        guard let facts = try? JSONSerialization.jsonObject(with: json) as? [String: Any]
        else { return "" }
        var fields = ["kind=push"]
        for (key, value) in facts where !(value is NSNull) && !(value is [Any]) {
            fields.append("\(key)=\"\(value)\"")
        }
        if facts["sync_kind"] as? String == "snapshot", let reason = facts["evidence"] {
            fields.append("snapshot_reason=\(reason)")
        }
        return fields.joined(separator: " ")
    }

    // MARK: Looking

    /// A number from the source, through a connection that checkpoints nothing.
    func number(_ sql: String, in path: String? = nil) throws -> Int {
        let connection = try Connection(path: path ?? database)
        defer { try? connection.close() }
        return Int(try connection.value(sql)?.integer ?? 0)
    }

    /// Restores with stock Litestream.
    func restored(
        _ comment: Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        copies += 1
        let path = directory.appending(path: "restored-\(copies).db").path
        let outcome = try await runProcess(
            Peers.litestream,
            ["restore", "-o", path, "file://\(bucket)"]
        )
        try #require(
            outcome.status == 0,
            """
            litestream: \(outcome.stderr); \(comment?.rawValue ?? "")
            \(FileManager.default.subpaths(atPath: bucket)?.sorted().suffix(20) ?? [])
            \(pushes.suffix(4).map(\.line).joined(separator: "\n"))
            """,
            sourceLocation: sourceLocation
        )
        return path
    }

    /// The source as one file, made by SQLite: a copy of database and WAL is checkpointed.
    ///
    /// Byte for byte, where a backup would write counters of page 1 anew. Nobody may be writing.
    func image() throws -> String {
        copies += 1
        let path = directory.appending(path: "image-\(copies).db").path
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: database + suffix) {
            try FileManager.default.copyItem(atPath: database + suffix, toPath: path + suffix)
        }
        let connection = try Connection(path: path, checkpointing: .automatic)
        defer { try? connection.close() }
        // The WAL is opened by the first read; before it there is nothing to checkpoint.
        _ = try connection.value("SELECT count(*) FROM sqlite_schema")
        let result = try connection.checkpoint(.truncate)
        try #require(result.isComplete)
        return path
    }

    /// Checks that the bucket restores to exactly what the source is, with nobody writing.
    ///
    /// - Parameters:
    ///   - count: SQL for the number of rows.
    ///   - integrity: Also an `integrity_check` of the result.
    ///   - comment: Where in the schedule this is.
    ///   - sourceLocation: Of the caller.
    /// - Returns: The rows that both have.
    /// - Throws: When either side cannot be read.
    @discardableResult
    func expectRestored(
        counting count: String,
        integrity: Bool = false,
        _ comment: Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Int {
        let restored = try await restored(comment, sourceLocation: sourceLocation)
        let image = try image()
        defer {
            for path in [restored, image] {
                for suffix in ["", "-wal", "-shm"] {
                    try? FileManager.default.removeItem(atPath: path + suffix)
                }
            }
        }
        let different = try Self.differingPages(restored, image)
        #expect(
            different.isEmpty,
            "\(comment?.rawValue ?? ""): restored and source differ at \(different.prefix(20))",
            sourceLocation: sourceLocation
        )
        let rows = try number(count, in: image)
        #expect(try number(count, in: restored) == rows, comment, sourceLocation: sourceLocation)
        if integrity {
            let connection = try Connection(path: restored, checkpointing: .automatic)
            defer { try? connection.close() }
            let verdict = try connection.value("PRAGMA integrity_check")?.text
            #expect(verdict == "ok", comment, sourceLocation: sourceLocation)
        }
        return rows
    }

    private static func differingPages(_ one: String, _ other: String) throws -> [String] {
        let one = try Data(contentsOf: URL(filePath: one), options: .alwaysMapped)
        let other = try Data(contentsOf: URL(filePath: other), options: .alwaysMapped)
        guard one.count == other.count else { return ["size \(one.count) \(other.count)"] }
        return stride(from: 0, to: one.count, by: 4096)
            .filter { one[$0..<min($0 + 4096, one.count)] != other[$0..<min($0 + 4096, one.count)] }
            .map { "page \($0 / 4096 + 1)" }
    }

    /// Checks that level 0 of the bucket has no gap, and each file of it to its last byte.
    func expectValidChain(
        _ comment: Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: "\(bucket)/ltx/0")
            .compactMap { LTXFileName($0) }.sorted()
        let snapshots = "\(bucket)/ltx/9"
        let base =
            (try? FileManager.default.contentsOfDirectory(atPath: snapshots))?
            .compactMap { LTXFileName($0) }.map(\.maxTXID).max() ?? .zero
        // What is below a snapshot has no part in any restore to the head.
        for (one, next) in zip(files, files.dropFirst()) where one.maxTXID > base {
            #expect(next.minTXID == one.maxTXID.next, comment, sourceLocation: sourceLocation)
        }
        let first = files.first { $0.maxTXID > base }?.minTXID ?? base.next
        #expect(first <= base.next, comment, sourceLocation: sourceLocation)
        let outcome = try await runProcess(
            Dormouse.binary,
            ["ltx", "verify"] + files.map { "\(bucket)/ltx/0/\($0)" }
        )
        #expect(
            outcome.status == 0,
            "\(comment?.rawValue ?? ""): \(outcome.stdout) \(outcome.stderr)",
            sourceLocation: sourceLocation
        )
    }

    /// Checks with our own program that source and bucket agree page by page.
    func expectVerified(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let outcome = try await Dormouse.run("verify", database, bucket)
        #expect(
            outcome.status == 0,
            "\(outcome.stdout) \(outcome.stderr)",
            sourceLocation: sourceLocation
        )
    }
}
