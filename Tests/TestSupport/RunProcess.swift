public import Foundation

/// What a process left behind.
public struct ProcessOutcome: Sendable {
    /// The exit code; for a process that a signal ended, 128 + the signal, as shells say it.
    public let status: Int32
    public let stdoutBytes: Data
    public let stderrBytes: Data

    /// What it printed, with bytes that are not UTF-8 replaced.
    public var stdout: String { String(decoding: stdoutBytes, as: UTF8.self) }
    public var stderr: String { String(decoding: stderrBytes, as: UTF8.self) }
}

/// The process was still running at its time limit and has been killed.
public struct ProcessTimeout: Error, CustomStringConvertible {
    public let command: [String]
    public let limit: Duration
    public let outcome: ProcessOutcome

    public var description: String {
        """
        killed after \(limit): \(command.joined(separator: " "))
        stdout: \(outcome.stdout)
        stderr: \(outcome.stderr)
        """
    }
}

/// Runs a program to its end.
///
/// Input and output are temporary files, not pipes: nothing has to be drained while it runs, and
/// a grandchild that stays behind holds nobody up.
///
/// - Parameters:
///   - executable: The program's file; `PATH` is not searched.
///   - arguments: Its arguments, without its own name.
///   - environment: Variables on top of this process's own.
///   - stdin: What it reads; nothing by default.
///   - timeout: When it is killed (itself alone, not what it may have started).
/// - Returns: Its status, whatever it is, and its output.
/// - Throws: `ProcessTimeout` after the time limit; `CancellationError` when the task was
///   cancelled, and then the process is killed too; Foundation's error when it cannot be started.
public func runProcess(
    _ executable: URL,
    _ arguments: [String] = [],
    environment: [String: String] = [:],
    stdin: Data = Data(),
    timeout: Duration = .seconds(120)
) async throws -> ProcessOutcome {
    let input = try ScratchFile(holding: stdin)
    let output = try ScratchFile()
    let errors = try ScratchFile()
    // By hand: a Process that has ended can keep its handles for ever, and a thousand of them are
    // more than Foundation's own select() can take.
    defer { for file in [input, output, errors] { try? file.handle.close() } }

    let child = StartedProcess()
    child.process.executableURL = executable
    child.process.arguments = arguments
    child.process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    child.process.standardInput = input.handle
    child.process.standardOutput = output.handle
    child.process.standardError = errors.handle

    let (exits, exit) = AsyncStream.makeStream(of: Int32.self)
    child.process.terminationHandler = { process in
        let signalled = process.terminationReason == .uncaughtSignal
        exit.yield(process.terminationStatus + (signalled ? 128 : 0))
        exit.finish()
    }
    try child.process.runWithSignalsUnblocked()

    let killedByUs = Flag()
    let status = await withTaskCancellationHandler {
        let alarm = Task {
            try await Task.sleep(for: timeout)
            killedByUs.raise()
            child.kill()
        }
        // Unstructured, so that a cancelled caller still sees the end of the process: iterating in
        // a cancelled task would end at once, with the process running.
        let ended = Task.detached { await exits.first { _ in true } }
        let status = await ended.value
        alarm.cancel()
        return status
    } onCancel: {
        child.kill()
    }
    try Task.checkCancellation()

    let outcome = ProcessOutcome(
        status: status ?? -1,
        stdoutBytes: try output.contents(),
        stderrBytes: try errors.contents()
    )
    if killedByUs.isRaised {
        throw ProcessTimeout(
            command: [executable.path] + arguments,
            limit: timeout,
            outcome: outcome
        )
    }
    return outcome
}

extension Process {
    /// Starts the process with no signal blocked, as a shell would.
    ///
    /// The threads that run tasks have nearly all signals blocked, and a child inherits that from the
    /// thread that starts it: plain `run()` in an async test makes a child that SIGTERM cannot end.
    public func runWithSignalsUnblocked() throws {
        var none = sigset_t()
        var before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        // Foundation's own `run()` crashes now and then when two threads are in it.
        try Self.oneAtATime.withLock { _ in try run() }
    }

    private static let oneAtATime = Locked(())
}

/// The process we started, and the right to kill it, from any thread.
///
/// `@unchecked` because after `run()` it is only asked whether it runs and what its id is, both of
/// which Foundation answers from any thread.
private final class StartedProcess: @unchecked Sendable {
    let process = Process()

    func kill() {
        if process.isRunning {
            _ = Foundation.kill(process.processIdentifier, SIGKILL)
        }
    }
}

private final class Flag: Sendable {
    private let state = Locked(false)
    func raise() { state.withLock { $0 = true } }
    var isRaised: Bool { state.withLock { $0 } }
}

/// A temporary file that has no name any more, so that nothing has to be removed.
private struct ScratchFile {
    let handle: FileHandle

    init(holding data: Data = Data()) throws {
        let url = FileManager.default.temporaryDirectory
            .appending(path: "dormouse-scratch-\(UUID().uuidString)")
        try data.write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        handle = try FileHandle(forUpdating: url)
    }

    /// What the file holds, read from its beginning.
    func contents() throws -> Data {
        try handle.seek(toOffset: 0)
        return try handle.readToEnd() ?? Data()
    }
}
