import Bucket
import Foundation
import LTXCodec
import Replica
import Replication
import SQLiteBridge
import TestSupport
import Testing

/// Features of SQLite that move pages about in ways of their own.
private enum Feature: String, CaseIterable, Sendable {
    case plain, withoutRowid, fullText, overflow, incrementalVacuum, migrations

    var schema: String {
        switch self {
        case .plain, .overflow, .migrations:
            "CREATE TABLE f(id INTEGER PRIMARY KEY, a, b); CREATE INDEX f_a ON f(a)"
        case .withoutRowid: "CREATE TABLE f(id PRIMARY KEY, a, b) WITHOUT ROWID"
        case .fullText: "CREATE VIRTUAL TABLE f USING fts5(a, b)"
        case .incrementalVacuum: "CREATE TABLE f(id INTEGER PRIMARY KEY, a, b)"
        }
    }

    /// One random change.
    func statement(_ round: Int, _ random: inout SeededGenerator) -> String {
        let number = Int.random(in: 1...500, using: &random)
        let size = Int.random(in: 0...(self == .overflow ? 30_000 : 400), using: &random)
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<5:
            return self == .fullText
                ? "INSERT INTO f(a, b) VALUES ('word\(number) word\(size)', hex(randomblob(40)))"
                : "INSERT OR REPLACE INTO f(id, a, b) VALUES "
                    + "(\(number), hex(randomblob(20)), randomblob(\(size)))"
        case 5..<7:
            return self == .fullText
                ? "UPDATE f SET a = 'again\(number)' WHERE rowid = \(number)"
                : "UPDATE f SET b = randomblob(\(size)) WHERE id % 17 = \(number % 17)"
        case 7:
            return "DELETE FROM f WHERE \(self == .fullText ? "rowid" : "id") % 5 = \(number % 5)"
        case 8 where self == .incrementalVacuum: return "PRAGMA incremental_vacuum"
        case 8 where self == .migrations:
            return "ALTER TABLE f ADD COLUMN c\(round)_\(number) DEFAULT \(number)"
        case 8 where self == .fullText: return "INSERT INTO f(f) VALUES ('optimize')"
        case 9 where self == .migrations:
            return
                "CREATE INDEX IF NOT EXISTS i\(round) ON f(b); DROP INDEX IF EXISTS i\(abs(round - 2))"
        case 9 where round % 4 == 3: return "VACUUM"
        default: return "UPDATE t SET v = randomblob(50) WHERE id = \(number % 20)"
        }
    }
}

@Suite("Page sizes and features", .serialized, .enabled(if: Peers.areInstalled, Peers.missing))
struct FeatureMatrixTests {
    @Test(
        "random writes and pushes restore page by page",
        arguments: [512, 1024, 4096, 8192, 65_536],
        Feature.allCases
    )
    fileprivate func matrix(pageSize: Int, feature: Feature) async throws {
        let seed: UInt64 = 20_260_101
        var random = SeededGenerator(seed: seed &+ UInt64(pageSize))
        try await withTemporaryDirectory { directory in
            let source = try Source(
                directory,
                pageSize: pageSize,
                pragmas: feature == .incrementalVacuum ? "PRAGMA auto_vacuum=INCREMENTAL" : ""
            )
            try source.insert(20)
            try source.app.execute(feature.schema)
            let replicator = source.replicator {
                $0.checkpointFrames = 200
                $0.pin = .yield
            }
            for round in 0..<12 {
                for _ in 0..<Int.random(in: 1...30, using: &random) {
                    try source.app.execute(feature.statement(round, &random))
                }
                let push = await replicator.push()
                #expect(push.outcome.isSuccess, "seed \(seed): \(push.outcome)")
                #expect(push.kind == (round == 0 ? .snapshot(.first) : .wal), "seed \(seed)")
                if round % 6 == 5 { try await source.expectRestorable("seed \(seed)") }
            }
            try await source.expectRestoredByUs("seed \(seed)")
            await replicator.close()
        }
    }

    @Test("VACUUM that shrinks leaves no page above the end (B09)")
    func shrinks() async throws {
        try await withSource { source in
            let replicator = source.replicator()
            #expect(await replicator.push().outcome == .pushed)
            try source.insert(100, bytes: 4000)
            try source.app.execute("DELETE FROM t WHERE id > 10")
            try source.app.execute("VACUUM")
            let push = await replicator.push()
            #expect(push.kinds == [.wal])
            let pages = try source.app.value("PRAGMA page_count")?.integer
            #expect(push.syncs.first?.commit == pages.map { UInt32($0) })
            try await source.expectRestorable()
            try await source.expectRestoredByUs()
            await replicator.close()
        }
    }

    /// Whether the long variants run too.
    private static let isFull = ProcessInfo.processInfo.environment["DORMOUSE_FULL"] != nil

    @Test(
        "a database beyond the lock page",
        arguments: isFull ? [65_536, 4096] : [65_536]
    )
    func lockPage(pageSize: Int) async throws {
        try await withSource(pageSize: pageSize) { source in
            let replicator = source.replicator { $0.pin = .yield }
            try source.app.execute("CREATE TABLE big(id INTEGER PRIMARY KEY, v)")
            // Nine of 120 MiB: a little more than 1 GiB.
            for _ in 0..<8 {
                try source.app.execute("INSERT INTO big(v) VALUES (zeroblob(120 << 20))")
                _ = try await replicator.checkpoint()
            }
            let before = await replicator.push()
            #expect(before.outcome == .pushed, "\(before.outcome)")
            // Over the lock page by a delta, and then on both sides of it.
            for _ in 0..<2 {
                try source.app.execute("INSERT INTO big(v) VALUES (zeroblob(70 << 20))")
                let push = await replicator.push()
                #expect(push.outcome == .pushed, "\(push.outcome)")
                #expect(push.kind == .wal)
            }
            let lock = Int64(lockPgno(pageSize: UInt32(pageSize)))
            #expect(try #require(try source.app.value("PRAGMA page_count")?.integer) > lock + 2)
            try source.app.execute("UPDATE big SET v = randomblob(100000) WHERE id IN (2, 9)")
            try source.insert(50)
            #expect(await replicator.push().kind == .wal)
            // A lost place, beyond it too.
            _ = try source.app.checkpoint(.truncate)
            try source.insert(5)
            await replicator.close()
            let heir = source.replicator { $0.pin = .yield }
            let push = await heir.push()
            #expect(push.outcome == .pushed)
            if case .snapshot = push.kind { Issue.record("\(push.kinds) \(push.notes)") }
            try await source.expectRestorable()
            if Self.isFull { try await source.expectRestoredByUs() }
            await heir.close()
        }
    }
}
