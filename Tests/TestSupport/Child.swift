public import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// A program that runs beside a test, is watched line by line, and can be signalled.
///
/// Standard output and standard error arrive in one stream, in the order in which they were
/// written. A line that a program wrote before it was killed is still in the stream, so after
/// `end()` the records are all that it ever said.
public final class Child: Sendable {
    /// What was waited for did not happen, with the last lines of what did.
    public struct Failure: Error, CustomStringConvertible {
        public let description: String

        public init(description: String) {
            self.description = description
        }
    }

    private struct State {
        var records: [LogRecord] = []
        /// As a shell says it: 128 + the signal for a program that a signal ended.
        var status: Int32?
        var isReaped = false
        var waiters: [UInt64: Waiter] = [:]
        var nextWaiter: UInt64 = 0
    }

    private struct Waiter {
        let isMet: @Sendable (State) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    public let id: pid_t
    private let command: String
    private let state = Locked(State())

    /// Starts a program with no signal blocked, its input empty.
    public init(
        _ executable: URL,
        _ arguments: [String],
        environment: [String: String] = [:]
    ) throws {
        command = ([executable.lastPathComponent] + arguments).joined(separator: " ")
        var ends: [Int32] = [-1, -1]
        // Sockets and not a pipe, because they are made with close-on-exec set: an end that leaks into
        // a child that another test starts would keep the output from ending.
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw POSIXError(.EMFILE) }
        defer { close(ends[1]) }

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 2)
        // The threads that run tasks have signals blocked, and a child would inherit that.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        var argv = ([executable.path] + arguments).map { strdup($0) } + [nil]
        var envp = variables.map { strdup("\($0)=\($1)") } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        var started: pid_t = 0
        let code = posix_spawn(&started, executable.path, &actions, &attributes, &argv, &envp)
        guard code == 0 else {
            close(ends[0])
            throw Failure(description: "\(command): \(String(cString: strerror(code)))")
        }
        id = started
        let output = ends[0]
        // Each in a thread of its own: somebody that it started may keep the output open, and a child
        // that has ended and is not waited for holds up all exit tests of the process.
        let reading = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [self] in
            read(output)
            reading.signal()
        }
        Thread.detachNewThread { [self] in
            let status = reap()
            reading.wait()
            change { $0.status = status }
        }
    }

    /// Sends a signal, unless the program has ended already.
    public func send(_ signal: Int32) {
        state.withLock { state in
            if !state.isReaped { _ = Glibc.kill(id, signal) }
        }
    }

    /// All that it has said until now.
    public var records: [LogRecord] { state.withLock { $0.records } }

    /// Waits for a number of records of a kind, counted from the `start`-th on.
    ///
    /// - Returns: The index behind the last of them.
    /// - Throws: `Failure` when it ended before, or after the time limit.
    @discardableResult
    public func wait(
        for count: Int = 1,
        from start: Int = 0,
        within limit: Duration = .seconds(20),
        _ matches: @escaping @Sendable (LogRecord) -> Bool
    ) async throws -> Int {
        _ = await wait(within: limit) { state in
            state.status != nil || state.records.index(of: count, from: start, matches) != nil
        }
        guard let index = records.index(of: count, from: start, matches)
        else { throw failure("did not come") }
        return index
    }

    /// Waits until it has ended and all its output is read.
    ///
    /// - Returns: Its status as a shell says it.
    public func end(within limit: Duration = .seconds(20)) async throws -> Int32 {
        _ = await wait(within: limit) { $0.status != nil }
        guard let status = state.withLock({ $0.status }) else { throw failure("did not come") }
        return status
    }

    /// Kills it and waits for the end.
    public func kill() async throws {
        send(SIGKILL)
        _ = try await end()
    }

    public var hasEnded: Bool { state.withLock { $0.status != nil } }

    private func failure(_ what: String) -> Failure {
        let (lines, status) = state.withLock { ($0.records.suffix(12).map(\.line), $0.status) }
        let how = status.map { "ended with \($0)" } ?? "is running"
        return Failure(
            description: """
                what was waited for \(what); \(command) \(how), and its last lines are
                \(lines.joined(separator: "\n"))
                """
        )
    }

    private func wait(
        within limit: Duration,
        until isMet: @escaping @Sendable (State) -> Bool
    ) async -> Bool {
        let waiter = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        let alarm = Task {
            try await Task.sleep(for: limit)
            state.withLock { $0.waiters.removeValue(forKey: waiter) }?
                .continuation.resume(returning: false)
        }
        defer { alarm.cancel() }
        return await withCheckedContinuation { continuation in
            let isMetNow = state.withLock { state in
                if isMet(state) { return true }
                state.waiters[waiter] = Waiter(isMet: isMet, continuation: continuation)
                return false
            }
            if isMetNow { continuation.resume(returning: true) }
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let met = state.withLock { state -> [Waiter] in
            body(&state)
            let met = state.waiters.filter { $0.value.isMet(state) }
            for id in met.keys { state.waiters[id] = nil }
            return Array(met.values)
        }
        for waiter in met { waiter.continuation.resume(returning: true) }
    }

    private func read(_ output: Int32) {
        defer { close(output) }
        var rest: [UInt8] = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 1)
        defer { buffer.deallocate() }
        while true {
            let count = Glibc.read(output, buffer.baseAddress, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest += buffer[..<count]
            var records: [LogRecord] = []
            while let newline = rest.firstIndex(of: UInt8(ascii: "\n")) {
                records.append(LogRecord(String(decoding: rest[..<newline], as: UTF8.self)))
                rest = Array(rest[(newline + 1)...])
            }
            change { $0.records += records }
        }
    }

    /// Waits for its end.
    ///
    /// - Returns: Its status as a shell says it.
    private func reap() -> Int32 {
        // Its id may go to another process as soon as it is waited for, so no signal may be under
        // way then.
        var information = siginfo_t()
        while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        var status: Int32 = 0
        state.withLock { state in
            waitpid(id, &status, 0)
            state.isReaped = true
        }
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }
}

extension [LogRecord] {
    /// The index behind the `count`-th match from a place on.
    public func index(of count: Int, from start: Int, _ matches: (LogRecord) -> Bool) -> Int? {
        var left = count
        for index in indices.dropFirst(start) where matches(self[index]) {
            left -= 1
            if left == 0 { return index + 1 }
        }
        return nil
    }
}

/// Runs a body beside a program, and makes sure that the program is gone afterwards.
public func withChild<R>(
    isolation: isolated (any Actor)? = #isolation,
    _ child: Child,
    _ body: (Child) async throws -> R
) async throws -> R {
    do {
        let result = try await body(child)
        try await child.kill()
        return result
    } catch {
        try? await child.kill()
        throw error
    }
}
