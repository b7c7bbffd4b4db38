import Chaos
import CommandLineKit
import Configuration
import DurableFiles
import Glibc
import Wire

extension Command {
    /// `dormouse chaos run`: a scenario, from an empty directory to a verdict.
    static let chaosRun = Command(
        "chaos run",
        summary: "put an agent through a scenario and judge what is left",
        discussion: """
            Starts a sink, a proxy that misbehaves and an agent, all on loopback and in a temporary
            directory, does to them what the scenario says (docs/chaos.md), and ends with a
            verdict: rows acknowledged against rows in mirror and restored copy, snapshots and
            their reasons, bytes shipped against the ideal, and what else the scenario expects.
            The same seed makes the same plan. With --unit the agent is a systemd unit; signals go
            through systemctl and records come from the journal.
            """,
        positionals: [
            Positional("SCENARIO", help: "a scenario file, or the name of one in scenarios/")
        ],
        options: [
            CommonOptions.json, htmlOption, seedOption, fullOption, quietOption, directoryOption,
            unitOption, configOption, proxyOption, mirrorOption,
        ],
        examples: [
            Example("chaos run commute --html commute.html", "a day on the train, as a picture"),
            Example(
                "chaos run jetsam-storm --unit dormouse-agent --config /etc/dormouse/agent.yml",
                "the same to a service"
            ),
        ],
        exitCodes: [.done, .failed, .usage],
        body: runChaos
    )

    /// `dormouse chaos check`: everything that is wrong with a scenario.
    static let chaosCheck = Command(
        "chaos check",
        summary: "say everything that is wrong with a scenario, or what it will do",
        discussion: """
            Every problem is one line on standard output, as file:line: key: what is wrong. Of a
            scenario that is right, --print shows the plan that its seed makes.
            """,
        positionals: [
            Positional("SCENARIO", help: "a scenario file, or the name of one in scenarios/")
        ],
        options: [seedOption, fullOption, printOption],
        examples: [Example("chaos check commute --print --seed 7", "what happens with seed 7")],
        exitCodes: [.done, .failed, .usage],
        body: checkChaos
    )

    /// `dormouse chaos list`: which scenarios there are.
    static let chaosList = Command(
        "chaos list",
        summary: "say which scenarios there are in a directory",
        positionals: [
            Positional("DIR", .optional, help: "where they are (default scenarios)")
        ],
        examples: [Example("chaos list scenarios", "those that come with the project")],
        exitCodes: [.done, .failed, .usage],
        body: listChaos
    )

    private static let htmlOption = Option<String>(
        "html",
        "FILE",
        help: "also write the report as one self-contained page"
    )
    private static let seedOption = Option<UInt64>(
        "seed",
        "N",
        in: 0...UInt64.max,
        help: "instead of the scenario's own seed"
    )
    private static let fullOption = Flag("full", help: "at the pace and length of a full run")
    private static let quietOption = Flag("quiet", help: "do not tell what happens meanwhile")
    private static let printOption = Flag("print", help: "show the plan")
    private static let directoryOption = Option<String>(
        "directory",
        "DIR",
        help: "a new directory to work in and to leave (default: a temporary one)"
    )
    private static let unitOption = Option<String>(
        "unit",
        "NAME",
        help: "the systemd unit that runs the agent; takes --config"
    )
    private static let configOption = Option<String>(
        "config",
        "FILE",
        help: "with --unit: the agent's config file"
    )
    private static let proxyOption = Option<ProxyPorts>(
        "proxy",
        "PORT:PORT",
        help: "with --unit: listen on the first port of 127.0.0.1, lead to the second",
        as: { text throws(InvalidValue) in
            let ports = text.split(separator: ":").compactMap { UInt16($0) }
            guard ports.count == 2, !ports.contains(0) else {
                throw InvalidValue("is not two ports such as 9737:9736")
            }
            return ProxyPorts(listen: ports[0], upstream: ports[1])
        }
    )
    private static let mirrorOption = Option<String>(
        "mirror",
        "FILE",
        help: "with --unit: the sink's live copy, to be compared"
    )

    private struct ProxyPorts: Sendable {
        var listen: UInt16
        var upstream: UInt16
    }

    private static let runChaos: Body = { arguments, console in
        let scenario = try scenario(arguments)
        var options = ChaosOptions()
        options.seed = arguments[seedOption]
        options.isFull = arguments[fullOption]
        options.unit = try unit(arguments)
        if !arguments[quietOption] {
            let lines = console.err
            options.progress = { line in try? lines.print(line) }
        }
        // A place that cannot be written is not found out after an hour.
        if let html = arguments[htmlOption] { _ = try DurableFile(html) }
        let directory: String
        if let given = arguments[directoryOption] {
            guard try FileStatus.of(given) == nil else {
                throw CommandFailure("\(given) exists: name a new directory", code: .usage)
            }
            try DurableFiles.makeDirectories(given)
            directory = Path.canonical(given)
        } else {
            directory = try makeTemporaryDirectory(for: "chaos")
        }
        let report: ChaosReport
        do {
            report = try await ChaosRun(scenario, in: directory, options).run()
        } catch {
            throw CommandFailure("chaos: \(error); what is left is in \(directory)")
        }
        if let html = arguments[htmlOption] {
            let file = try DurableFile(html)
            try file.write(report.html)
            try file.publish()
        }
        try console.out.write(
            arguments[CommonOptions.json] ? report.json.pretty + "\n" : report.text
        )
        if arguments[directoryOption] != nil || !report.verdict.holds {
            let log = try DurableFile(Path.join(directory, "agent.log"))
            try log.write(report.story.log)
            try log.publish()
        }
        guard report.verdict.holds else {
            console.complain("what is left is in \(directory)")
            return .failed
        }
        if arguments[directoryOption] == nil { removeTree(directory) }
        return .done
    }

    private static func unit(_ arguments: Arguments) throws -> ChaosOptions.Unit? {
        guard let name = arguments[unitOption] else {
            for option in [configOption.long, proxyOption.long, mirrorOption.long]
            where arguments.given.contains(option) {
                throw UsageError("--\(option) takes --unit", hint: "dormouse chaos run --help")
            }
            return nil
        }
        guard let path = arguments[configOption] else {
            throw UsageError("--unit takes --config", hint: "dormouse chaos run --help")
        }
        do {
            var unit = ChaosOptions.Unit(name: name, config: try AgentConfig.load(path: path))
            unit.proxy = arguments[proxyOption].map { ($0.listen, $0.upstream) }
            unit.mirror = arguments[mirrorOption]
            return unit
        } catch {
            throw CommandFailure(error.lines.joined(separator: "\n"), code: .usage)
        }
    }

    /// The file that was named, or the one of that name among those that come along.
    private static func path(of word: String) -> String {
        if (try? FileStatus.of(word)) != nil || word.contains("/") { return word }
        let known = "scenarios/\(word).yml"
        return (try? FileStatus.of(known)) != nil ? known : word
    }

    private static func scenario(_ arguments: Arguments) throws -> Scenario {
        do {
            return try Scenario.load(path: path(of: arguments.first))
        } catch {
            throw CommandFailure(error.lines.joined(separator: "\n"), code: .usage)
        }
    }

    private static let checkChaos: Body = { arguments, console in
        let file = path(of: arguments.first)
        do {
            let scenario = try Scenario.load(path: file)
            guard arguments[printOption] else {
                try console.out.print("\(Printable.text(file)): ok")
                return .done
            }
            let plan = Plan(
                scenario,
                seed: arguments[seedOption],
                isFull: arguments[fullOption]
            )
            try console.out.write(plan.text)
            return .done
        } catch let error as ConfigurationError {
            for line in error.lines { try console.out.print(Printable.text(line)) }
            return .usage
        }
    }

    private static let listChaos: Body = { arguments, console in
        let directory = arguments.positionals.first ?? "scenarios"
        guard try FileStatus.of(directory)?.isDirectory == true else {
            throw CommandFailure("\(directory) is no directory", code: .usage)
        }
        var table = Table([.init("scenario"), .init("about")])
        for name in try DurableFiles.list(directory).sorted() where name.hasSuffix(".yml") {
            let scenario = try? Scenario.load(path: Path.join(directory, name))
            table.add([
                String(name.dropLast(4)),
                scenario?.about ?? "cannot be read: see dormouse chaos check",
            ])
        }
        try console.out.write(table.text)
        return .done
    }
}
