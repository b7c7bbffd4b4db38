import Bucket
import Foundation
import LTXCodec
import Replica
import SQLiteBridge
import TestSupport
import Testing

@Suite(
    "The golden buckets, replayed through a mirror",
    .enabled(if: Shared.isPresent, Shared.missing)
)
struct GoldenMirrorTests {
    private static let buckets: [URL] = {
        let root = Shared.golden.appending(path: "buckets")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: root.path)) ?? []
        return names.sorted().map { root.appending(path: $0) }
            .filter { FileManager.default.fileExists(atPath: $0.appending(path: "ltx").path) }
    }()

    /// Snapshots of an old release that hold a later state than their TXID says: there the deltas,
    /// which a mirror follows, and a restore, which begins with the snapshot, differ.
    private static let ahead: Set<String> = {
        let path = Shared.golden.appending(path: "MANIFEST.json")
        let manifest =
            (try? JSONSerialization.jsonObject(with: Data(contentsOf: path))) as? [String: Any]
        let buckets = manifest?["buckets"] as? [[String: Any]] ?? []
        return Set(
            buckets.flatMap { bucket in
                let files = bucket["ahead_of_txid"] as? [String: Any] ?? [:]
                return files.keys.map { "\(bucket["name"] ?? "")/\($0)" }
            }
        )
    }()

    @Test("all at once, and file by file, a mirror equals what is restored", arguments: buckets)
    func equalsRestored(golden: URL) async throws {
        try await withTemporaryDirectory { directory in
            let whole = DirectoryBucket(directory.appending(path: "whole").path)
            try FileManager.default.copyItem(atPath: golden.path, toPath: whole.root)
            let scene = directory.appending(path: "scene")
            try FileManager.default.createDirectory(at: scene, withIntermediateDirectories: true)
            let growing = DirectoryBucket(scene.appending(path: "bucket").path)
            let mirror = Scene.mirror(in: scene)
            let path = scene.appending(path: "mirror.sqlite").path

            // File by file, as they came: a state at a time, snapshots before what follows them.
            let files = try await whole.listAll()
                .sorted { ($0.maxTXID, $0.level) < ($1.maxTXID, $1.level) }
            for file in files {
                try await growing.put(whole.path(level: file.level, name: file.name), as: file)
                let plan = try? RestorePlan(for: .newest, in: await growing.listAll())
                guard let plan else { continue }
                try await mirror.advance()
                #expect(mirror.status.appliedTXID == plan.txid, "\(file)")
                let base = "\(golden.lastPathComponent)/\(plan.files[0])"
                if Self.ahead.contains(base) { continue }
                try await expect(path, is: plan.txid, of: growing, in: directory)
            }
            await mirror.close()

            // All at once.
            let late = directory.appending(path: "late")
            try FileManager.default.createDirectory(at: late, withIntermediateDirectories: true)
            try FileManager.default.copyItem(
                atPath: growing.root,
                toPath: late.appending(path: "bucket").path
            )
            guard let plan = try? RestorePlan(for: .newest, in: files) else { return }
            let second = Scene.mirror(in: late)
            try await second.advance()
            #expect(second.status.appliedTXID == plan.txid)
            let latePath = late.appending(path: "mirror.sqlite").path
            try await expect(latePath, is: plan.txid, of: growing, in: directory)
        }
    }

    private func expect(
        _ path: String,
        is txid: TXID,
        of bucket: DirectoryBucket,
        in directory: URL
    ) async throws {
        let output = directory.appending(path: "restored.db").path
        defer { try? FileManager.default.removeItem(atPath: output) }
        _ = try await Restore(
            bucket: bucket,
            target: .txid(txid),
            output: output,
            options: .init(verbatim: true, integrityCheck: .none)
        ).run()
        let found = try difference(path, contents(output))
        #expect(found == nil, "TXID \(txid)")
        if try !contents(output).isEmpty {
            #expect(try await stock(path, "PRAGMA integrity_check") == "ok\n", "TXID \(txid)")
        }
    }
}
