import Foundation
import SQLiteBridge
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

extension ChaosTests {
    /// BUGS B81: the last rows are shipped, and a stop ends.
    @Suite("SIGTERM")
    struct ShutdownTests {
        /// Does not push by itself once it has begun.
        private func launch(_ scene: Scene, _ options: String...) throws -> Child {
            try Child(
                Dormouse.binary,
                ["replicate", scene.database, "--to", scene.bucket, "--interval", "1h"] + options
            )
        }

        private func makeDatabase(_ scene: Scene) throws -> Connection {
            let connection = try Connection(path: scene.database, mode: .create)
            try connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (a)")
            return connection
        }

        @Test("ships what was inserted right before it", .timeLimit(.minutes(1)))
        func lastRows() async throws {
            try await withTemporaryDirectory { directory in
                let scene = Scene(directory)
                let application = try makeDatabase(scene)
                for round in 1...8 {
                    let replicator = try launch(scene)
                    try await withChild(replicator) { replicator in
                        try await replicator.wait { $0.isPush && $0.isSuccess }
                        try application.execute("INSERT INTO t VALUES (\(round))")
                        replicator.send(SIGTERM)
                        #expect(try await replicator.end() == 0)
                    }
                    scene.note(replicator.records)
                    let restored = try await scene.restored()
                    #expect(try scene.number("SELECT max(a) FROM t", in: restored) == round)
                }
                try application.close()
                scene.expectNoSnapshotAfterTheFirst()
                #expect(scene.rescans.isEmpty)
            }
        }

        @Test(
            "ends with 1 where the last push is refused, and keeps what is owed",
            .timeLimit(.minutes(1)),
            .enabled(if: TemporaryFileSystem.isPossible, TemporaryFileSystem.missing)
        )
        func refusedPush() async throws {
            try await withTemporaryDirectory { directory in
                let small = try TemporaryFileSystem(sizeInBytes: 1 << 20)
                let scene = Scene(directory, bucket: small.path + "/bucket")
                let application = try makeDatabase(scene)
                let replicator = try launch(scene)
                try await withChild(replicator) { replicator in
                    try await replicator.wait { $0.isPush && $0.isSuccess }
                    try application.execute("INSERT INTO t VALUES (randomblob(100000))")
                    try fill(small.path)
                    replicator.send(SIGTERM)
                    #expect(try await replicator.end(within: .seconds(12)) == 1)
                }
                let last = replicator.records.last(where: \.isPush)
                #expect(last?["reason"] == "bucket-full")
                #expect(last?.number("backlog_files") == 1)
                scene.note(replicator.records)

                try FileManager.default.removeItem(atPath: small.path + "/filler")
                try application.close()
                try await scene.push()
                try await scene.expectRestored(counting: "SELECT count(*) FROM t")
                scene.expectNoSnapshotAfterTheFirst()
                #expect(scene.rescans.isEmpty)
            }
        }

        /// The last push is as long as the first: all of the database, which takes a while.
        @Test("a second time ends a long last push at once", .timeLimit(.minutes(1)))
        func secondSignal() async throws {
            try await withTemporaryDirectory { directory in
                let scene = Scene(directory)
                let application = try makeDatabase(scene)
                // Slow to compress, so that the push is still running.
                try application.execute(
                    """
                    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
                    INSERT INTO t SELECT randomblob(1000000) FROM n
                    """
                )
                try application.close()
                let replicator = try launch(scene)
                try await withChild(replicator) { replicator in
                    try await replicator.wait { $0.kind == "start" }
                    replicator.send(SIGTERM)
                    try await pass(.milliseconds(50))
                    replicator.send(SIGTERM)
                    let clock = ContinuousClock()
                    let asked = clock.now
                    #expect(try await replicator.end() != 0)
                    let took = clock.now - asked
                    #expect(!replicator.records.contains { $0.isPush && $0.isSuccess })
                    #expect(took < .milliseconds(500))
                    print("second SIGTERM: the end came after \(took)")
                }
                // What was given up leaves nothing that is in the way.
                try await scene.push()
                try await scene.expectVerified()
            }
        }

        private func fill(_ path: String) throws {
            try Data().write(to: URL(filePath: path + "/filler"))
            let file = try FileHandle(forWritingTo: URL(filePath: path + "/filler"))
            defer { try? file.close() }
            for size in [64 << 10, 4 << 10, 1] {
                while (try? file.write(contentsOf: Data(count: size))) != nil {}
            }
        }
    }
}
