import Bucket
import Foundation
import LTXCodec
import Replication
import SQLiteBridge
import TestSupport
import Testing

@Suite("A bucket that cannot be had", .serialized, .enabled(if: Peers.areInstalled, Peers.missing))
struct BucketTroubleTests {
    /// Pushes in vain, mends the bucket, and pushes again.
    private func trouble(
        _ source: Source,
        bucket: String,
        _ reason: UnavailableReason,
        mend: () throws -> Void
    ) async throws {
        let replicator = source.replicator(bucket: DirectoryBucket(bucket))
        for _ in 0..<2 {
            try source.insert(5)
            let push = await replicator.push()
            guard case .unavailable(reason, let detail) = push.outcome else {
                Issue.record("\(push.outcome)")
                continue
            }
            #expect(!detail.isEmpty)
            // The WAL is converted all the same, and the streak is for what can pass by itself.
            #expect(push.streak.count == 0)
            #expect(push.backlogFiles > 0)
        }
        try mend()
        let push = await replicator.push()
        #expect(push.outcome == .pushed, "\(push.outcome)")
        #expect(push.backlogFiles == 0)
        try await source.expectRestorable(bucket: bucket)
        await replicator.close()
    }

    @Test("its parent is missing")
    func parentMissing() async throws {
        try await withSource { source in
            let parent = source.directory.appending(path: "mnt").path
            try await trouble(source, bucket: parent + "/bucket", .notABucket) {
                try FileManager.default.createDirectory(
                    atPath: parent,
                    withIntermediateDirectories: false
                )
            }
        }
    }

    @Test("its path is a file")
    func pathIsFile() async throws {
        try await withSource { source in
            try Data("hello".utf8).write(to: URL(filePath: source.bucketPath))
            try await trouble(source, bucket: source.bucketPath, .notABucket) {
                try FileManager.default.removeItem(atPath: source.bucketPath)
            }
        }
    }

    @Test("its path is a directory of something else")
    func foreignDirectory() async throws {
        try await withSource { source in
            try FileManager.default.createDirectory(
                atPath: source.bucketPath,
                withIntermediateDirectories: false
            )
            let letter = source.bucketPath + "/letter.txt"
            try Data("hello".utf8).write(to: URL(filePath: letter))
            try await trouble(source, bucket: source.bucketPath, .notABucket) {
                try FileManager.default.removeItem(atPath: letter)
            }
        }
    }

    @Test(
        "it is mounted for reading only",
        .enabled(if: TemporaryFileSystem.isPossible, TemporaryFileSystem.missing)
    )
    func readOnly() async throws {
        let fileSystem = try TemporaryFileSystem(sizeInBytes: 8 << 20)
        let bucket = fileSystem.path + "/bucket"
        try await withSource { source in
            let replicator = source.replicator(bucket: DirectoryBucket(bucket))
            #expect(await replicator.push().outcome == .pushed)
            try fileSystem.makeReadOnly()
            for _ in 0..<2 {
                try source.insert(5)
                let push = await replicator.push()
                guard case .unavailable(.bucketDenied, _) = push.outcome else {
                    Issue.record("\(push.outcome)")
                    continue
                }
                #expect(push.streak.count == 0)
            }
            await replicator.close()
        }
    }

    @Test(
        "it is full, and comes back by itself",
        .enabled(if: TemporaryFileSystem.isPossible, TemporaryFileSystem.missing)
    )
    func full() async throws {
        let fileSystem = try TemporaryFileSystem(sizeInBytes: 2 << 20)
        let bucket = fileSystem.path + "/bucket"
        let ballast = fileSystem.path + "/ballast"
        try await withSource { source in
            var replicator = source.replicator(bucket: DirectoryBucket(bucket))
            try source.insert(20)
            #expect(await replicator.push().outcome == .pushed)
            fill(ballast)
            for round in 1...4 {
                try source.insert(30, bytes: 3000)
                let push = await replicator.push()
                guard case .retryable(.bucketFull, _) = push.outcome else {
                    Issue.record("\(push.outcome)")
                    continue
                }
                #expect(push.streak.count == UInt32(round))
                #expect(push.backlogFiles == round)
                // Half of it in another process: the streak and the backlog are on disk.
                if round == 2 {
                    await replicator.close()
                    replicator = source.replicator(bucket: DirectoryBucket(bucket))
                }
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: bucket + "/ltx/0")
            #expect(names.count == 1, "\(names)")
            try FileManager.default.removeItem(atPath: ballast)
            let push = await replicator.push()
            #expect(push.outcome == .pushed, "\(push.outcome)")
            #expect(push.files == 4 && push.streak.count == 0)
            #expect(push.kinds == [])
            try await source.expectRestorable(bucket: bucket)
            await replicator.close()
        }
    }

    /// Writes until there is no room.
    private func fill(_ path: String) {
        let descriptor = open(path, O_WRONLY | O_CREAT, 0o644)
        let chunk = [UInt8](repeating: 1, count: 4096)
        while write(descriptor, chunk, chunk.count) > 0 {}
        Foundation.close(descriptor)
    }

    @Test(
        "the device's own disk is full, and comes back by itself (B75)",
        .enabled(if: TemporaryFileSystem.isPossible, TemporaryFileSystem.missing)
    )
    func deviceFull() async throws {
        let fileSystem = try TemporaryFileSystem(sizeInBytes: 4 << 20)
        let ballast = fileSystem.path + "/ballast"
        try await withTemporaryDirectory { directory in
            let source = try Source(
                URL(filePath: fileSystem.path),
                bucket: directory.appending(path: "bucket").path
            )
            try source.insert(100)
            var replicator = source.replicator()
            #expect(await replicator.push().outcome == .pushed)
            try source.insert(5)
            // Room for the WAL that is there, and nothing else.
            fill(ballast)
            for round in 1...3 {
                let push = await replicator.push()
                guard case .retryable(.deviceFull, _) = push.outcome else {
                    Issue.record("\(push.outcome)")
                    continue
                }
                if round == 2 {
                    await replicator.close()
                    replicator = source.replicator()
                }
            }
            try FileManager.default.removeItem(atPath: ballast)
            try source.insert(5)
            let push = await replicator.push()
            #expect(push.outcome == .pushed, "\(push.outcome)")
            #expect(push.kinds == [.wal])
            try await source.expectRestorable(scratch: directory)
            await replicator.close()
            try source.app.close()
        }
    }

    @Test("the streak is ended by a success only, and by a verified one")
    func streak() async throws {
        try await withSource { source in
            let failing = FailingBucket(source.bucketPath)
            var replicator = source.replicator(bucket: failing)
            #expect(await replicator.push().outcome == .pushed)
            failing.fails = true
            for count in UInt32(1)...3 {
                try source.insert(1)
                let push = await replicator.push()
                guard case .retryable(.ioError, _) = push.outcome else {
                    Issue.record("\(push.outcome)")
                    continue
                }
                #expect(push.streak.count == count)
            }
            await replicator.close()
            replicator = source.replicator(bucket: failing)
            try source.insert(1)
            let push = await replicator.push()
            #expect(push.streak.count == 4)
            #expect(push.streak.opensIngest(lastPushMoved: false))
            failing.fails = false
            let success = await replicator.push()
            #expect(success.outcome == .pushed && success.streak.count == 0)
            #expect(success.files == 4)
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("a second replicator is refused, and told who has the database")
    func claimed() async throws {
        try await withSource { source in
            let first = source.replicator()
            #expect(await first.push().outcome == .pushed)
            let second = source.replicator()
            let push = await second.push()
            guard case .unavailable(.databaseClaimed, let detail) = push.outcome else {
                Issue.record("\(push.outcome)")
                return
            }
            #expect(detail.contains("process \(getpid())"))
            // It hurt nobody.
            try source.insert(3)
            #expect(await first.push().kinds == [.wal])
            await first.close()
            #expect(await second.push().outcome == .inSync(verified: true))
            await second.close()
        }
    }
}

/// A directory that does not answer while it is told not to.
private final class FailingBucket: BucketClient, @unchecked Sendable {
    private let real: DirectoryBucket
    /// Set between pushes only.
    var fails = false

    init(_ path: String) {
        real = DirectoryBucket(path)
    }

    var address: BucketAddress { real.address }

    private func check() throws {
        if fails {
            throw BucketError.notFound(
                level: 0,
                name: LTXFileName(minTXID: TXID(1), maxTXID: TXID(1))
            )
        }
    }

    nonisolated(nonsending) func list(level: Int) async throws -> [BucketFile] {
        try check()
        return try await real.list(level: level)
    }

    nonisolated(nonsending) func head() async throws -> TXID {
        try check()
        return try await real.head()
    }

    nonisolated(nonsending) func open(_ file: BucketFile) async throws -> any RandomReader {
        try check()
        return try await real.open(file)
    }

    nonisolated(nonsending) func put(_ source: String, as file: BucketFile) async throws {
        try check()
        try await real.put(source, as: file)
    }

    nonisolated(nonsending) func stat(level: Int, name: LTXFileName) async throws -> BucketFile? {
        try check()
        return try await real.stat(level: level, name: name)
    }

    nonisolated(nonsending) func delete(_ files: [BucketFile]) async throws {
        try check()
        try await real.delete(files)
    }
}
