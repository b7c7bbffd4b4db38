import Bucket
import Foundation
import LTXCodec
import Replica
import SQLiteBridge
import TestSupport
import Testing

@Suite(
    "restoring the golden buckets gives what litestream gives",
    .enabled(if: Shared.isPresent, Shared.missing)
)
struct GoldenRestoreTests {
    @Test(
        "every TXID has its listed plan and bytes, or is refused",
        arguments: Manifest.shared?.buckets ?? []
    )
    func everyTXID(bucket: Manifest.Bucket) async throws {
        try await withTemporaryDirectory { directory in
            let root = try copyGoldenBucket(bucket, to: directory)
            for answer in bucket.restores {
                let txid = try #require(answer.txid.flatMap { TXID($0) })
                try await expect(answer, of: .txid(txid), from: root, in: directory)
            }
        }
    }

    @Test("the newest state has its listed bytes", arguments: Manifest.shared?.buckets ?? [])
    func newest(bucket: Manifest.Bucket) async throws {
        try await withTemporaryDirectory { directory in
            let root = try copyGoldenBucket(bucket, to: directory)
            try await expect(bucket.latest, of: .newest, from: root, in: directory)
            let head = try await DirectoryBucket(root.path).head()
            #expect("\(head)" == bucket.newestTxid)
        }
    }

    @Test(
        "every time has its listed bytes, or is refused; after the newest file it is the newest",
        arguments: Manifest.shared?.buckets ?? []
    )
    func everyTime(bucket: Manifest.Bucket) async throws {
        try await withTemporaryDirectory { directory in
            let root = try copyGoldenBucket(bucket, to: directory)
            for answer in bucket.timestamps {
                let time = try #require(answer.timestampMs)
                // Litestream refuses a time after the newest file; here it is the newest state.
                let expected =
                    answer.error == "timestamp does not exist" ? bucket.latest : answer
                try await expect(expected, of: .timestamp(time), from: root, in: directory)
            }
        }
    }

    @Test(
        "by default the newest state opens as a sound rollback-journal database",
        arguments: Manifest.shared?.buckets ?? []
    )
    func presentsAsRollback(bucket: Manifest.Bucket) async throws {
        try await withTemporaryDirectory { directory in
            let root = try copyGoldenBucket(bucket, to: directory)
            let output = directory.appending(path: "out.db").path
            let verbatim = directory.appending(path: "verbatim.db").path
            for (path, isVerbatim) in [(output, false), (verbatim, true)] {
                _ = try await Restore(
                    bucket: DirectoryBucket(root.path),
                    output: path,
                    options: .init(verbatim: isVerbatim, integrityCheck: .full)
                ).run()
            }
            #expect(
                try entries(directory) == [bucket.name, "out.db", "verbatim.db"].sorted(),
                "the check leaves no -wal or -shm"
            )
            let connection = try Connection(path: output, mode: .readOnly)
            #expect(try connection.value("PRAGMA journal_mode") == .text("delete"))
            try connection.close()
            var bytes = try contents(verbatim)
            bytes[18] = 1
            bytes[19] = 1
            #expect(try contents(output) == bytes)
        }
    }

    private func expect(
        _ answer: Manifest.Answer,
        of target: RestoreTarget,
        from root: URL,
        in directory: URL
    ) async throws {
        let output = directory.appending(path: "out.db")
        defer { try? FileManager.default.removeItem(at: output) }
        let restore = Restore(
            bucket: DirectoryBucket(root.path),
            target: target,
            output: output.path,
            options: .init(verbatim: true, integrityCheck: .none)
        )
        guard let expected = answer.sha256 else {
            await #expect {
                _ = try await restore.run()
            } throws: { error in
                guard case .plan = error as? RestoreError else { return false }
                return true
            }
            #expect(try entries(directory) == [root.lastPathComponent])
            return
        }
        let summary = try await restore.run()
        #expect(try sha256(output.path) == expected, "\(target)")
        #expect(summary.sizeInBytes == answer.size.map { Int64($0) })
        #expect(answer.txid == nil || "\(summary.txid)" == answer.txid)
        #expect(summary.plan.files.map { "\($0)" } == answer.plan, "\(target)")
        #expect(summary.bytesRead == summary.plan.sizeInBytes)
    }
}
