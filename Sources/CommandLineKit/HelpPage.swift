/// The text of `--help`.
enum HelpPage {
    private static let width = 24

    /// One command: usage, arguments, options, examples, exit statuses.
    static func page(_ command: Command, program: String) -> String {
        var usage = "usage: \(program) \(command.name)"
        for positional in command.positionals {
            switch positional.count {
            case .one: usage += " \(positional.name)"
            case .optional: usage += " [\(positional.name)]"
            case .oneOrMore: usage += " \(positional.name)…"
            }
        }
        for option in command.required { usage += " --\(option.long) \(option.argument ?? "")" }
        usage += command.options.count > command.required.count ? " [options]" : ""
        var sections = [usage, sentence(command.summary)]
        if !command.discussion.isEmpty { sections.append(command.discussion) }
        if !command.positionals.isEmpty {
            sections.append(list("arguments:", command.positionals.map { ($0.name, $0.help) }))
        }
        let options = command.options.map { (label($0), $0.help) } + [("-h, --help", "this page")]
        sections.append(list("options:", options))
        let examples = command.examples.map { "  \(program) \($0.line)\n      \($0.help)" }
        let title = examples.count == 1 ? "example:" : "examples:"
        sections.append(([title] + examples).joined(separator: "\n"))
        let codes = command.exitCodes.map { "\($0.rawValue) \($0.meaning)" }
        sections.append("exit status: " + codes.joined(separator: ", "))
        return sections.joined(separator: "\n\n") + "\n"
    }

    /// The verbs of a program, or those under one word.
    static func list(_ program: Program, under path: [String]) -> String {
        let commands = program.commands.filter { $0.path.starts(with: path) }
        let prefix = ([program.name] + path).joined(separator: " ")
        var sections = ["usage: \(prefix) VERB …"]
        if path.isEmpty { sections.append(sentence(program.summary)) }
        sections.append(list("verbs:", commands.map { ($0.name, $0.summary) }))
        let options = [
            ("VERB --help", "options, an example and exit statuses of a verb"),
            ("--version", "versions of the program and of SQLite"),
        ]
        sections.append(list("more:", path.isEmpty ? options : Array(options.prefix(1))))
        return sections.joined(separator: "\n\n") + "\n"
    }

    private static func sentence(_ text: String) -> String {
        text.prefix(1).uppercased() + text.dropFirst() + "."
    }

    private static func label(_ option: any DeclaredOption) -> String {
        let letter = option.short.map { "-\($0), " } ?? "    "
        return "\(letter)--\(option.long)" + (option.argument.map { " \($0)" } ?? "")
    }

    private static func list(_ title: String, _ rows: [(String, String)]) -> String {
        let lines = rows.map { label, help in
            let gap = max(2, width - label.count)
            let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
            let margin = "\n" + String(repeating: " ", count: width + 2)
            return "  \(label)" + String(repeating: " ", count: gap)
                + lines.joined(separator: margin)
        }
        return ([title] + lines).joined(separator: "\n")
    }
}
