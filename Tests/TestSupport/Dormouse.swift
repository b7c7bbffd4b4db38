public import Foundation

/// The built program, for tests that run it as people do.
public enum Dormouse {
    /// Beside the test bundle, where the package manager puts all products of one build.
    ///
    /// The bundle is the running program itself, so no path is written down anywhere.
    public static let binary: URL = {
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        return URL(filePath: bundle ?? CommandLine.arguments[0])
            .deletingLastPathComponent().appending(path: "dormouse")
    }()

    /// Runs the program to its end.
    ///
    /// - Parameters:
    ///   - arguments: What follows the program's name.
    ///   - stdin: What it reads; nothing by default.
    ///   - environment: Variables on top of this process's own.
    ///   - timeout: When it is killed; it alone.
    /// - Returns: Its status and output.
    /// - Throws: `ProcessTimeout`, or Foundation's error when it is not there.
    public static func run(
        _ arguments: String...,
        stdin: Data = Data(),
        environment: [String: String] = [:],
        timeout: Duration = .seconds(60)
    ) async throws -> ProcessOutcome {
        try await runProcess(
            binary,
            arguments,
            environment: environment,
            stdin: stdin,
            timeout: timeout
        )
    }
}
