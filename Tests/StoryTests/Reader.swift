import Foundation
import TestSupport

/// A stock `sqlite3` that stays, asked line by line.
final class Reader {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var isClosed = false

    var processID: Int32 { process.processIdentifier }

    init(_ path: String) throws {
        process.executableURL = URL(filePath: "/usr/bin/sqlite3")
        process.arguments = ["-readonly", "-cmd", ".timeout 5000", path]
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        try process.runWithSignalsUnblocked()
    }

    /// What it prints for some SQL.
    func ask(_ sql: String) throws -> String {
        let mark = "--end-of-answer--"
        try input.fileHandleForWriting.write(contentsOf: Data("\(sql)\n.print \(mark)\n".utf8))
        var answer = ""
        while !answer.hasSuffix(mark + "\n") {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else {
                throw Child.Failure(description: "sqlite3 ended: \(answer)")
            }
            answer += String(decoding: data, as: UTF8.self)
        }
        return answer.dropLast(mark.count + 1).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
        try? output.fileHandleForReading.close()
    }

    deinit { close() }
}
