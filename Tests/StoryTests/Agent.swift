import Foundation
import TestSupport

/// A `dormouse agent` beside a test, with a database and a bucket of its own.
struct Agent {
    let directory: URL
    let config: String
    var database: String { directory.appending(path: "health.db").path }
    let destination: String

    /// - Parameters:
    ///   - directory: For everything.
    ///   - destination: A bucket; a directory beside the database unless given.
    ///   - interval: Between pushes in the foreground.
    ///   - lifecycle: Lines of that section.
    /// - Throws: An error of the file system.
    init(
        _ directory: URL,
        destination: String? = nil,
        interval: String = "1s",
        lifecycle: [String] = []
    ) throws {
        self.directory = directory
        self.destination = destination ?? directory.appending(path: "bucket").path
        config = directory.appending(path: "agent.yml").path
        try write(interval: interval, lifecycle: lifecycle)
    }

    func write(interval: String = "1s", lifecycle: [String] = [], more: [String] = []) throws {
        let section =
            lifecycle.isEmpty ? [] : ["lifecycle:"] + lifecycle.map { "  " + $0 }
        let text =
            ([
                "database: \(database)",
                "destination: \(destination)",
                "push: { interval: \(interval) }",
                "collector: { flush-interval: 200ms, speed: 60 }",
                "log: { level: debug, format: logfmt }",
            ] + section + more).joined(separator: "\n")
        try Data((text + "\n").utf8).write(to: URL(filePath: config))
    }

    /// Starts it and waits for the foreground.
    func launched(_ environment: [String: String] = [:]) async throws -> Child {
        let child = try Child(
            Dormouse.binary,
            ["agent", "--config", config],
            environment: environment
        )
        try await child.wait { $0.entered("foreground") }
        return child
    }

    /// Asks it over its control socket.
    func ctl(_ words: String...) async throws -> Answer {
        try await ask(["--config", config] + words)
    }

    /// The same where the config file cannot be read.
    func ctlAtDatabase(_ words: String...) async throws -> Answer {
        try await ask(["--database", database] + words)
    }

    private func ask(_ words: [String]) async throws -> Answer {
        let outcome = try await runProcess(Dormouse.binary, ["ctl"] + words)
        guard let json = try? JSONSerialization.jsonObject(with: outcome.stdoutBytes),
            let fields = json as? [String: Any]
        else { throw Child.Failure(description: "no answer: \(outcome.stderr)") }
        return Answer(fields: fields, status: outcome.status)
    }

    struct Answer {
        let fields: [String: Any]
        let status: Int32
        var ok: Bool { fields["ok"] as? Bool ?? false }
        var error: String { fields["error"] as? String ?? "" }
        var phase: String { fields["phase"] as? String ?? "" }
    }

    /// The locks of a process on files of the directory, as `/proc/locks` has them.
    func locks(of child: Child) throws -> [String] {
        let inodes = try Set(
            FileManager.default.subpathsOfDirectory(atPath: directory.path).compactMap { name in
                // One that has gone since holds no lock.
                let path = directory.appending(path: name).path
                let facts = try? FileManager.default.attributesOfItem(atPath: path)
                return facts?[.systemFileNumber] as? Int
            }
        )
        let text = try String(contentsOfFile: "/proc/locks", encoding: .utf8)
        return text.split(separator: "\n").map(String.init).filter { line in
            let words = line.split(separator: " ").filter { $0 != "->" }
            guard words.count >= 6, words[4] == "\(child.id)" else { return false }
            return words[5].split(separator: ":").last.flatMap { Int($0) }
                .map(inodes.contains) ?? false
        }
    }

    /// Ends it with nothing owed.
    func stop(_ child: Child) async throws -> Int32 {
        child.send(SIGTERM)
        return try await child.end()
    }
}

extension LogRecord {
    /// A phase was entered.
    func entered(_ phase: String) -> Bool { kind == "phase" && self["phase"] == phase }
}
