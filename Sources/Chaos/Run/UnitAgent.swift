import DurableFiles
import Glibc

/// The agent as a systemd unit: signals through `systemctl`, records through `journalctl`.
actor UnitAgent: AgentHandle {
    private let name: String
    private var journal: ChildProcess?
    private var wasRunning = false

    init(_ name: String) {
        self.name = name
    }

    /// Starts the unit and follows its records; the first time it is started anew if it runs.
    func launch(_ book: RecordBook) async throws {
        if journal == nil {
            wasRunning = try await processID() != nil
            try await systemctl("stop", name)
            // Of this boot and from now on: what follows has its marks in the same order.
            var now = timespec()
            clock_gettime(CLOCK_REALTIME, &now)
            let journal = try ChildProcess(
                program: "journalctl",
                [
                    "--unit", name, "--output", "json", "--follow", "--since", "@\(now.tv_sec + 1)",
                ]
            )
            // The journal knows no less than a second.
            try await Task.sleep(for: .nanoseconds(1_000_000_000 - now.tv_nsec))
            self.journal = journal
            Task {
                while let line = await journal.nextLine() {
                    if let record = JournalLine.fields(of: line) { book.add(record) }
                }
            }
        }
        try await systemctl("start", name)
    }

    func send(_ signal: Int32) async throws {
        try await systemctl("kill", "--kill-whom", "main", "--signal", "\(signal)", name)
    }

    /// A real limit, below what any program needs.
    ///
    /// Version 1 of the kernel's control groups does not take a limit below what is in use; there
    /// the process is killed as it would have been.
    func killForMemory() async throws {
        guard let victim = try await processID() else { return }
        try await systemctl("set-property", "--runtime", name, "MemoryMax=256K")
        let end = ContinuousClock.now + .seconds(2)
        while try await processID() == victim, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(50))
        }
        if try await processID() == victim { try await send(SIGKILL) }
        try await systemctl("set-property", "--runtime", name, "MemoryMax=infinity")
    }

    func processID() async throws -> pid_t? {
        let lines = try await run("systemctl", ["show", "--property", "MainPID", "--value", name])
        let id = lines.first.flatMap { pid_t($0) } ?? 0
        return id > 0 ? id : nil
    }

    /// Stops the unit, which ends what systemd would do by itself, too.
    func settleEnd(_ book: RecordBook) async throws {
        try await systemctl("stop", name)
        _ = try? await run("systemctl", ["reset-failed", name])
        // Its last words are on their way.
        await book.wait(within: .seconds(2)) { state in
            state.records[state.life...].contains { $0.kind == "stop" }
        }
        book.ended()
    }

    /// Ends following the journal, and leaves the unit as it was found.
    func finish() async {
        if wasRunning { try? await systemctl("start", name) }
        journal?.send(SIGTERM)
        _ = await journal?.wait()
        journal = nil
    }

    private func systemctl(_ words: String...) async throws {
        _ = try await run("systemctl", words)
    }

    private func run(_ program: String, _ words: [String]) async throws -> [String] {
        let child = try ChildProcess(program: program, words)
        var lines: [String] = []
        while let line = await child.nextLine() { lines.append(line) }
        let end = await child.wait()
        guard end.signal == nil, end.status == 0 else {
            let words = ([program] + words).joined(separator: " ")
            throw ChaosError("\(words): ended with \(end.signal ?? end.status)")
        }
        return lines
    }
}
