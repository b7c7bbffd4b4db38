import Bucket
import Foundation
import LTXCodec
import Replica
import TestSupport
import Testing

@Suite(
    "A mirror beyond the lock page",
    .enabled(
        if: ProcessInfo.processInfo.environment["DORMOUSE_FULL"] != nil,
        "takes 3 GB of disk and minutes: set DORMOUSE_FULL"
    )
)
struct MirrorFullTests {
    @Test("past 1 GiB: growth over the lock page, an ingest, a cut back below it")
    func lockPage() async throws {
        try await withTemporaryDirectory { directory in
            let body = directory.appending(path: "upload.db").path
            _ = try await stock(
                body,
                """
                PRAGMA page_size = 65536; PRAGMA journal_mode = OFF;
                CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1100)
                INSERT INTO t(v) SELECT zeroblob(1000000) FROM n;
                """
            )
            let mirror = Scene.mirror(in: directory)
            let lock = Int(lockPgno(pageSize: 65_536))
            for (index, sql) in [
                "UPDATE t SET v = randomblob(1000000) WHERE id % 40 = 0",
                "DELETE FROM t WHERE id > 30; VACUUM", "INSERT INTO t(v) VALUES (zeroblob(9))",
            ].enumerated() {
                let image = try IngestImage(checking: body, scratch: body + ".tmp", limit: 4 << 30)
                #expect(index == 2 || Int(image.commit) > lock)
                let base = TXID(UInt64(index) + 1)
                _ = try await mirror.ingest(image, base: base, timestamp: 1)
                try await mirror.advance()
                #expect(mirror.status.appliedTXID == base)
                let path = directory.appending(path: "mirror.sqlite").path
                #expect(try await stock(path, "PRAGMA integrity_check") == "ok\n")
                let question = "SELECT count(*), sum(length(v)), max(id) FROM t"
                #expect(try await stock(path, question) == stock(body, question))
                let again = Scene.mirror(in: directory)
                await mirror.close()
                try await again.open()
                #expect(again.status.checksum == mirror.status.checksum)
                await again.close()
                _ = try await stock(body, sql)
            }
        }
    }
}
