import DurableFiles
import Glibc

/// The agent as a systemd unit: signals through `systemctl`, records through `journalctl`.
actor UnitAgent: AgentHandle {
    private let name: String
    private var journal: ChildProcess?
    private var lastID: pid_t?

    init(_ name: String) {
        self.name = name
    }

    /// Starts the unit unless it runs, and follows its records from now on.
    func launch(_ book: RecordBook) async throws {
        if journal == nil {
            let journal = try ChildProcess(
                program: "journalctl",
                ["--unit", name, "--output", "json", "--follow", "--lines", "0"]
            )
            self.journal = journal
            Task {
                while let line = await journal.nextLine() {
                    if let record = JournalLine.fields(of: line) { book.add(record) }
                }
            }
        }
        try await systemctl("start", name)
        lastID = try await processID()
    }

    func send(_ signal: Int32) async throws {
        try await systemctl("kill", "--kill-whom", "main", "--signal", "\(signal)", name)
    }

    /// A real limit, below what any program needs.
    func killForMemory() async throws {
        try await systemctl("set-property", "--runtime", name, "MemoryMax=256K")
        let end = ContinuousClock.now + .seconds(30)
        let before = lastID
        while try await processID() == before, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(50))
        }
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
        book.ended()
    }

    /// Ends following the journal.
    func finish() async {
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
