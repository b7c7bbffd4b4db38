import Foundation
import TestSupport

/// A stock `sqlite3` that keeps a database open between statements, as a reader does.
final class Shell {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var received = ""

    var processID: Int32 { process.processIdentifier }

    init(_ path: String, readOnly: Bool = true) throws {
        process.executableURL = URL(filePath: "/usr/bin/sqlite3")
        process.arguments = ["-batch"] + (readOnly ? ["-readonly"] : []) + [path]
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        try process.runWithSignalsUnblocked()
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// Runs statements to their end; gives what they printed, errors too.
    @discardableResult
    func run(_ sql: String) throws -> String {
        try start(sql)
        return try finish()
    }

    /// Starts statements without waiting for them.
    func start(_ sql: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\(sql);\n.print --done--\n".utf8))
    }

    func finish() throws -> String {
        let mark = "--done--\n"
        while !received.hasSuffix(mark) {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw CocoaError(.fileReadUnknown) }
            received += String(decoding: data, as: UTF8.self)
        }
        defer { received = "" }
        return String(received.dropLast(mark.count))
    }

    func close() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
