import DurableFiles
import Glibc

/// The other end of a control socket: sends requests and waits for their answers.
public struct ControlClient: ~Copyable {
    public let path: String
    private let raw: Int32

    /// Nobody listens at a path.
    public struct Unreachable: Error, Sendable, CustomStringConvertible {
        public var path: String
        public var code: Int32

        public var description: String {
            "\(path): no process listens there (\(String(cString: strerror(code)))); "
                + "is the agent running, and is this its control socket?"
        }
    }

    /// The other side ended before it answered.
    public struct Unanswered: Error, Sendable, CustomStringConvertible {
        public var path: String

        public var description: String {
            "\(path): the process ended, or was asked to end, before it answered"
        }
    }

    /// Connects.
    ///
    /// - Throws: `Unreachable`, `FileError`.
    public init(path: String) throws {
        let raw = try UnixSocket.open()
        guard try UnixSocket.withAddress(path, { connect(raw, $0, $1) }) == 0 else {
            let code = errno
            close(raw)
            throw Unreachable(path: path, code: code)
        }
        self.path = path
        self.raw = raw
    }

    deinit {
        close(raw)
    }

    /// Asks, and waits for the answer as long as it takes.
    ///
    /// - Returns: A JSON object on one line, whose `ok` says whether it was done.
    /// - Throws: `Unanswered`.
    public func ask(_ request: ControlRequest) throws -> String {
        var rest = Array((request.line + "\n").utf8)[...]
        while !rest.isEmpty {
            let count = UnixSocket.send(raw, rest)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Unanswered(path: path) }
            rest = rest.dropFirst(count)
        }
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4_096)
        while answer.last != UInt8(ascii: "\n") {
            let count = recv(raw, &chunk, chunk.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Unanswered(path: path) }
            answer += chunk[..<count]
        }
        return String(decoding: answer.dropLast(), as: UTF8.self)
    }
}
