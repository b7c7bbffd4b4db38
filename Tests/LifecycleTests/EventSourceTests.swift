import Foundation
import Lifecycle
import SQLiteBridge
import TestSupport
import Testing

@Suite("What wakes a replicator")
struct EventSourceTests {
    @Test("a commit is an event, and a reader is none")
    func commitsWake() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "app.db").path
            let app = try Connection(path: path, mode: .create)
            try app.execute("PRAGMA journal_mode=WAL; CREATE TABLE t(v)")
            let events = try EventSource(database: path)
            try await events.forgetChanges()
            _ = try app.value("SELECT count(*) FROM t")
            #expect(try await events.next(changes: true, until: .now) == .deadline)
            try app.execute("INSERT INTO t VALUES (1)")
            #expect(try await events.next(changes: true) == .changed)
        }
    }

    @Test("a change that nobody asked for waits for who asks")
    func changesWait() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "app.db").path
            let events = try EventSource(database: path)
            try Data(count: 1).write(to: URL(filePath: path + "-wal"))
            #expect(try await events.next(changes: false, until: .now) == .deadline)
            #expect(try await events.next(changes: true) == .changed)
        }
    }

    @Test("a database that is made later is seen, other files in its directory are not")
    func seesCreation() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "app.db").path
            let events = try EventSource(database: path)
            for name in ["other.db", "app.db-shm", "app.db2", "app.db-wal2"] {
                try Data(count: 1).write(to: directory.appending(path: name))
            }
            #expect(try await events.next(changes: true, until: .now) == .deadline)
            try Data(count: 1).write(to: URL(filePath: path))
            #expect(try await events.next(changes: true) == .changed)
        }
    }

    @Test("forgotten changes are no event, later ones are")
    func forgets() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "app.db").path
            let events = try EventSource(database: path)
            try Data(count: 1).write(to: URL(filePath: path))
            try await events.forgetChanges()
            #expect(try await events.next(changes: true, until: .now) == .deadline)
            try Data(count: 2).write(to: URL(filePath: path))
            #expect(try await events.next(changes: true) == .changed)
        }
    }

    @Test("a deadline in the future is waited for")
    func waitsForDeadline() async throws {
        let events = try EventSource(database: nil)
        let deadline = ContinuousClock.now + .milliseconds(20)
        #expect(try await events.next(changes: true, until: deadline) == .deadline)
        #expect(ContinuousClock.now >= deadline)
    }

    @Test("signals are events, come before changes, and leave the process alone")
    func signalsAreEvents() async throws {
        let events = try EventSource(database: nil, signals: [SIGUSR1, SIGWINCH])
        kill(getpid(), SIGUSR1)
        kill(getpid(), SIGWINCH)
        var seen: Set<Int32> = []
        for _ in 0..<2 {
            guard case .signal(let signal) = try await events.next(changes: true) else {
                Issue.record("no signal")
                return
            }
            seen.insert(signal)
        }
        #expect(seen == [SIGUSR1, SIGWINCH])
    }
}
