import DurableFiles
import Foundation
import SQLiteBridge
import TestSupport
import Testing

@Suite("The one opener")
struct ConnectionTests {
    @Test("the last close neither checkpoints nor removes the WAL")
    func lastCloseKeepsTheWAL() throws {
        try withDatabase { path in
            let connection = try Connection(path: path)
            for _ in 0..<2000 { try connection.execute("INSERT INTO t(v) VALUES (zeroblob(4000))") }
            let wal = try #require(try FileStatus.of(path + "-wal")?.sizeInBytes)
            #expect(wal > 2000 * 4096)
            try connection.close()
            #expect(try FileStatus.of(path + "-wal")?.sizeInBytes == wal)
        }
    }

    @Test("automatic checkpointing is there for databases that nobody replicates")
    func automaticCheckpoints() throws {
        try withDatabase { path in
            let connection = try Connection(path: path, checkpointing: .automatic)
            for _ in 0..<2000 { try connection.execute("INSERT INTO t(v) VALUES (zeroblob(4000))") }
            let wal = try #require(try FileStatus.of(path + "-wal")?.sizeInBytes)
            #expect(wal < 1100 * 4120)
            try connection.close()
            #expect(try FileStatus.of(path + "-wal") == nil)
        }
    }

    @Test("a checkpoint answers with its three numbers")
    func checkpointNumbers() throws {
        try withDatabase { path in
            let connection = try Connection(path: path)
            try connection.execute("INSERT INTO t(v) VALUES (1)")
            let passive = try connection.checkpoint()
            #expect(passive.isComplete && passive.logFrames > 0 && !passive.isBusy)
            let truncate = try connection.checkpoint(.truncate)
            #expect(
                truncate == CheckpointResult(isBusy: false, logFrames: 0, checkpointedFrames: 0)
            )
        }
    }

    @Test("a checkpoint held up by a reader is busy or incomplete, not an error")
    func checkpointHeldUp() throws {
        try withDatabase { path in
            let connection = try Connection(path: path, busyTimeout: .zero)
            let reader = try Connection(path: path)
            try connection.execute("INSERT INTO t(v) VALUES (1)")
            try reader.beginRead()
            try connection.execute("INSERT INTO t(v) VALUES (2)")
            #expect(try !connection.checkpoint().isComplete)
            #expect(try connection.checkpoint(.truncate).isBusy)
            try reader.endRead()
            #expect(try connection.checkpoint().isComplete)
        }
    }

    @Test("values of each type come back as they were bound")
    func roundTripsValues() throws {
        try withDatabase { path in
            let connection = try Connection(path: path)
            let values: [SQLiteValue] = [
                .null, .integer(.min), .real(0.1), .text("æ—'"), .text(""), .blob([]),
                .blob([0, 255]),
            ]
            let statement = try connection.prepare("SELECT ?1, typeof(?1)")
            for value in values {
                statement.reset()
                try statement.bind([value])
                #expect(try statement.step())
                #expect(statement.column(0) == value)
            }
        }
    }

    @Test("an error carries SQLite's code and words, the SQL and the path, never a bound value")
    func errorSaysWhere() throws {
        try withDatabase { path in
            let connection = try Connection(path: path)
            try connection.execute("CREATE TABLE u(x UNIQUE); INSERT INTO u VALUES ('secret')")
            let statement = try connection.prepare("INSERT INTO u VALUES (?1)")
            do {
                try statement.run([.text("secret")])
                Issue.record("a duplicate was inserted")
            } catch let error as SQLiteError {
                #expect(error.code == 2067)
                #expect(error.path == path)
                #expect(!"\(error)".contains("secret"))
            }
        }
    }

    @Test("a file that is no database is told apart, and so is one that is missing")
    func tellsBadFilesApart() throws {
        try withTemporaryDirectory { directory in
            let path = directory.appending(path: "noise").path
            try Data(repeating: 0x5A, count: 8192).write(to: URL(filePath: path))
            let connection = try Connection(path: path)
            do {
                _ = try connection.value("SELECT count(*) FROM sqlite_schema")
                Issue.record("noise was read")
            } catch let error as SQLiteError {
                #expect(error.isNotADatabase)
            }
            do {
                _ = try Connection(path: path + ".not")
                Issue.record("a missing file was opened")
            } catch let error as FileError {
                #expect(error.isMissing)
            }
            #expect(try FileStatus.of(path + ".not") == nil)
        }
    }

    @Test("the write lock is got between the commits of a busy writer, and given up at its limit")
    func writeLockHasALimit() throws {
        try withDatabase { path in
            let writer = try Connection(path: path)
            let other = try Connection(path: path)
            try writer.execute("BEGIN IMMEDIATE")
            do {
                try other.beginImmediate(within: .milliseconds(20))
                Issue.record("two writers")
            } catch let error as SQLiteError {
                #expect(error.isBusy)
            }
            try writer.execute("COMMIT")
            try other.beginImmediate(within: .milliseconds(20))
            #expect(other.isInTransaction)
        }
    }

    @Test("a backup is the database as it is, with what is still in the WAL")
    func backsUp() throws {
        try withDatabase { path in
            let connection = try Connection(path: path)
            for n in 0..<100 { try connection.execute("INSERT INTO t(v) VALUES (\(n))") }
            let copy = try Connection(path: path + ".copy", mode: .create)
            var calls = 0
            try connection.backup(to: copy, pagesPerStep: 1) { _, total in
                calls += 1
                #expect(total > 0)
            }
            #expect(calls > 1)
            #expect(try copy.value("SELECT count(*) FROM t") == .integer(100))
            #expect(try FileStatus.of(path + "-wal")?.sizeInBytes ?? 0 > 0)
        }
    }

    @Test("a closed connection throws, and closing twice is fine")
    func closedConnectionThrows() throws {
        try withDatabase { path in
            let connection = try Connection(path: path)
            try connection.close()
            try connection.close()
            #expect(throws: SQLiteError.self) { try connection.execute("SELECT 1") }
        }
    }
}

@Suite("One raw descriptor per file")
struct DatabaseFilesTests {
    @Test("connections to one file share its descriptors, under whatever path")
    func sharesDescriptors() throws {
        try withDatabase { path in
            let one = try Connection(path: path)
            let link = path + ".link"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
            let other = try Connection(path: link)
            #expect(one.files === other.files)
        }
    }

    // BUGS B83: with a raw open and close of the file in between, the outsider's close deletes
    // the WAL and the second insert is seen by nobody.
    @Test("reading raw pages never drops SQLite's locks")
    func rawReadsKeepLocks() throws {
        try withTemporaryDirectory { directory in
            let path = directory.appending(path: "app.db").path
            let connection = try Connection(path: path, mode: .create)
            try connection.execute("PRAGMA journal_mode=WAL; CREATE TABLE t(v)")
            try connection.execute("INSERT INTO t VALUES (1)")
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 8)
            defer { buffer.deallocate() }
            for _ in 0..<3 {
                let short = try Connection(path: path)
                #expect(try short.files.readDatabase(at: 0, into: buffer) == 64)
                #expect(try short.files.refreshWAL() != nil)
                #expect(try short.files.readWAL(at: 0, into: buffer) == 64)
                #expect(try short.files.readWALIndex(at: 0, into: buffer) == 64)
                try short.close()
            }
            #expect(try sqlite3(path, "SELECT count(*) FROM t") == "1\n")
            #expect(try FileStatus.of(path + "-wal") != nil)
            try connection.execute("INSERT INTO t VALUES (2)")
            #expect(try sqlite3(path, "SELECT count(*) FROM t") == "2\n")
        }
    }

    /// Runs the stock shell, which has SQLite's default checkpointing.
    private func sqlite3(_ path: String, _ sql: String) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/sqlite3")
        process.arguments = [path, sql]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }

    @Test("a WAL that was deleted and made again is found")
    func findsNewWAL() throws {
        try withDatabase { path in
            let connection = try Connection(path: path)
            try connection.execute("INSERT INTO t(v) VALUES (1)")
            let files = connection.files
            #expect(try files.refreshWAL() ?? 0 > 0)
            try FileManager.default.removeItem(atPath: path + "-wal")
            #expect(try files.refreshWAL() == nil)
            try Data(count: 7).write(to: URL(filePath: path + "-wal"))
            #expect(try files.refreshWAL() == 7)
        }
    }

    @Test("a replaced database file is noticed")
    func noticesReplacement() throws {
        try withDatabase { path in
            let connection = try Connection(path: path)
            #expect(try connection.files.isInPlace())
            try FileManager.default.moveItem(atPath: path, toPath: path + ".old")
            #expect(try !connection.files.isInPlace())
            try FileManager.default.copyItem(atPath: path + ".old", toPath: path)
            #expect(try !connection.files.isInPlace())
        }
    }
}

private actor Worker {
    private let executor = SerialThreadExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private var seen: [Int] = []

    func add(_ number: Int) -> UInt {
        seen.append(number)
        return UInt(pthread_self())
    }

    var count: Int { seen.count }
}

@Suite("The thread of an actor")
struct SerialThreadExecutorTests {
    @Test("all jobs of an actor run on its one thread")
    func oneThread() async {
        let worker = Worker()
        let threads = await withTaskGroup(of: UInt.self) { group in
            for number in 0..<100 { group.addTask { await worker.add(number) } }
            return await group.reduce(into: Set<UInt>()) { $0.insert($1) }
        }
        #expect(threads.count == 1)
        #expect(await worker.count == 100)
    }
}

/// Runs a body on a WAL-mode database with a table `t(id, v)`.
private func withDatabase(_ body: (String) throws -> Void) throws {
    try withTemporaryDirectory { directory in
        let path = directory.appending(path: "app.db").path
        let connection = try Connection(path: path, mode: .create)
        try connection.execute("PRAGMA journal_mode=WAL")
        try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
        try connection.close()
        try body(path)
    }
}
