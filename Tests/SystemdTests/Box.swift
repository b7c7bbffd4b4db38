import Foundation
import Telemetry
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// A throw-away machine with a real systemd and journald: `../shared/tools/systemd-box`.
///
/// It ends when nobody holds it any more, and with this process, however that ends: its one
/// command reads from a pipe that we hold the other end of.
final class Box: Sendable {
    private static let tool = Shared.root.appending(path: "tools/systemd-box")

    /// Why no box can be started here; `nil` when one can.
    private static let obstacle: String? = {
        guard FileManager.default.isExecutableFile(atPath: tool.path) else {
            return "\(tool.path) is missing: put the team's shared directory beside the project"
        }
        guard let output = popen("'\(tool.path)' check 2>&1", "r") else { return "popen failed" }
        var text = ""
        var line = [CChar](repeating: 0, count: 4_096)
        while fgets(&line, Int32(line.count), output) != nil {
            text += String(decoding: line.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
        }
        guard pclose(output) != 0 else { return nil }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }()

    static let isPossible = obstacle == nil
    static let missing: Comment = "no systemd to test under: \(obstacle ?? "")"

    private let name: String
    private let keeper: Child
    /// The end of the pipe that keeps the box alive.
    private let life: FileHandle
    private let journal: Child

    /// Boots one, with the project in its place and the program beside it.
    init() async throws {
        name = "dormouse-\(UUID().uuidString.prefix(13).lowercased())"
        let fifo = FileManager.default.temporaryDirectory.appending(path: "\(name).fifo").path
        guard mkfifo(fifo, 0o600) == 0 else { throw POSIXError(.EIO) }
        defer { unlink(fifo) }
        let descriptor = open(fifo, O_RDWR | O_CLOEXEC)
        life = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        let command = """
            exec '\(Self.tool.path)' run --name \(name) --size 2G --project '\(Shared.project.path)' \
                -- sh -c 'echo is-up; exec cat' <'\(fifo)'
            """
        keeper = try Child(URL(filePath: "/bin/sh"), ["-c", command])
        try await keeper.wait(within: .seconds(60)) { $0.line == "is-up" }
        journal = try Child(
            Self.tool,
            [
                "exec", name, "--", "journalctl", "--follow", "--no-tail", "--output=json",
                "--output-fields=\(Self.fields.joined(separator: ","))",
            ]
        )
    }

    deinit {
        journal.send(SIGTERM)
        try? life.close()
    }

    /// Runs a shell script in it, which stops at its first failure, or after a time with 124.
    func outcome(
        of script: String,
        stdin: String = "",
        within seconds: Int = 40
    ) async throws -> ProcessOutcome {
        try await runProcess(
            Self.tool,
            ["exec", name, "--", "timeout", "\(seconds)", "sh", "-ec", script],
            stdin: Data(stdin.utf8),
            timeout: .seconds(seconds + 10)
        )
    }

    /// The same, which has to succeed; gives what it printed, without the last newline.
    @discardableResult
    func run(
        _ script: String,
        stdin: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let outcome = try await outcome(of: script, stdin: stdin)
        try #require(
            outcome.status == 0,
            "\(script)\nended with \(outcome.status)\n\(outcome.stdout)\(outcome.stderr)",
            sourceLocation: sourceLocation
        )
        return outcome.stdout.trimmingCharacters(in: .newlines)
    }

    func write(_ text: String, to path: String) async throws {
        try await run("mkdir -p '\(Self.parent(path))'; cat >'\(path)'", stdin: text)
    }

    private static func parent(_ path: String) -> String {
        URL(filePath: path).deletingLastPathComponent().path
    }

    /// Waits until a shell condition holds, for what is no event in the journal.
    func eventually(
        _ condition: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await run(
            "until \(condition); do sleep 0.02; done",
            sourceLocation: sourceLocation
        )
    }
}

// MARK: The journal

extension Box {
    /// A place in the journal: behind all that was written until now.
    func mark() async throws -> Int {
        let word = UUID().uuidString
        try await run("echo \(word) | systemd-cat -t dormouse-tests")
        return try await journal.wait { $0.line.contains(word) }
    }

    /// What tests look at: a whole entry has a page.
    private static let fields =
        [
            "MESSAGE", "MESSAGE_ID", "PRIORITY", "SYSLOG_IDENTIFIER", "_SYSTEMD_UNIT", "UNIT",
            "UNIT_RESULT", "EXIT_CODE", "EXIT_STATUS",
        ] + Field.allCases.map(\.journalName)

    /// Waits for an entry behind a mark that has all these fields.
    ///
    /// - Returns: The entry.
    @discardableResult
    func entry(
        after mark: Int,
        _ fields: KeyValuePairs<String, String>,
        within limit: Duration = .seconds(30)
    ) async throws -> [String: String] {
        let texts = fields.map { "\"\($0)\":\"\($1)\"" }
        do {
            let index = try await journal.wait(from: mark, within: limit) { record in
                texts.allSatisfy(record.line.contains)
            }
            return Self.fields(journal.records[index - 1].line)
        } catch {
            let last = journal.records.suffix(20).map { Self.fields($0.line)["MESSAGE"] ?? "" }
            throw Child.Failure(
                description: """
                    no entry with \(texts.joined(separator: " ")); the last ones say
                    \(last.joined(separator: "\n"))
                    """
            )
        }
    }

    /// All entries behind a mark that have all these fields, as of now.
    func entries(
        after mark: Int = 0,
        _ fields: KeyValuePairs<String, String>
    ) async throws -> [[String: String]] {
        let now = try await self.mark()
        let texts = fields.map { "\"\($0)\":\"\($1)\"" }
        return journal.records[mark..<now].filter { texts.allSatisfy($0.line.contains) }
            .map { Self.fields($0.line) }
    }

    private static func fields(_ line: String) -> [String: String] {
        let object = try? JSONSerialization.jsonObject(with: Data(line.utf8))
        return (object as? [String: Any] ?? [:]).compactMapValues { $0 as? String }
    }
}
