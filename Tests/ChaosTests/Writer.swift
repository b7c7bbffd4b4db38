import Foundation
import TestSupport

#if canImport(Glibc)
import Glibc
#endif

/// An application of its own that writes to the database: Python with a newer SQLite than ours.
///
/// Each transaction raises the number in `counter` by one and overwrites some rows of a ring, so
/// the number says which state a copy is in, and the database stays small. It says how far it has
/// come in lines of logfmt, after the commit.
struct Writer {
    enum Settings: String, CaseIterable {
        /// As beside a replicator: no checkpoint at a commit, none at the close, the WAL stays.
        case external
        /// SQLite's defaults: a checkpoint every 1000 pages, and the last close deletes the WAL.
        case stock
    }

    static let counting = "SELECT n FROM counter"

    let database: String
    let settings: Settings
    /// Between two transactions; a load, not a wait.
    var pause: Duration = .microseconds(300)
    /// Transactions a line.
    var every = 20
    /// Rows that a transaction overwrites.
    var rows = 4

    func launch() throws -> Child {
        try Child(
            Peers.python,
            [
                "-c", Self.program, database, settings.rawValue,
                "\(pause / .seconds(1))", "\(every)", "\(rows)",
            ]
        )
    }

    /// Launches it and waits for its first transaction.
    func launched() async throws -> Child {
        let child = try launch()
        try await child.wait { $0.kind == "ready" }
        return child
    }

    private static let program = """
        import apsw, ctypes, random, signal, sys, time

        path, settings, pause, every, rows = sys.argv[1:6]
        pause, every, rows = float(pause), int(every), int(rows)
        db = apsw.Connection(path)
        db.set_busy_timeout(30000)
        if settings == "external":
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            db.execute("PRAGMA wal_autocheckpoint = 0")
            keep = ctypes.c_int(1)
            db.file_control("main", apsw.SQLITE_FCNTL_PERSIST_WAL, ctypes.addressof(keep))
        else:
            db.execute("PRAGMA wal_autocheckpoint = 1000")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        # Whoever begins with a read is not let wait when it wants to write.
        db.execute("BEGIN IMMEDIATE")
        db.execute("CREATE TABLE IF NOT EXISTS counter (n INTEGER NOT NULL)")
        db.execute("CREATE TABLE IF NOT EXISTS ring (id INTEGER PRIMARY KEY, n, body BLOB)")
        db.execute("INSERT INTO counter SELECT 0 WHERE NOT EXISTS (SELECT * FROM counter)")
        db.execute("COMMIT")

        asked = set()
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, lambda number, frame: asked.add(number))

        def say(kind):
            print(f"kind={kind} n={n}", flush=True)

        n = db.execute("SELECT n FROM counter").fetchall()[0][0]
        say("ready")
        waiting = False
        while signal.SIGTERM not in asked:
            if signal.SIGUSR1 in asked:
                asked.discard(signal.SIGUSR1)
                waiting = True
                say("paused")
            if signal.SIGUSR2 in asked:
                asked.discard(signal.SIGUSR2)
                waiting = False
                say("resumed")
            if waiting:
                # A signal that came since the look above ends the wait all the same.
                signal.sigtimedwait([], 0.005)
                continue
            try:
                with db:
                    db.execute("UPDATE counter SET n = n + 1")
                    for _ in range(rows):
                        id = random.randrange(4000)
                        body = random.randbytes(random.randrange(50, 900))
                        db.execute("REPLACE INTO ring VALUES (?, ?, ?)", (id, n + 1, body))
                n += 1
            except (apsw.BusyError, apsw.FullError, apsw.IOError) as error:
                print(f"kind=failed detail={type(error).__name__}", flush=True)
                time.sleep(0.01)
                continue
            if n % every == 0:
                say("commit")
            if pause:
                time.sleep(pause)
        db.close()
        say("closed")
        """
}

extension Child {
    /// The last transaction that a writer has acknowledged.
    var acknowledged: Int {
        records.last { $0["n"] != nil }?.number("n") ?? 0
    }

    /// Lets a writer finish its transaction and write no more until `proceed`.
    func hold() async throws {
        let seen = records.count
        send(SIGUSR1)
        try await wait(from: seen) { $0.kind == "paused" }
    }

    func proceed() async throws {
        let seen = records.count
        send(SIGUSR2)
        try await wait(from: seen) { $0.kind == "resumed" }
    }

    /// Ends a writer with a proper close of its database.
    func finish() async throws {
        send(SIGTERM)
        _ = try await end()
    }
}
