internal import Configuration

/// The whole program: its verbs, and how a command line becomes an exit status.
public struct Program: Sendable {
    public let name: String
    /// What `--version` prints.
    public let version: String
    /// One line that says what it is.
    public let summary: String
    public let commands: [Command]
    private let exitCode: @Sendable (any Error) -> ExitCode

    /// Declares a program.
    ///
    /// - Parameters:
    ///   - name: What it is called by.
    ///   - version: What `--version` prints.
    ///   - summary: One line, without a full stop.
    ///   - commands: Its verbs; each name once.
    ///   - exitCode: How a command ends that throws an error of another kind than ours.
    public init(
        name: String,
        version: String,
        summary: String,
        commands: [Command],
        exitCode: @escaping @Sendable (any Error) -> ExitCode = { _ in .failed }
    ) {
        let names = commands.map(\.name)
        precondition(Set(names).count == names.count, "a verb is registered twice")
        self.name = name
        self.version = version
        self.summary = summary
        self.commands = commands
        self.exitCode = exitCode
    }

    /// What a command line asks for.
    package enum Request: Sendable {
        case run(Command, Arguments)
        case show(String)
    }

    /// Finds the command and parses its arguments; does nothing yet.
    ///
    /// - Parameter words: The command line without the program's name.
    /// - Returns: A command with its arguments, or a text to show.
    /// - Throws: `UsageError` with the first thing that is wrong.
    package func request(_ words: [String]) throws(UsageError) -> Request {
        switch words.first {
        case nil:
            throw UsageError("no verb", hint: "\(name) --help")
        case "--help", "-h":
            return .show(HelpPage.list(self, under: []))
        case "--version":
            return .show(version + "\n")
        case "help":
            guard words.count > 1 else { return .show(HelpPage.list(self, under: [])) }
            return try request(Array(words.dropFirst()) + ["--help"])
        case let word? where word.hasPrefix("-"):
            throw UsageError(
                "unknown option \(Printable.text(word)) before the verb",
                hint: "\(name) --help"
            )
        default:
            return try verb(words)
        }
    }

    private func verb(_ words: [String]) throws(UsageError) -> Request {
        if let command = commands.first(where: { words.starts(with: $0.path) }) {
            let rest = Array(words.dropFirst(command.path.count))
            let arguments = try CommandParser.parse(rest, for: command, program: name)
            return arguments.wantsHelp
                ? .show(HelpPage.page(command, program: name)) : .run(command, arguments)
        }
        let group = commands.filter { $0.path[0] == words[0] }
        guard !group.isEmpty else {
            throw unknown(words[0], among: commands.map { $0.path[0] }, hint: "\(name) --help")
        }
        let hint = "\(name) \(words[0]) --help"
        guard words.count > 1 else {
            let list = group.map { $0.path[1] }.joined(separator: ", ")
            throw UsageError("\(words[0]) needs one of \(list)", hint: hint)
        }
        if words[1] == "--help" || words[1] == "-h" {
            return .show(HelpPage.list(self, under: [words[0]]))
        }
        throw unknown(words[1], among: group.map { $0.path[1] }, hint: hint)
    }

    private func unknown(_ word: String, among known: [String], hint: String) -> UsageError {
        let meant = Spelling.nearest(to: word, among: known)
        return UsageError(
            "unknown verb \"\(Printable.text(word))\""
                + (meant.map { ": did you mean \($0)?" } ?? ""),
            hint: hint
        )
    }

    /// Runs a command line and says how it ended; every failure is told in one line.
    ///
    /// - Parameters:
    ///   - words: The command line without the program's name.
    ///   - console: Where to print.
    /// - Returns: The exit status.
    public func run(_ words: [String], console: Console) async -> ExitCode {
        do {
            let code: ExitCode
            switch try request(words) {
            case .show(let text):
                try console.out.write(text)
                code = .done
            case .run(let command, let arguments):
                code = try await command.body(arguments, console)
            }
            try console.out.flush()
            return code
        } catch let error as UsageError {
            console.complain("\(name): \(error)")
            return .usage
        } catch let error as OutputError {
            return ending(error, console: console)
        } catch {
            // What was printed before the failure belongs before it, too.
            try? console.out.flush()
            let failure = error as? CommandFailure
            console.complain("\(name): \(failure?.description ?? "\(error)")")
            return failure?.code ?? exitCode(error)
        }
    }

    private func ending(_ error: OutputError, console: Console) -> ExitCode {
        switch error {
        case .closed:
            console.endQuietly()
        case .failed(let reason):
            console.complain("\(name): cannot write to standard output: \(reason)")
        }
        return .failed
    }
}
