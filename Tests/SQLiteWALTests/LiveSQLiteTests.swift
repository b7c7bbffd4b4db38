import Foundation
import SQLiteWAL
import TestSupport
import Testing

@Suite(
    "reading beside a running SQLite",
    .enabled(if: SQLiteShell.isPresent, SQLiteShell.missing)
)
struct LiveSQLiteTests {
    private func withShell(pageSize: Int = 4096, _ body: (SQLiteShell) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            try body(
                try SQLiteShell(database: directory.appending(path: "db"), pageSize: pageSize)
            )
        }
    }

    private func index(of shell: SQLiteShell) throws -> WALIndexHeader {
        let bytes = try shell.bytes(of: shell.sharedMemory)
        return try #require(bytes.withUnsafeBytes { WALIndexHeader.read(from: $0) })
    }

    private func start(_ reader: WALReader) throws -> WALCursor {
        .start(of: try #require(try reader.header()))
    }

    @Test(
        "the wal-index header says what a scan finds",
        arguments: [512, 1024, 4096, 32_768, 65_536]
    )
    func walIndex(pageSize: Int) throws {
        try withShell(pageSize: pageSize) { shell in
            try shell.run("CREATE TABLE t(x); INSERT INTO t VALUES (zeroblob(3000));")
            let before = try index(of: shell)
            let cursor = try {
                let reader = WALReader(over: try shell.bytes(of: shell.wal))
                return try reader.scan(from: try start(reader)).end
            }()
            for row in 1...7 { try shell.run("INSERT INTO t VALUES (\(row));") }

            let header = try index(of: shell)
            let reader = WALReader(over: try shell.bytes(of: shell.wal))
            let scan = try reader.scan(from: cursor)
            #expect(scan.commits == 7)
            #expect(header.changeCounter &- before.changeCounter == 7)
            #expect(header.pageSize == UInt32(pageSize))
            #expect(header.maxFrame == scan.end.nextFrame - 1)
            #expect(header.pageCount == scan.end.commit)
            #expect(header.frameChecksum == scan.end.checksum)
            #expect(header.salt == scan.end.salt)
            #expect(header.bigEndianChecksums == scan.end.bigEndianChecksums)
            #expect(header.backfilled == 0)
            #expect(header.readMarks.count == 5)
            #expect(header.readMarks[0] == 0)

            try shell.run("PRAGMA wal_checkpoint(PASSIVE);")
            let copied = try index(of: shell)
            #expect(copied.backfilled == header.maxFrame)
            #expect(copied.backfillAttempted == header.maxFrame)
            #expect(copied.changeCounter == header.changeCounter)

            try shell.run("INSERT INTO t VALUES (0);")
            let restarted = WALReader(over: try shell.bytes(of: shell.wal))
            let generation = try #require(try restarted.header())
            #expect(generation.isNextGeneration(after: scan.end))
            #expect(try restarted.scan(from: .start(of: generation)).commits == 1)
            #expect(try index(of: shell).changeCounter &- header.changeCounter == 1)
            #expect(try index(of: shell).salt == generation.salt)
        }
    }

    // BUGS B09.
    @Test("after a VACUUM no page above the new size is in the map")
    func vacuum() throws {
        try withShell { shell in
            try shell.run("CREATE TABLE t(id INTEGER PRIMARY KEY, x);")
            for row in 1...100 {
                try shell.run("INSERT INTO t VALUES (\(row), randomblob(4000));")
            }
            try shell.run("DELETE FROM t WHERE id > 10; VACUUM;")
            let reader = WALReader(over: try shell.bytes(of: shell.wal))
            var sizes: [UInt32] = []
            let scan = try reader.scan(from: try start(reader)) { sizes.append($0.end.commit) }
            #expect(Set(sizes.suffix(3)).count > 1, "the WAL holds the shrink")
            #expect(scan.end.commit < 20)
            #expect(scan.pages.map(\.pgno) == Array(1...scan.end.commit))

            var database = try shell.bytes(of: shell.database)
            try database.apply(scan, from: reader)
            try shell.run("PRAGMA wal_checkpoint(TRUNCATE);")
            #expect(database == (try shell.bytes(of: shell.database)))
        }
    }

    // BUGS B12.
    @Test("a transaction that spills and rewrites its frames is taken once it has committed")
    func spillingTransaction() throws {
        try withShell(pageSize: 1024) { shell in
            try shell.run("CREATE TABLE t(id INTEGER PRIMARY KEY, x); PRAGMA cache_size=10;")
            try shell.run(
                """
                INSERT INTO t SELECT value, randomblob(1000) FROM generate_series(1, 2000);
                """
            )
            let before = WALReader(over: try shell.bytes(of: shell.wal))
            let saved = try before.scan(from: try start(before)).end
            try shell.run("BEGIN;")
            var spilled = 0
            for _ in 1...2 {
                for first in stride(from: 1, through: 2000, by: 500) {
                    try shell.run(
                        """
                        UPDATE t SET x = randomblob(1000) WHERE id BETWEEN \(first) AND \
                        \(first + 499);
                        """
                    )
                    let during = WALReader(over: try shell.bytes(of: shell.wal))
                    let scan = try during.scan(from: saved)
                    #expect(scan.end == saved)
                    #expect(scan.pages.isEmpty)
                    #expect(try during.holds(saved))
                    spilled = max(spilled, scan.validFrames)
                }
            }
            #expect(spilled > 0, "the transaction has frames before it commits")
            try shell.run("COMMIT;")
            let reader = WALReader(over: try shell.bytes(of: shell.wal))
            let scan = try reader.scan(from: saved)
            #expect(scan.commits == 1)
            #expect(scan.pages.count >= 2000)
            #expect(try index(of: shell).frameChecksum == scan.end.checksum)

            var database = try shell.bytes(of: shell.database)
            try database.apply(try reader.scan(from: try start(reader)), from: reader)
            try shell.run("PRAGMA wal_checkpoint(TRUNCATE);")
            #expect(database == (try shell.bytes(of: shell.database)))
        }
    }
}
