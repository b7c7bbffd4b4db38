import Bucket
import Foundation
import LTXCodec
import Replication
import SQLiteBridge
import TestSupport
import Testing

/// Litestream and Dormouse take turns on one database, one bucket, one meta directory.
@Suite("Hand-over with Litestream", .enabled(if: Peers.areInstalled, Peers.missing))
struct HandOverTests {
    /// How the one who was there before ended.
    enum End: String, CaseIterable, CustomTestStringConvertible, Sendable {
        /// It pushed once and left.
        case once
        /// A daemon was asked to stop.
        case stopped
        /// A daemon was killed.
        case killed

        var testDescription: String { rawValue }
    }

    private struct Stage {
        let directory: URL
        let database: String
        let app: Connection
        var bucketPath: String { directory.appending(path: "bucket").path }
        var bucketURL: String { "file://\(bucketPath)" }

        init(_ directory: URL) throws {
            self.directory = directory
            database = directory.appending(path: "app.db").path
            app = try Connection(path: database, mode: .create)
            try app.execute("PRAGMA journal_mode=WAL")
            try app.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
        }

        func insert(_ count: Int) throws {
            for _ in 0..<count { try app.execute("INSERT INTO t(v) VALUES (randomblob(300))") }
        }

        func levelZero() async throws -> [BucketFile] {
            try await DirectoryBucket(bucketPath).list(level: 0)
        }

        /// Runs the daemon until its bucket holds what the database holds now.
        func runDaemon(_ executable: URL, _ arguments: [String], end: End) async throws {
            let process = Process()
            process.executableURL = executable
            process.arguments = arguments
            process.standardError = FileHandle.nullDevice
            process.standardOutput = FileHandle.nullDevice
            try process.runWithSignalsUnblocked()
            let wanted = try rows(of: app)
            for await _ in ticks() {
                if try await restoredRows() == wanted { break }
                try #require(process.isRunning)
            }
            kill(process.processIdentifier, end == .killed ? SIGKILL : SIGTERM)
            process.waitUntilExit()
        }

        /// What happens in another program can only be asked for.
        private func ticks() -> AsyncStream<Void> {
            AsyncStream { continuation in
                let task = Task {
                    for _ in 0..<400 {
                        continuation.yield()
                        try await Task.sleep(for: .milliseconds(100))
                    }
                    continuation.finish()
                }
                continuation.onTermination = { _ in task.cancel() }
            }
        }

        private func rows(of connection: Connection) throws -> Int64 {
            try connection.value("SELECT count(*) FROM t")?.integer ?? 0
        }

        private func restoredRows() async throws -> Int64? {
            guard let path = try await restore() else { return nil }
            defer { try? FileManager.default.removeItem(atPath: path) }
            return try rows(of: Connection(path: path, mode: .immutable))
        }

        private func restore() async throws -> String? {
            let path = directory.appending(path: "restored-\(UUID().uuidString)").path
            let outcome = try await runProcess(
                Peers.litestream,
                ["restore", "-o", path, bucketURL]
            )
            return outcome.status == 0 ? path : nil
        }

        /// Stock Litestream restores all of the source, and it is whole.
        func expectRestorable(sourceLocation: SourceLocation = #_sourceLocation) async throws {
            let path = try #require(try await restore(), sourceLocation: sourceLocation)
            let restored = try Connection(path: path, mode: .immutable)
            let query = "SELECT group_concat(id || ':' || hex(v)) FROM t"
            #expect(
                try restored.value(query) == app.value(query),
                sourceLocation: sourceLocation
            )
            #expect(
                try restored.value("PRAGMA integrity_check") == .text("ok"),
                sourceLocation: sourceLocation
            )
        }
    }

    @Test("we go on from Litestream's bucket with a delta", arguments: End.allCases)
    func takesOver(end: End) async throws {
        try await withTemporaryDirectory { directory in
            let stage = try Stage(directory)
            try stage.insert(300)
            try await litestream(stage, end: end)
            try stage.insert(20)

            let head = try await DirectoryBucket(stage.bucketPath).head()
            let replicator = Replicator(
                database: stage.database,
                bucket: DirectoryBucket(stage.bucketPath)
            )
            let first = await replicator.push()
            #expect(first.outcome == .pushed)
            if case .snapshot(let reason) = first.kind { Issue.record("snapshot: \(reason)") }
            #expect(first.txid > head)
            try await stage.expectRestorable()
            try stage.insert(20)
            #expect(await replicator.push().kind == .wal)
            await replicator.close()
            try await stage.expectRestorable()
        }
    }

    @Test(
        "Litestream goes on from ours, and we from its, without a whole file",
        arguments: End.allCases
    )
    func handsBack(end: End) async throws {
        try await withTemporaryDirectory { directory in
            let stage = try Stage(directory)
            try stage.insert(300)
            try await dormouse(stage, end: end)
            let whole = try #require(try await stage.levelZero().first).sizeInBytes
            for _ in 0..<2 {
                try stage.insert(20)
                try await litestream(stage, end: end)
                try await stage.expectRestorable()
                try stage.insert(20)
                try await dormouse(stage, end: end)
                try await stage.expectRestorable()
            }
            // Of a step of Litestream's that was killed its own snapshot may be all that is there.
            #expect(try await DirectoryBucket(stage.bucketPath).head() >= TXID(5))
            let files = try await stage.levelZero()
            for file in files.dropFirst() {
                #expect(file.sizeInBytes < whole / 2, "\(file) has \(file.sizeInBytes) of \(whole)")
            }
        }
    }

    private func litestream(_ stage: Stage, end: End) async throws {
        guard end == .once else {
            let arguments = ["replicate", stage.database, stage.bucketURL]
            return try await stage.runDaemon(Peers.litestream, arguments, end: end)
        }
        let outcome = try await runProcess(
            Peers.litestream,
            ["replicate", "-once", stage.database, stage.bucketURL]
        )
        try #require(outcome.status == 0, "\(outcome.stderr)")
    }

    private func dormouse(_ stage: Stage, end: End) async throws {
        guard end == .once else {
            let arguments = [
                "replicate", stage.database, "--to", stage.bucketPath, "--interval", "100ms",
            ]
            return try await stage.runDaemon(Dormouse.binary, arguments, end: end)
        }
        let outcome = try await Dormouse.run("push", stage.database, "--to", stage.bucketPath)
        try #require(outcome.status == 0, "\(outcome.stderr)")
    }
}
