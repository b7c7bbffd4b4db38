import Bucket
import Foundation
import LTXCodec
import Replica
import TestSupport
import Testing

@Suite("A mirror follows its bucket, whatever happens to it")
struct MirrorAdvanceTests {
    private func expect(_ scene: Scene, _ mirror: Mirror, at txid: TXID) async throws {
        #expect(mirror.status.appliedTXID == txid)
        #expect(try difference(scene.mirrorPath, scene.images[txid] ?? []) == nil)
        #expect(try await stock(scene.mirrorPath, "PRAGMA integrity_check") == "ok\n")
    }

    /// States 1 to `count`, each with its delta.
    private func history(_ scene: Scene, _ count: Int) async throws {
        for index in 0..<count {
            try scene.insert(20)
            try scene.sql("UPDATE t SET v = randomblob(200) WHERE id % 9 = \(index % 9)")
            try await scene.push()
        }
    }

    @Test("pruned deltas are bridged, and where nothing leads on a snapshot is applied in place")
    func bridging() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            let mirror = scene.mirror()
            try await history(scene, 2)
            try await mirror.advance()
            try await history(scene, 4)
            let deltas = try await scene.bucket.list(level: 0)
            try await Scene.put(
                scene.images[TXID(1)] ?? [],
                scene.images[TXID(5)] ?? [],
                TXID(2),
                TXID(5),
                level: 1,
                in: scene.bucket
            )
            try await scene.bucket.delete(Array(deltas[..<5]))
            try await mirror.advance()
            try await expect(scene, mirror, at: TXID(6))

            try await history(scene, 3)
            let reader = try Shell(scene.mirrorPath)
            try reader.run("SELECT count(*) FROM t")
            let inode = try identity(scene.mirrorPath)
            let rest = try await scene.bucket.list(level: 0)
            try await scene.snapshot(at: TXID(9))
            try await scene.bucket.delete(rest)
            try await mirror.advance()
            try await expect(scene, mirror, at: TXID(9))
            #expect(try identity(scene.mirrorPath) == inode, "the file is never replaced")
            #expect(try reader.run("PRAGMA integrity_check") == "ok\n")
        }
    }

    private func identity(_ path: String) throws -> UInt64 {
        let facts = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(facts[.systemFileNumber] as? UInt64)
    }

    @Test("a bucket that is rolled back takes the mirror with it, in place")
    func rolledBack() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            let mirror = scene.mirror()
            try await history(scene, 5)
            try await mirror.advance()
            let files = try await scene.bucket.list(level: 0)
            try await scene.bucket.delete(Array(files[3...]))
            try await mirror.advance()
            try await expect(scene, mirror, at: TXID(3))
            #expect(mirror.status.bucketTXID == TXID(3))
        }
    }

    @Test("an empty bucket leaves the mirror as it is, and what comes then replaces it")
    func wiped() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            let mirror = scene.mirror()
            try await history(scene, 3)
            try await mirror.advance()
            let files = try await scene.bucket.listAll()
            try await scene.bucket.delete(files)
            try await mirror.advance()
            #expect(mirror.status.isBucketEmpty)
            #expect(mirror.status.bucketTXID == .zero)
            try await expect(scene, mirror, at: TXID(3))

            // Another database, whose deltas would seem to go on.
            let other = try Scene(in: directory)
            try other.insert(400)
            for _ in 0..<5 {
                try other.insert(3)
                try await other.push()
            }
            try await mirror.advance()
            try await expect(other, mirror, at: TXID(5))
            #expect(!mirror.status.isBucketEmpty)
        }
    }

    @Test("a bucket that was exchanged while nobody looked is found by its last file")
    func exchanged() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            let mirror = scene.mirror()
            try await history(scene, 3)
            try await mirror.advance()
            await mirror.close()
            try await scene.bucket.delete(scene.bucket.listAll())
            let other = try Scene(in: directory)
            try await history(other, 5)
            let again = scene.mirror()
            try await again.advance()
            try await expect(other, again, at: TXID(5))
        }
    }

    @Test("a mirror that starts again goes on from its record; without any it compares all pages")
    func restart() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            try await history(scene, 3)
            let first = scene.mirror()
            try await first.advance()
            await first.close()
            for (index, lost) in ["", "-ledger", "-position"].enumerated() {
                if !lost.isEmpty {
                    try FileManager.default.removeItem(atPath: scene.mirrorPath + lost)
                }
                try await history(scene, 1)
                let next = scene.mirror()
                try await next.open()
                let known = lost == "-position" ? TXID.zero : TXID(UInt64(index) + 3)
                #expect(next.status.appliedTXID == known, "\(lost)")
                #expect(next.status.mustRestart == (lost == "-position"))
                try await next.advance()
                try await expect(scene, next, at: scene.head)
                await next.close()
            }
        }
    }

    @Test("damage to the ledger file, or to the mirror's pages, is found at the start")
    func damage() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            try await history(scene, 3)
            let first = scene.mirror()
            try await first.advance()
            await first.close()
            for target in [scene.mirrorPath + "-ledger", scene.mirrorPath] {
                var bytes = try contents(target)
                bytes[bytes.count - 9] ^= 0x40
                try Data(bytes).write(to: URL(filePath: target))
                if target == scene.mirrorPath {
                    // Pages are read at a start only when the ledger is in doubt.
                    try FileManager.default.removeItem(atPath: scene.mirrorPath + "-ledger")
                }
                let next = scene.mirror()
                try await next.open()
                #expect(next.status.mustRestart == (target == scene.mirrorPath))
                try await next.advance()
                try await expect(scene, next, at: TXID(3))
                await next.close()
            }
        }
    }

    @Test("a checksum that differs stops the mirror until a newer snapshot comes; it stays stopped")
    func divergence() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            let mirror = scene.mirror()
            try await history(scene, 2)
            let right = Scene.checksum(of: scene.images[TXID(2)] ?? [])
            try await mirror.expect(right, at: TXID(2))
            try await mirror.advance()
            #expect(mirror.status.divergence == nil)

            try await history(scene, 1)
            let wrong = Checksum(rawValue: right.rawValue ^ 1)
            try await mirror.expect(wrong, at: TXID(3))
            try await mirror.advance()
            let actual = Scene.checksum(of: scene.images[TXID(3)] ?? [])
            let found = MirrorStatus.Divergence(txid: TXID(3), expected: wrong, actual: actual)
            #expect(mirror.status.divergence == found)
            try await expect(scene, mirror, at: TXID(3))

            try await history(scene, 2)
            try await mirror.advance()
            try await expect(scene, mirror, at: TXID(3))
            await mirror.close()
            let again = scene.mirror()
            try await again.advance()
            #expect(again.status.divergence == found, "it is remembered")
            #expect(again.status.lag == 2)

            try await scene.snapshot(at: TXID(6))
            try await again.advance()
            #expect(again.status.divergence == nil)
            try await expect(scene, again, at: TXID(6))

            // Said after the fact.
            try await again.expect(wrong, at: TXID(6))
            #expect(again.status.divergence?.expected == wrong)
            try await again.expect(wrong, at: TXID(5))
        }
    }

    @Test("announced files are applied without listing the bucket; gaps in them are filled")
    func announced() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            let mirror = scene.mirror()
            let following = Task { await mirror.run() }
            defer { following.cancel() }
            for _ in 0..<5 {
                try scene.insert(3)
                mirror.wake(try await scene.push())
            }
            try await eventually { mirror.status.appliedTXID == TXID(5) }
            try await history(scene, 1)
            try scene.insert(3)
            mirror.wake(try await scene.push())
            try await eventually { mirror.status.appliedTXID == TXID(7) }
            try await expect(scene, mirror, at: TXID(7))
            // A failure is told and tried again.
            try scene.insert(3)
            let file = try await scene.push()
            let path = scene.bucket.path(level: 0, name: file.name)
            let bytes = try contents(path)
            try Data(bytes[..<50]).write(to: URL(filePath: path))
            mirror.wake(file)
            try await eventually { mirror.status.failure != nil }
            try Data(bytes).write(to: URL(filePath: path))
            try await eventually { mirror.status.appliedTXID == TXID(8) }
            #expect(mirror.status.failure == nil)
        }
    }

    @Test("status tells each fact from the thing itself")
    func status() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            let mirror = scene.mirror()
            #expect(mirror.status == MirrorStatus())
            #expect(await mirror.newestSample("SELECT max(id) FROM t").time == nil)
            try await history(scene, 2)
            try await mirror.advance()
            let status = mirror.status
            #expect(status.timestamp == 1_700_000_002_000)
            #expect(status.writer == .replication)
            #expect(status.bucketTXID == TXID(2))
            #expect(status.lag == 0)
            let age = Int64(Date().timeIntervalSince1970 * 1000) - (status.appliedAt ?? 0)
            #expect((0..<60_000).contains(age))
            #expect(await mirror.newestSample("SELECT max(id) FROM t").time == .milliseconds(40))
            #expect(await mirror.newestSample("SELECT 'now'").time == .text("now"))
            #expect(await mirror.newestSample("SELECT nothing").note != nil)
            #expect(await mirror.newestSample("DELETE FROM t").note != nil)
            #expect(await mirror.newestSample("SELECT max(id) FROM t").time == .milliseconds(40))
            #expect(await mirror.ledger()?.txid == TXID(2))
            #expect(await mirror.ledger(at: TXID(1)) == nil)
        }
    }
}
