import CommandLineKit
import DurableFiles
import Glibc

extension Command {
    /// `dormouse demo`: all of it, in a temporary directory.
    static let demo = Command(
        "demo",
        summary: "collect, push, suspend, kill, recover and verify, in a temporary directory",
        discussion: """
            Starts a sink on loopback and replays a recording fast into a new database while an
            agent pushes it there; suspends the agent, kills it in the middle of a push and once
            more, relaunches it, restores the sink's bucket at the end, and compares source,
            mirror and restored database. Takes about half a minute. Exits 1 if a row was lost or
            a snapshot was forced.
            """,
        options: [samplesOption, speedOption, directoryOption],
        examples: [
            Example("demo --samples config/samples/recorded-1hz.csv", "what scripts/run ends in")
        ],
        exitCodes: [.done, .failed, .usage],
        body: runDemo
    )

    private static let samplesOption = Option<String>(
        "samples",
        "FILE",
        help: "a recorded CSV file (default config/samples/recorded-1hz.csv)"
    )

    private static let speedOption = Option<Int>(
        "speed",
        "N",
        in: 10...1_000_000,
        help: "multiple of real time (default 1500)"
    )

    private static let directoryOption = Option<String>(
        "directory",
        "DIR",
        help: "where to put database and sink, and to leave them (default: a temporary one)"
    )

    private static let runDemo: Body = { arguments, console in
        let samples = arguments[samplesOption] ?? "config/samples/recorded-1hz.csv"
        guard try FileStatus.of(samples)?.isRegularFile == true else {
            throw CommandFailure(
                "no recording at \(samples): give one with --samples, or run it in the project's "
                    + "directory",
                code: .usage
            )
        }
        let directory: String
        if let given = arguments[directoryOption] {
            guard try FileStatus.of(given) == nil else {
                throw CommandFailure("\(given) exists: name a new directory", code: .usage)
            }
            try DurableFiles.makeDirectories(given)
            directory = Path.canonical(given)
        } else {
            directory = try makeTemporaryDirectory(for: "demo")
        }
        let code = try await DemoRun(
            directory: directory,
            samples: samples,
            speed: Double(arguments[speedOption] ?? 1500),
            console: console
        ).run()
        if arguments[directoryOption] == nil, code == .done { removeTree(directory) }
        return code
    }
}
