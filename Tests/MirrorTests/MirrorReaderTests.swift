import Bucket
import DurableFiles
import Foundation
import LTXCodec
import Replica
import SQLiteBridge
import Synchronization
import TestSupport
import Testing

@Suite("Readers of a mirror see one of two states, and nothing else")
struct MirrorReaderTests {
    @Test("stock readers keep the mirror open across deltas, a re-baseline and an ingest")
    func theReaderWhoWasThereBefore() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            try scene.insert(300)
            try await scene.push()
            let mirror = scene.mirror()
            try await mirror.advance()
            let readers = try [
                Shell(scene.mirrorPath), Shell(scene.mirrorPath),
                Shell(scene.mirrorPath, readOnly: false),
            ]
            for reader in readers {
                #expect(try reader.run("SELECT count(*) FROM t") == "300\n")
            }
            var generator = SeededGenerator(seed: 8)
            for round in 0..<30 {
                let kind = Int.random(in: 0..<6, using: &generator)
                switch kind {
                case 0: try scene.sql("DELETE FROM t WHERE id % 3 = 0; VACUUM")
                case 1: try scene.insert(200)
                default:
                    try scene.sql("UPDATE t SET v = randomblob(80) WHERE id % 11 = \(round % 11)")
                }
                switch round % 3 {
                case 0:
                    try await scene.push()
                    try await mirror.advance()
                case 1:
                    try await scene.snapshot(at: TXID(scene.head.rawValue + 3))
                    try await mirror.advance()
                default:
                    let base = scene.head.next
                    try await upload(scene.note(at: base), to: mirror, base: base, in: directory)
                }
                let expected = try await stock(scene.mirrorPath, Self.question)
                for reader in readers {
                    #expect(try reader.run(Self.question) == expected, "round \(round)")
                    #expect(try reader.run("PRAGMA integrity_check") == "ok\n", "round \(round)")
                }
                #expect(try difference(scene.mirrorPath, scene.images[scene.head] ?? []) == nil)
            }
            #expect(mirror.status.appliedTXID == scene.head)
            #expect(!mirror.status.mustRestart)
        }
    }

    private static let question = "SELECT count(*), coalesce(sum(length(v)), 0), max(id) FROM t"

    private func upload(
        _ image: [UInt8],
        to mirror: Mirror,
        base: TXID,
        in directory: URL
    ) async throws {
        let body = directory.appending(path: "upload.db")
        try Data(image).write(to: body)
        _ = try await mirror.ingest(
            IngestImage(checking: body.path, scratch: body.path + ".tmp", limit: 1 << 30),
            base: base,
            timestamp: 1
        )
        try await mirror.advance()
    }

    @Test("readers that never rest see whole transactions while applies go on at full speed")
    func neverTorn() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            // Every transaction keeps the sum over many pages at zero.
            try scene.sql(
                """
                CREATE TABLE sums(id INTEGER PRIMARY KEY, n INTEGER, pad BLOB);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
                INSERT INTO sums(n, pad) SELECT 0, zeroblob(900) FROM n;
                """
            )
            try await scene.push()
            let mirror = scene.mirror()
            try await mirror.advance()
            let stop = directory.appending(path: "stop")
            let program = """
                import os, sqlite3, sys
                path, stop = sys.argv[1:]
                rounds = busy = 0
                keep = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)
                while not os.path.exists(stop):
                    fresh = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)
                    for reader in (keep, fresh):
                        try:
                            total, = reader.execute("SELECT sum(n) FROM sums").fetchone()
                            if total != 0: sys.exit(f"torn: {total}")
                            rounds += 1
                        except sqlite3.OperationalError as error:
                            if "locked" not in str(error): sys.exit(f"error: {error}")
                            busy += 1
                    fresh.close()
                answer, = keep.execute("PRAGMA integrity_check").fetchone()
                print(rounds, busy, answer)
                """
            let path = scene.mirrorPath
            async let readers = withThrowingTaskGroup(of: ProcessOutcome.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        try await runProcess(
                            URL(filePath: "/usr/bin/env"),
                            ["python3", "-c", program, path, stop.path]
                        )
                    }
                }
                var outcomes: [ProcessOutcome] = []
                for try await outcome in group { outcomes.append(outcome) }
                return outcomes
            }
            for round in 1...100 {
                try scene.sql(
                    "UPDATE sums SET n = CASE WHEN id <= 100 THEN \(round) ELSE -\(round) END"
                )
                try await scene.push()
                try await mirror.advance()
            }
            try Data().write(to: stop)
            for outcome in try await readers {
                #expect(outcome.status == 0, "\(outcome.stderr)")
                #expect(outcome.stdout.hasSuffix(" ok\n"))
                let rounds = outcome.stdout.split(separator: " ").first.flatMap { Int($0) } ?? 0
                #expect(rounds > 0)
            }
        }
    }

    @Test("a reader in a transaction is named, and the mirror catches up when it is gone")
    func theReaderWhoNeverLeaves() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            try scene.insert(50)
            try await scene.push()
            let mirror = scene.mirror()
            let following = Task { await mirror.run() }
            defer { following.cancel() }
            try await eventually { mirror.status.appliedTXID == TXID(1) }

            let reader = try Shell(scene.mirrorPath)
            #expect(try reader.run("BEGIN; SELECT count(*) FROM t") == "50\n")
            for _ in 0..<3 {
                try scene.insert(10)
                mirror.wake(try await scene.push())
            }
            try await eventually { mirror.status.blockedBy?.processID == reader.processID }
            let status = mirror.status
            #expect(status.appliedTXID == TXID(1))
            #expect(status.bucketTXID == TXID(4))
            #expect(status.lag == 3)

            // The reader's own state stays; others may come and go meanwhile, or find it busy.
            #expect(try reader.run("SELECT count(*) FROM t") == "50\n")
            let guest = try Shell(scene.mirrorPath)
            try guest.run("PRAGMA busy_timeout = 20000")
            let answer = try guest.run("SELECT count(*) FROM t")
            #expect(answer == "50\n")

            try reader.run("COMMIT")
            try await eventually { mirror.status.appliedTXID == TXID(4) }
            #expect(mirror.status.blockedBy == nil)
            #expect(try reader.run("SELECT count(*) FROM t") == "80\n")
            #expect(try guest.run("SELECT count(*) FROM t") == "80\n")
            #expect(try difference(scene.mirrorPath, scene.images[TXID(4)] ?? []) == nil)
        }
    }

    @Test("one try with a deadline says who is in the way and leaves nothing behind")
    func deadline() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            try scene.insert(50)
            try await scene.push()
            let mirror = scene.mirror()
            try await mirror.advance()
            let before = try contents(scene.mirrorPath)
            let reader = try Shell(scene.mirrorPath)
            try reader.run("BEGIN; SELECT count(*) FROM t")
            try scene.insert(10)
            try await scene.push()
            await #expect(
                throws: MirrorError.lockBusy(
                    path: scene.mirrorPath,
                    LockHolder(processID: reader.processID)
                )
            ) {
                try await mirror.advance(within: .milliseconds(200))
            }
            #expect(try difference(scene.mirrorPath, before) == nil)
            #expect(try !entries(directory).contains("mirror.sqlite-journal"))
            #expect(mirror.status.blockedBy == nil)
            #expect(mirror.status.failure != nil)
            // Nothing is locked: somebody may even write.
            #expect(try reader.run("COMMIT; SELECT count(*) FROM t") == "50\n")
            try await mirror.advance(within: .milliseconds(200))
            #expect(mirror.status.failure == nil)
            #expect(try reader.run("SELECT count(*) FROM t") == "60\n")
        }
    }

    @Test("a wait for a reader ends when its task is cancelled, and leaves nothing behind")
    func cancelled() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            try await scene.push()
            let mirror = scene.mirror()
            try await mirror.advance()
            let reader = try Shell(scene.mirrorPath)
            try reader.run("BEGIN; SELECT count(*) FROM t")
            try scene.insert(10)
            try await scene.push()
            let waiting = Task { try await mirror.advance() }
            try await eventually { mirror.status.blockedBy != nil }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            #expect(try !entries(directory).contains("mirror.sqlite-journal"))
            #expect(mirror.status.blockedBy == nil)
            try reader.run("COMMIT")
            try await mirror.advance()
            #expect(try difference(scene.mirrorPath, scene.images[scene.head] ?? []) == nil)
        }
    }

    @Test("a reader of this process is excluded like any other, and its locks outlive an apply")
    func sameProcess() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            try scene.insert(5)
            try await scene.push()
            let mirror = scene.mirror()
            try await mirror.advance()
            let connection = try Connection(
                path: scene.mirrorPath,
                mode: .readOnly,
                checkpointing: .automatic
            )
            try connection.beginRead()
            try scene.insert(5)
            try await scene.push()
            await #expect(
                throws: MirrorError.lockBusy(
                    path: scene.mirrorPath,
                    LockHolder(processID: ProcessInfo.processInfo.processIdentifier)
                )
            ) {
                try await mirror.advance(within: .milliseconds(100))
            }
            // Another connection came and went; the lock of the first is still there.
            _ = await mirror.newestSample("SELECT count(*) FROM t")
            await #expect(throws: MirrorError.self) {
                try await mirror.advance(within: .milliseconds(100))
            }
            try connection.endRead()
            try await mirror.advance()
            #expect(try connection.value("SELECT count(*) FROM t") == .integer(10))
            #expect(await mirror.newestSample("SELECT count(*) FROM t").time == .milliseconds(10))
            try connection.close()
        }
    }

    @Test("a writer, and WAL mode that somebody switched on, are found and put right")
    func strangers() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            try scene.insert(50)
            try await scene.push()
            let mirror = scene.mirror()
            try await mirror.advance()
            for sql in [
                "INSERT INTO t(v) VALUES ('foreign')", "DELETE FROM t; VACUUM",
                "PRAGMA journal_mode = WAL; INSERT INTO t(v) VALUES ('foreign')",
            ] {
                _ = try await stock(scene.mirrorPath, sql)
                try scene.insert(10)
                try await scene.push()
                try await mirror.advance()
                #expect(mirror.status.appliedTXID == scene.head, "\(sql)")
                #expect(try difference(scene.mirrorPath, scene.images[scene.head] ?? []) == nil)
                #expect(try !entries(directory).contains("mirror.sqlite-wal"))
            }
            // A file that was put in its place is another file.
            try FileManager.default.removeItem(atPath: scene.mirrorPath)
            _ = try await stock(scene.mirrorPath, "CREATE TABLE other(a)")
            try scene.insert(10)
            try await scene.push()
            try await mirror.advance()
            #expect(try difference(scene.mirrorPath, scene.images[scene.head] ?? []) == nil)
        }
    }
}

/// Waits until something is so, at most half a minute.
func eventually(_ condition: () async throws -> Bool) async throws {
    let limit = ContinuousClock.now + .seconds(30)
    while try await !condition() {
        guard ContinuousClock.now < limit else {
            Issue.record("it never came to be")
            return
        }
        try await Task.sleep(for: .milliseconds(5))
    }
}
