import Foundation
import SQLiteBridge
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

extension ChaosTests {
    /// BUGS B29, B35, B88: what is expected to happen to a database is no error.
    @Suite("A replicator of a database that comes and goes")
    struct DatabaseAppearsTests {
        private func launch(_ scene: Scene) throws -> Child {
            try Child(
                Dormouse.binary,
                ["replicate", scene.database, "--to", scene.bucket, "--interval", "50ms"]
            )
        }

        private func makeDatabase(_ path: String, _ rows: Int) throws -> Connection {
            let connection = try Connection(path: path, mode: .create)
            try connection.execute(
                """
                PRAGMA journal_mode = WAL;
                CREATE TABLE t (a);
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
                INSERT INTO t SELECT randomblob(200) FROM n;
                """
            )
            return connection
        }

        @Test("waits without an error for one that is not there yet", .timeLimit(.minutes(1)))
        func appears() async throws {
            try await withTemporaryDirectory { directory in
                let scene = Scene(directory)
                let replicator = try launch(scene)
                try await withChild(replicator) { replicator in
                    try await replicator.wait { $0["reason"] == "database-missing" }
                    // An application begins with an empty file.
                    try Data().write(to: URL(filePath: scene.database))
                    try await replicator.wait { $0["reason"] == "database-empty" }
                    let application = try makeDatabase(scene.database, 100)
                    try await replicator.wait { $0["outcome"] == "pushed" }
                    replicator.send(SIGTERM)
                    #expect(try await replicator.end() == 0)
                    try application.close()
                }
                let shouted = replicator.records.filter { $0.isError || $0["level"] == "warning" }
                #expect(shouted.isEmpty, "\(shouted.map(\.line))")
                scene.note(replicator.records)
                #expect(
                    try await scene.expectRestored(counting: "SELECT count(*) FROM t") == 100
                )
                scene.expectNoSnapshotAfterTheFirst()
            }
        }

        @Test(
            "goes on with the new one where it is deleted and made again",
            .timeLimit(.minutes(1))
        )
        func recreated() async throws {
            try await withTemporaryDirectory { directory in
                let scene = Scene(directory)
                let first = try makeDatabase(scene.database, 500)
                let replicator = try launch(scene)
                try await withChild(replicator) { replicator in
                    try await replicator.wait { $0["outcome"] == "pushed" }
                    try first.close()
                    for suffix in ["", "-wal", "-shm"] {
                        try? FileManager.default.removeItem(atPath: scene.database + suffix)
                    }
                    try await replicator.wait { $0["reason"] == "database-missing" }
                    let seen = replicator.records.count
                    let second = try makeDatabase(scene.database, 300)
                    try await replicator.wait(from: seen) { $0["outcome"] == "pushed" }
                    replicator.send(SIGTERM)
                    #expect(try await replicator.end() == 0)
                    try second.close()
                }
                scene.note(replicator.records)
                #expect(replicator.records.allSatisfy { !$0.isError })
                #expect(
                    try await scene.expectRestored(counting: "SELECT count(*) FROM t") == 300
                )
                try await scene.expectValidChain()
                scene.expectNoSnapshotAfterTheFirst()
            }
        }

        /// As a restore does it: the new file is renamed over the old one.
        @Test("goes on with a file that was moved into its place", .timeLimit(.minutes(1)))
        func replaced() async throws {
            try await withTemporaryDirectory { directory in
                let scene = Scene(directory)
                let first = try makeDatabase(scene.database, 500)
                let other = directory.appending(path: "other.db").path
                let replacement = try makeDatabase(other, 200)
                _ = try replacement.checkpoint(.truncate)
                try replacement.close()
                let replicator = try launch(scene)
                try await withChild(replicator) { replicator in
                    try await replicator.wait { $0["outcome"] == "pushed" }
                    try first.close()
                    let seen = replicator.records.count
                    for suffix in ["-wal", "-shm"] {
                        try? FileManager.default.removeItem(atPath: scene.database + suffix)
                    }
                    #expect(rename(other, scene.database) == 0)
                    try await replicator.wait(from: seen) { $0["outcome"] == "pushed" }
                    replicator.send(SIGTERM)
                    #expect(try await replicator.end() == 0)
                }
                scene.note(replicator.records)
                #expect(
                    try await scene.expectRestored(counting: "SELECT count(*) FROM t") == 200
                )
                try await scene.expectValidChain()
                scene.expectNoSnapshotAfterTheFirst()
            }
        }
    }
}
