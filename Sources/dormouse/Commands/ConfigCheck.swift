import CommandLineKit
import Configuration
import Wire

extension Command {
    /// `dormouse config check`: everything that is wrong with a configuration.
    static let configCheck = Command(
        "config check",
        summary: "say everything that is wrong with a config file",
        discussion: """
            Every problem is one line on standard output, as file:line: setting: what is wrong.
            Nothing is opened or changed but the file itself.
            """,
        positionals: [
            Positional("FILE", help: "agent.yml or sink.yml, told apart by its settings")
        ],
        options: [CommonOptions.json, printOption],
        examples: [
            Example(
                "config check /etc/dormouse/agent.yml --print",
                "check the file and show what is in force, defaults included"
            )
        ],
        exitCodes: [.done, .failed, .usage],
        body: checkConfig
    )

    private static let printOption = Flag(
        "print",
        help: "show the configuration in force, with every default"
    )

    private static let checkConfig: Body = { arguments, console in
        let file = arguments.first
        do {
            let config = try AnyConfig.load(path: file)
            if arguments[CommonOptions.json] {
                var report = report(of: file, problems: [])
                if arguments[printOption] {
                    report.append(JSONValue.Member("config", JSONValue(config.settings)))
                }
                try console.out.print(JSONValue.object(report).pretty)
            } else {
                let text = arguments[printOption] ? config.yaml : "\(Printable.text(file)): ok\n"
                try console.out.write(text)
            }
            return .done
        } catch let error as ConfigurationError {
            if arguments[CommonOptions.json] {
                let report = report(of: file, problems: error.problems)
                try console.out.print(JSONValue.object(report).pretty)
            } else {
                for line in error.lines { try console.out.write(Printable.text(line) + "\n") }
            }
            return .usage
        }
    }

    private static func report(of file: String, problems: [Problem]) -> [JSONValue.Member] {
        [
            JSONValue.Member("file", .string(file)),
            JSONValue.Member("ok", .bool(problems.isEmpty)),
            JSONValue.Member(
                "problems",
                .array(
                    problems.map { problem in
                        [
                            "line": .optional(problem.line, JSONValue.number),
                            "key": .string(problem.key),
                            "message": .string(problem.message),
                        ]
                    }
                )
            ),
        ]
    }
}

extension JSONValue {
    fileprivate init(_ settings: [ConfigurationValue.Setting]) {
        self = .object(settings.map { Member($0.key, JSONValue($0.value)) })
    }

    private init(_ value: ConfigurationValue) {
        switch value {
        case .text(let text): self = .string(text)
        case .integer(let number): self = .number(number)
        case .unsigned(let number): self = .number(number)
        case .number(let number): self = .double(number)
        case .flag(let flag): self = .bool(flag)
        case .list(let items): self = .array(items.map { JSONValue($0) })
        case .group(let settings): self = JSONValue(settings)
        }
    }
}
