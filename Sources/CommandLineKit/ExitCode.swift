/// How a command ended, as its exit status.
public enum ExitCode: Int32, CaseIterable, Sendable {
    case done = 0
    /// It did not work; the reason is on standard error.
    case failed = 1
    /// The command line or the configuration is wrong.
    case usage = 2
    /// The other side refused.
    case refused = 3
    /// It may work later (the number is `EX_TEMPFAIL` of sysexits.h).
    case tryAgain = 75

    /// The line in `--help`.
    public var meaning: String {
        switch self {
        case .done: "done"
        case .failed: "failed"
        case .usage: "wrong usage or configuration"
        case .refused: "refused by the other side"
        case .tryAgain: "try again later"
        }
    }
}

/// A failure that is told in one line and ends a command with a status of its own.
public struct CommandFailure: Error, Hashable, Sendable, CustomStringConvertible {
    public let code: ExitCode
    public let description: String

    public init(_ description: String, code: ExitCode = .failed) {
        self.code = code
        self.description = description
    }
}
