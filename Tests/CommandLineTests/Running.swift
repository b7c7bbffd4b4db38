import Foundation
import TestSupport
import Testing

/// The program at work: its standard error line by line, and signals for it.
///
/// `@unchecked` because the process is started before anybody else sees it, and is then only
/// asked for its id and state, which Foundation answers from any thread.
final class Running: @unchecked Sendable {
    /// It ended, or said nothing of the kind until it ended.
    struct Ended: Error, CustomStringConvertible {
        let wanted: String
        let seen: [String]

        var description: String {
            "ended without a line with \"\(wanted)\"; it said:\n" + seen.joined(separator: "\n")
        }
    }

    private let process = Process()
    private let lines: AsyncStream<String>
    private let seen = Locked<[String]>([])
    private let exits: AsyncStream<Int32>

    var processID: Int32 { process.processIdentifier }

    fileprivate init(_ words: [String], environment: [String: String]) throws {
        let pipe = Pipe()
        process.executableURL = Dormouse.binary
        process.arguments = words
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = pipe

        let (lines, line) = AsyncStream.makeStream(of: String.self)
        let pending = Locked(Data())
        pipe.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            let complete = pending.withLock { pending -> [String] in
                pending += data
                var complete: [String] = []
                while let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                    complete.append(String(decoding: pending[..<end], as: UTF8.self))
                    pending = Data(pending[pending.index(after: end)...])
                }
                return complete
            }
            for text in complete { line.yield(text) }
            if data.isEmpty {
                handle.readabilityHandler = nil
                line.finish()
            }
        }
        let (exits, exit) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { process in
            let signalled = process.terminationReason == .uncaughtSignal
            exit.yield(process.terminationStatus + (signalled ? 128 : 0))
            exit.finish()
        }
        self.lines = lines
        self.exits = exits
        try process.runWithSignalsUnblocked()
    }

    /// Waits for the next line that holds all of these texts.
    @discardableResult
    func line(with texts: String...) async throws -> String {
        for await line in lines {
            seen.withLock { $0.append(line) }
            if texts.allSatisfy(line.contains) { return line }
        }
        throw Ended(wanted: texts.joined(separator: ", "), seen: seen.withLock { $0 })
    }

    func signal(_ signal: Int32) {
        kill(process.processIdentifier, signal)
    }

    /// Waits for the end.
    ///
    /// - Returns: The exit status; 128 + the signal for one that a signal ended.
    func status() async -> Int32 {
        await exits.first { _ in true } ?? -1
    }

    fileprivate func killIfRunning() {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }
}

/// Runs the program beside a body, and kills it if it is still there at the end.
func withRunning<R>(
    _ words: [String],
    environment: [String: String] = [:],
    _ body: (Running) async throws -> R
) async throws -> R {
    let running = try Running(words, environment: environment)
    defer { running.killIfRunning() }
    return try await body(running)
}
