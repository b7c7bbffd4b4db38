import Foundation
import TestSupport
import Testing

/// A `sqlite3` process that keeps its connection open between statements.
///
/// Reading the raw files beside it is safe: no SQLite runs in this process.
final class SQLiteShell {
    static let isPresent = ["/usr/bin/sqlite3", "/usr/local/bin/sqlite3"]
        .contains { FileManager.default.isExecutableFile(atPath: $0) }
    static let missing: Comment = "sqlite3 is missing: apt-get install sqlite3"

    private struct Ended: Error, CustomStringConvertible {
        var statement: String
        var output: String
        var description: String { "sqlite3 ended at \(statement): \(output)" }
    }

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var received = ""

    let database: URL
    var wal: URL { URL(filePath: database.path + "-wal") }
    var sharedMemory: URL { URL(filePath: database.path + "-shm") }

    /// Opens a database in WAL mode, with nothing checkpointed behind our back.
    init(database: URL, pageSize: Int = 4096) throws {
        self.database = database
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["sqlite3", "-batch", "-bail", database.path]
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        try process.run()
        try run(
            """
            PRAGMA page_size=\(pageSize); PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;
            """
        )
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// Runs statements, waits until they are done and gives what they printed.
    @discardableResult
    func run(_ sql: String) throws -> String {
        let mark = "--done--\n"
        try input.fileHandleForWriting.write(contentsOf: Data("\(sql)\n.print --done--\n".utf8))
        while !received.hasSuffix(mark) {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw Ended(statement: sql, output: received) }
            received += String(decoding: data, as: UTF8.self)
        }
        defer { received = "" }
        return String(received.dropLast(mark.count))
    }

    /// The bytes of one of the database's files as they are now.
    func bytes(of file: URL) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: file))
    }
}
