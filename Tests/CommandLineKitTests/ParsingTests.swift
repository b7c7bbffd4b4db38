import Bucket
import CommandLineKit
import Testing

@Suite("command lines")
struct ParsingTests {
    enum Pace: String, CaseIterable { case slow, fast }

    static let json = Flag("json", help: "JSON")
    static let quiet = Flag("quiet", short: "q", help: "less")
    static let output = Option("output", short: "o", "FILE", help: "where to")
    static let interval = Option<Duration>("interval", duration: "TIME", help: "how often")
    static let count = Option<Int>("count", "N", in: 1...9, help: "how many")
    static let pace = Option<Pace>("pace", choice: "PACE", help: "how fast")
    static let to = Option<BucketAddress>("to", bucket: "URL", help: "the bucket")

    static let copy = Command(
        "copy",
        summary: "copy one thing",
        positionals: [.init("FROM", help: "what"), .init("AS", .optional, help: "new name")],
        options: [json, quiet, output, interval, count, pace, to],
        examples: [.init("copy a", "copies a")]
    ) { arguments, console in
        let values: [String] = [
            arguments[json] ? "json" : nil, arguments[quiet] ? "quiet" : nil,
            arguments[output].map { "output=\($0)" }, arguments[interval].map { "interval=\($0)" },
            arguments[count].map { "count=\($0)" }, arguments[pace].map { "pace=\($0)" },
            arguments[to].map { "to=\($0)" },
        ].compactMap { $0 }
        try console.out.write((arguments.positionals + values).joined(separator: " "))
        return .done
    }

    static let program = Program(
        name: "tool",
        version: "tool 1",
        summary: "a tool",
        commands: [
            copy,
            Command(
                "box open",
                summary: "open boxes",
                positionals: [.init("BOX", .oneOrMore, help: "boxes")],
                required: [output],
                examples: [.init("box open a b", "opens two")]
            ) { arguments, console in
                try console.out.write("\(arguments.positionals) \(arguments.required(output))")
                return .tryAgain
            },
            Command("box fail", summary: "fail", examples: [.init("box fail", "fails")]) {
                _,
                console in
                try console.out.write("before\n")
                throw CommandFailure("the box\nis \u{1B}[31mstuck", code: .refused)
            },
        ]
    )

    static func run(_ words: [String]) async -> (code: ExitCode, out: String, err: String) {
        let console = Console(out: Output(), err: Output())
        let code = await program.run(words, console: console)
        return (
            code, String(decoding: console.out.contents, as: UTF8.self),
            String(decoding: console.err.contents, as: UTF8.self)
        )
    }

    @Test(
        "options may stand anywhere, and in every form",
        arguments: [
            (["a"], "a"),
            (["a", "--json"], "a json"),
            (["--json", "a", "b", "-q"], "a b json quiet"),
            (["a", "-o", "x"], "a output=x"),
            (["a", "-ox"], "a output=x"),
            (["a", "-qox"], "a quiet output=x"),
            (["a", "--output=x"], "a output=x"),
            (["a", "--output", "x", "b"], "a b output=x"),
            (["a", "--output", "--json"], "a output=--json"),
            (["a", "--out", "x"], "a output=x"),
            (["--", "--json", "-q"], "--json -q"),
            (["a", "--", "--json"], "a --json"),
            (["-", "-q"], "- quiet"),
            (["a", "-q", "-q"], "a quiet"),
            (["a", "--interval", "1m30s"], "a interval=90.0 seconds"),
            (["a", "--count", "9", "--pace", "fast"], "a count=9 pace=fast"),
            (["a", "--to", "file:///b"], "a to=/b"),
        ] as [([String], String)]
    )
    func accepted(words: [String], printed: String) async {
        let result = await Self.run(["copy"] + words)
        #expect(result.code == .done)
        #expect(result.out == printed)
        #expect(result.err == "")
    }

    @Test(
        "what is wrong is told in one line, with status 2",
        arguments: [
            ([], "FROM is missing"),
            (["a", "b", "c"], "\"c\" is one argument too many"),
            (["a", ""], "an argument is empty"),
            (["a", "--jsn"], "unknown option --jsn: did you mean --json?"),
            (["a", "--bogus=1"], "unknown option --bogus"),
            (["a", "-x"], "unknown option -x"),
            (["a", "-qx"], "unknown option -x"),
            (["a", "-é"], "unknown option -\u{e9}"),
            (["a", "--json=yes"], "--json takes no value"),
            (["a", "--output"], "--output needs a value: --output FILE"),
            (["a", "-o"], "--output needs a value: --output FILE"),
            (["a", "--o", "x", "-o", "y"], "--output is given twice"),
            (["a", "--output="], "--output: \"\" is empty"),
            (["a", "--interval", "30"], "--interval: \"30\" has no unit: write 30s for seconds"),
            (["a", "--interval", "0s"], "--interval: \"0s\" must be more than zero"),
            (["a", "--count", "10"], "--count: \"10\" is not a whole number from 1 to 9"),
            (["a", "--count", "x\n"], "--count: \"x\\u{a}\" is not a whole number from 1 to 9"),
            (["a", "--pace", "warp"], "--pace: \"warp\" is not one of slow, fast"),
        ] as [([String], String)]
    )
    func refused(words: [String], message: String) async {
        let result = await Self.run(["copy"] + words)
        #expect(result.code == .usage)
        #expect(result.err == "tool: \(message) (see tool copy --help)\n")
        #expect(result.out == "")
    }

    @Test(
        "a wrong verb is told, with the one that was meant",
        arguments: [
            ([], "no verb (see tool --help)"),
            (["cpoy"], "unknown verb \"cpoy\": did you mean copy? (see tool --help)"),
            (["frobnicate"], "unknown verb \"frobnicate\" (see tool --help)"),
            (["box"], "box needs one of open, fail (see tool box --help)"),
            (["box", "opne"], "unknown verb \"opne\": did you mean open? (see tool box --help)"),
            (["box", "open", "a"], "--output FILE is missing (see tool box open --help)"),
            (["--json"], "unknown option --json before the verb (see tool --help)"),
            (["a\u{1B}"], "unknown verb \"a\\u{1b}\" (see tool --help)"),
        ] as [([String], String)]
    )
    func wrongVerb(words: [String], message: String) async {
        let result = await Self.run(words)
        #expect(result.code == .usage)
        #expect(result.err == "tool: \(message)\n")
    }

    @Test("an option under --to that is no bucket of this version is refused")
    func bucket() async {
        let result = await Self.run(["copy", "a", "--to", "s3://b/p"])
        #expect(result.code == .usage)
        #expect(result.err.contains("not supported by this version yet"))
    }

    @Test("a command's own status and failure become the program's")
    func statuses() async {
        let open = await Self.run(["box", "open", "-o", "x", "a", "b"])
        #expect(open.code == .tryAgain)
        #expect(open.out == "[\"a\", \"b\"] x")
        let fail = await Self.run(["box", "fail"])
        #expect(fail.code == .refused)
        #expect(fail.out == "before\n")
        #expect(fail.err == "tool: the box\nis \\u{1b}[31mstuck\n")
    }

    @Test("--help wins over what is missing or wrong behind it")
    func helpWins() async {
        for words in [["copy", "--help"], ["copy", "-h", "a", "b", "c"], ["help", "copy"]] {
            let result = await Self.run(words)
            #expect(result.code == .done)
            #expect(result.out.hasPrefix("usage: tool copy FROM [AS] [options]\n"))
        }
    }

    @Test("the help of a verb shows usage, arguments, options, an example and statuses")
    func helpPage() async {
        let result = await Self.run(["box", "open", "--help"])
        #expect(
            result.out == """
                usage: tool box open BOX… --output FILE

                Open boxes.

                arguments:
                  BOX                     boxes

                options:
                  -o, --output FILE       where to
                  -h, --help              this page

                example:
                  tool box open a b
                      opens two

                exit status: 0 done, 1 failed, 2 wrong usage or configuration

                """
        )
    }

    @Test("the program's help lists its verbs, a group's those of the group")
    func lists() async {
        let all = await Self.run(["--help"]).out
        #expect(all.contains("  copy                    copy one thing\n"))
        #expect(all.contains("  box open                open boxes\n"))
        let group = await Self.run(["box", "--help"]).out
        #expect(group.contains("box open"))
        #expect(!group.contains("copy"))
        #expect(await Self.run(["--version"]).out == "tool 1\n")
    }
}
