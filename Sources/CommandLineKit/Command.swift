/// One verb: what it takes, how it is explained, and what it does.
public struct Command: Sendable {
    /// A positional argument.
    public struct Positional: Sendable {
        public enum Count: Sendable {
            case one, optional, oneOrMore
        }

        /// As in usage, such as `FILE`.
        public let name: String
        public let count: Count
        public let help: String

        public init(_ name: String, _ count: Count = .one, help: String) {
            self.name = name
            self.count = count
            self.help = help
        }
    }

    public struct Example: Sendable {
        public let line: String
        public let help: String

        public init(_ line: String, _ help: String) {
            self.line = line
            self.help = help
        }
    }

    public typealias Body = @Sendable (Arguments, Console) async throws -> ExitCode

    /// The words that call it: `["ltx", "info"]`.
    public let path: [String]
    /// One line, without a full stop, for the list of verbs.
    public let summary: String
    /// More for `--help`, if there is more to say.
    public let discussion: String
    public let positionals: [Positional]
    public let options: [any DeclaredOption]
    /// Those of the options that must be given.
    public let required: [any DeclaredOption]
    public let examples: [Example]
    /// The statuses it can end with.
    public let exitCodes: [ExitCode]
    public let body: Body

    /// Declares a verb.
    ///
    /// The name is the words that call it, with a space between. Only the last positional may
    /// be optional or many, and there is at least one example. An option stands either under
    /// `options` or under `required`. The body does the work; it
    /// throws `CommandFailure` to end with a line and a status of its own.
    public init(
        _ name: String,
        summary: String,
        discussion: String = "",
        positionals: [Positional] = [],
        options: [any DeclaredOption] = [],
        required: [any DeclaredOption] = [],
        examples: [Example],
        exitCodes: [ExitCode] = [.done, .failed, .usage],
        body: @escaping Body
    ) {
        precondition(!examples.isEmpty, "\(name) has no example")
        precondition(positionals.dropLast().allSatisfy { $0.count == .one }, "\(name): positionals")
        let options = required + options
        let letters = options.compactMap(\.short)
        let words = options.map(\.long) + ["help"]
        precondition(Set(letters + ["h"]).count == letters.count + 1, "\(name): letter twice")
        precondition(Set(words).count == words.count, "\(name): option twice")
        path = name.split(separator: " ").map(String.init)
        self.summary = summary
        self.discussion = discussion
        self.positionals = positionals
        self.options = options
        self.required = required
        self.examples = examples
        self.exitCodes = exitCodes
        self.body = body
    }

    public var name: String { path.joined(separator: " ") }
}

/// A wrong command line: one line, and where to read on.
public struct UsageError: Error, Hashable, Sendable, CustomStringConvertible {
    public let message: String
    /// What to call for help, such as `dormouse ltx info --help`.
    public let hint: String

    public init(_ message: String, hint: String) {
        self.message = message
        self.hint = hint
    }

    public var description: String { "\(message) (see \(hint))" }
}
