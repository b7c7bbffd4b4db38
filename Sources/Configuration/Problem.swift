/// One thing that is wrong with a configuration file.
public struct Problem: Hashable, Sendable, CustomStringConvertible {
    /// The line it is on, from 1; `nil` when the problem is that something is not there.
    public let line: Int?

    /// The setting it is about, such as `push.interval`; empty when it is the file as a whole.
    public let key: String

    /// What is wrong and what would be right, without the line and the key.
    public let message: String

    public init(line: Int?, key: String = "", message: String) {
        self.line = line
        self.key = key
        self.message = message
    }

    public var description: String {
        (line.map { "line \($0): " } ?? "") + (key.isEmpty ? "" : "\(key): ") + message
    }
}

/// Everything that is wrong with one configuration file, in the order of its lines.
public struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    public let file: String
    public let problems: [Problem]

    /// Sorts the problems by line, those without a line first.
    public init(file: String, problems: [Problem]) {
        self.file = file
        self.problems = problems.enumerated()
            .sorted { ($0.element.line ?? 0, $0.offset) < ($1.element.line ?? 0, $1.offset) }
            .map(\.element)
    }

    /// One line a problem, in the `file:line: ` form that editors jump to.
    public var lines: [String] {
        problems.map { problem in
            let place = problem.line.map { "\(file):\($0)" } ?? file
            let key = problem.key.isEmpty ? "" : "\(problem.key): "
            return "\(place): \(key)\(problem.message)"
        }
    }

    public var description: String {
        lines.joined(separator: "\n")
    }
}

/// Problems as they are found; reading goes on, so that all are told at once.
package final class ProblemList {
    package private(set) var problems: [Problem] = []

    package init() {}

    package func add(_ message: String, key: String = "", line: Int?) {
        problems.append(Problem(line: line, key: key, message: message))
    }
}
