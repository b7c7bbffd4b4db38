import Bucket
import Foundation
import LTXCodec
import Replica
import TestSupport
import Testing

@Suite("single files in a bucket", .enabled(if: Shared.isPresent, Shared.missing))
struct DamagedFileTests {
    // Litestream overlooks some of these faults; a full check does not.
    @Test(
        "a malformed file is refused by name, five times over, and leaves nothing",
        arguments: Manifest.shared?.ltxBad.filter { $0.standsBehind != nil } ?? []
    )
    func refusesMalformed(file: Manifest.SingleFile) async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try bucket(for: file, in: directory)
            let name = LTXFileName(minTXID: TXID(2), maxTXID: TXID(2))
            for _ in 1...5 {
                do {
                    _ = try await restore(bucket, in: directory)
                    Issue.record("restored")
                } catch RestoreError.damaged(let damaged, let error, _) {
                    #expect(damaged.name == name)
                    let fine = (file.expect.alsoFine ?? []) + [file.expect.category ?? ""]
                    // A file too short for header and trailer is not even opened.
                    let isTooShort = damaged.sizeInBytes < 116
                    #expect(isTooShort || fine.contains(error.category.rawValue))
                }
                #expect(try entries(directory) == ["bucket"])
            }
        }
    }

    @Test(
        "a malformed snapshot is refused",
        arguments: Manifest.shared?.ltxBad.filter { $0.standsBehind == nil } ?? []
    )
    func refusesMalformedSnapshot(file: Manifest.SingleFile) async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try bucket(for: file, in: directory)
            await #expect(throws: RestoreError.self) {
                _ = try await restore(bucket, in: directory)
            }
            #expect(try entries(directory) == ["bucket"])
        }
    }

    @Test(
        "an odd but valid file restores to its listed bytes",
        arguments: Manifest.shared?.ltxOk.filter { $0.name != "around-the-lock-page" } ?? []
    )
    func restoresOdd(file: Manifest.SingleFile) async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try bucket(for: file, in: directory)
            let mayFail = file.name == "frame-no-content-checksum"
            do {
                _ = try await restore(bucket, in: directory)
            } catch RestoreError.damaged where mayFail {
                return
            }
            guard let expected = file.litestream?.restoredSha256 else { return }
            #expect(try sha256(directory.appending(path: "out.db").path) == expected)
        }
    }

    @Test("a plan whose base lacks pages is refused", arguments: ["around-the-lock-page"])
    func refusesHoles(name: String) async throws {
        let file = try #require(Manifest.shared?.ltxOk.first { $0.name == name })
        try await withTemporaryDirectory { directory in
            let bucket = try bucket(for: file, in: directory)
            await #expect(throws: RestoreError.self) {
                _ = try await restore(bucket, in: directory)
            }
            #expect(try entries(directory) == ["bucket"])
        }
    }

    private func restore(
        _ bucket: DirectoryBucket,
        in directory: URL
    ) async throws -> RestoreSummary {
        try await Restore(
            bucket: bucket,
            output: directory.appending(path: "out.db").path,
            options: .init(verbatim: true, integrityCheck: .none)
        ).run()
    }

    /// The file at its place behind the one it continues, or alone as the beginning.
    private func bucket(
        for file: Manifest.SingleFile,
        in directory: URL
    ) throws -> DirectoryBucket {
        let root = directory.appending(path: "bucket")
        let level = root.appending(path: "ltx/0")
        try FileManager.default.createDirectory(at: level, withIntermediateDirectories: true)
        func add(_ source: String, _ min: TXID, _ max: TXID) throws {
            try FileManager.default.copyItem(
                at: Shared.golden.appending(path: source),
                to: level.appending(path: "\(LTXFileName(minTXID: min, maxTXID: max))")
            )
        }
        if let base = file.standsBehind {
            try add(base, TXID(1), TXID(1))
            try add(file.file, TXID(2), TXID(2))
        } else {
            let min = file.facts.flatMap { TXID($0.minTxid) } ?? TXID(1)
            let max = file.facts.flatMap { TXID($0.maxTxid) } ?? TXID(1)
            try add(file.file, min, max)
        }
        return DirectoryBucket(root.path)
    }
}
