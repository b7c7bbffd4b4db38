import Bucket
import Foundation
import LTXCodec
import Replica
import TestSupport
import Testing

@Suite("A mirror becomes each state of its bucket, byte for byte")
struct MirrorApplyTests {
    private func expect(_ scene: Scene, _ mirror: Mirror, at txid: TXID) async throws {
        let image = try #require(scene.images[txid])
        let bytes = try contents(scene.mirrorPath)
        #expect(try difference(scene.mirrorPath, image) == nil, "TXID \(txid)")
        #expect(bytes[18] == 1 && bytes[19] == 1)
        #expect(mirror.status.appliedTXID == txid)
        #expect(mirror.status.checksum == Scene.checksum(of: image))
        #expect(await mirror.ledger(at: txid)?.checksum == Scene.checksum(of: image))
        #expect(try await stock(scene.mirrorPath, "PRAGMA integrity_check") == "ok\n")
    }

    @Test(
        "growth, change, shrink and VACUUM, in every page size",
        arguments: [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536]
    )
    func pageSizes(pageSize: Int) async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory, pageSize: pageSize)
            let mirror = scene.mirror()
            let steps = [
                "SELECT 1",
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
                INSERT INTO t(v) SELECT randomblob(400) FROM n
                """,
                "UPDATE t SET v = randomblob(100) WHERE id % 50 = 0",
                "DELETE FROM t WHERE id % 3 > 0",
                "VACUUM",
                "DELETE FROM t; VACUUM",
                "INSERT INTO t(v) VALUES (zeroblob(300000))",
            ]
            for step in steps {
                try scene.sql(step)
                try await scene.push()
                try await mirror.advance()
                try await expect(scene, mirror, at: scene.head)
            }
        }
    }

    @Test("a far journey in one apply gives the same, also one that shrinks and grows on the way")
    func batch() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            let mirror = scene.mirror()
            try await scene.push()
            try await mirror.advance()
            try scene.insert(500)
            try await scene.push()
            try scene.sql("DELETE FROM t; VACUUM")
            try await scene.push()
            try scene.insert(300)
            try await scene.push()
            let counter = try contents(scene.mirrorPath)[24..<28]
            try await mirror.advance()
            try await expect(scene, mirror, at: TXID(4))
            // One apply, one step of the counter.
            let step = zip(try contents(scene.mirrorPath)[24..<28], counter).map {
                Int($0) - Int($1)
            }
            #expect(step == [0, 0, 0, 1])
        }
    }

    @Test("pages that do not fit in memory are read a second time")
    func large() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            let mirror = scene.mirror()
            try scene.insert(4000, bytes: 2500)
            try await scene.push()
            try await mirror.advance()
            try await expect(scene, mirror, at: TXID(1))
            try scene.sql("UPDATE t SET v = randomblob(2500)")
            try await scene.push()
            try await mirror.advance()
            try await expect(scene, mirror, at: TXID(2))
        }
    }

    @Test("a snapshot may change the page size in place; a reader that was there goes on")
    func pageSizeChange() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory, pageSize: 1024)
            let mirror = scene.mirror()
            try scene.insert(300)
            try await scene.push()
            try await mirror.advance()
            let reader = try Shell(scene.mirrorPath)
            #expect(try reader.run("SELECT count(*) FROM t") == "300\n")
            for (index, pageSize) in [8192, 512, 65_536, 4096].enumerated() {
                try scene.sql(
                    "PRAGMA page_size = \(pageSize); VACUUM; DELETE FROM t WHERE id <= 10"
                )
                try scene.insert(20)
                try await scene.snapshot(at: TXID(10 + UInt64(index)))
                try await mirror.advance()
                try await expect(scene, mirror, at: scene.head)
                #expect(try reader.run("PRAGMA integrity_check") == "ok\n")
                #expect(
                    try reader.run("SELECT count(*) FROM t WHERE id > 0 AND v IS NOT NULL") != ""
                )
                let counts = try await stock(scene.mirrorPath, "SELECT count(*) FROM t")
                #expect(try reader.run("SELECT count(*) FROM t") == counts)
            }
        }
    }

    @Test("a deleted database is an empty file, and may come back")
    func deleted() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            let mirror = scene.mirror()
            try scene.insert(30)
            try await scene.push()
            try await mirror.advance()
            let image = try scene.image()
            try await Scene.put(image, [], TXID(2), TXID(2), level: 0, in: scene.bucket)
            try await mirror.advance()
            #expect(try contents(scene.mirrorPath).isEmpty)
            #expect(mirror.status.appliedTXID == TXID(2))
            try await Scene.put([], image, TXID(3), TXID(3), level: 0, in: scene.bucket)
            let again = scene.mirror()
            await mirror.close()
            try await again.advance()
            #expect(try difference(scene.mirrorPath, image) == nil)
            #expect(again.status.appliedTXID == TXID(3))
        }
    }

    @Test("a delta that grows the database with a hole, or has other pages, is refused")
    func refused() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            let mirror = scene.mirror()
            try scene.insert(30)
            try await scene.push()
            try await mirror.advance()
            let before = try contents(scene.mirrorPath)
            let image = try scene.image()
            try scene.insert(300)
            let grown = try scene.image()
            let hole = Pgno(image.count / 4096 + 2)
            let bytes = try Scene.ltx(image, grown, TXID(2), TXID(2), leavingOut: [hole])
            let path = scene.bucket.path(
                level: 0,
                name: LTXFileName(minTXID: TXID(2), maxTXID: TXID(2))
            )
            try Data(bytes).write(to: URL(filePath: path))
            await #expect(
                throws: MirrorError.hole(
                    hole,
                    commit: UInt32(grown.count / 4096),
                    txid: TXID(2)
                )
            ) {
                try await mirror.advance()
            }
            try scene.sql("PRAGMA page_size = 1024; VACUUM")
            let other = try Scene.ltx(image, scene.image(), TXID(2), TXID(2))
            try Data(other).write(to: URL(filePath: path))
            await #expect(throws: MirrorError.pageSize(1024, mirror: 4096, txid: TXID(2))) {
                try await mirror.advance()
            }
            var damaged = try Scene.ltx(image, grown, TXID(2), TXID(2))
            damaged[damaged.count / 2] ^= 1
            try Data(damaged).write(to: URL(filePath: path))
            await #expect(throws: MirrorError.self) { try await mirror.advance() }
            #expect(mirror.status.failure != nil)
            #expect(try difference(scene.mirrorPath, before) == nil, "nothing is touched")
            #expect(mirror.status.appliedTXID == TXID(1))

            try Data(Scene.ltx(image, grown, TXID(2), TXID(2))).write(to: URL(filePath: path))
            try await mirror.advance()
            #expect(try difference(scene.mirrorPath, grown) == nil)
            #expect(mirror.status.failure == nil)
        }
    }
}
