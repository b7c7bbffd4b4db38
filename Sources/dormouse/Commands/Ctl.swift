import CommandLineKit
import Configuration
import Lifecycle
import Wire

extension Command {
    /// `dormouse ctl`: asks a running agent.
    static let ctl = Command(
        "ctl",
        summary: "ask a running agent for its status, a push, another phase",
        discussion: """
            Sends one request over the agent's control socket and prints the answer, a JSON object
            on one line. Requests:

              status            where it stands
              push              push now, and wait for the end of it
              checkpoint        copy the WAL back now
              background        go to the background; answered when it is at rest, so that it may
                                be suspended
              foreground        come back
              extend            ask for more time in the background
              low-power on|off  postpone whole databases, never deltas
              metered on|off    the same, for a network that costs
              reload            read the config file again

            The socket is found by --socket, by the agent's config file, or beside the database.
            """,
        positionals: [Positional("REQUEST", .oneOrMore, help: "a request, as above")],
        options: [socketOption, configOption, databaseOption],
        examples: [
            Example("ctl --config /etc/dormouse/agent.yml status", "where the agent stands"),
            Example(
                "ctl --database health.db background",
                "let it come to rest before it is suspended"
            ),
        ],
        exitCodes: [.done, .failed, .usage],
        body: askAgent
    )

    private static let socketOption = Option<String>(
        "socket",
        "PATH",
        help: "the control socket itself"
    )
    private static let configOption = Option<String>(
        "config",
        "FILE",
        help: "the agent's config file, which says where its socket is"
    )
    private static let databaseOption = Option<String>(
        "database",
        "FILE",
        help: "the agent's database, beside which its socket is unless it is configured"
    )

    private static let askAgent: Body = { arguments, console in
        let hint = "dormouse ctl --help"
        let request: ControlRequest
        do throws(ControlRequest.Unknown) {
            request = try ControlRequest(arguments.positionals.joined(separator: " "))
        } catch {
            throw UsageError("\(error)", hint: hint)
        }
        let client = try ControlClient(path: try socketPath(arguments, hint: hint))
        let answer = try client.ask(request)
        try console.out.write(answer + "\n")
        return answer.hasPrefix(ControlAnswer.accepted) ? .done : .failed
    }

    private static func socketPath(_ arguments: Arguments, hint: String) throws -> String {
        let given = [socketOption, configOption, databaseOption].filter { arguments[$0] != nil }
        guard given.count == 1 else {
            throw UsageError("give one of --socket, --config and --database", hint: hint)
        }
        if let path = arguments[socketOption] { return path }
        if let database = arguments[databaseOption] {
            return AgentService.usualControl(of: database)
        }
        do throws(ConfigurationError) {
            let config = try AgentConfig.load(path: arguments.required(configOption))
            return config.control ?? AgentService.usualControl(of: config.database)
        } catch {
            throw CommandFailure(error.lines.joined(separator: "\n"), code: .usage)
        }
    }
}
