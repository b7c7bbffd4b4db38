#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// What an actor is doing and whether it gets on with it, for a watchdog on another thread.
///
/// An actor that waits for a call, or for a server that has deadlines of its own, does nothing and
/// owes nobody progress. While it does something, each step of it counts: every file that is read
/// or written under `Progress.current` is one.
public final class Progress: Sendable {
    /// Whose progress it is.
    public let name: String
    private let state = Lock(State())

    private struct State {
        var operation: String?
        var steps: UInt64 = 0
    }

    /// What `DurableFiles` counts the steps of the present task for.
    @TaskLocal public static var current: Progress?

    /// What an actor is doing now.
    public struct Reading: Hashable, Sendable {
        public var name: String
        /// Nothing, when it waits.
        public var operation: String?
        public var steps: UInt64

        public init(name: String, operation: String?, steps: UInt64) {
            self.name = name
            self.operation = operation
            self.steps = steps
        }
    }

    public init(_ name: String) {
        self.name = name
    }

    public var reading: Reading {
        state.withLock { Reading(name: name, operation: $0.operation, steps: $0.steps) }
    }

    /// One step done.
    public func step() {
        state.withLock { $0.steps &+= 1 }
    }

    /// Does something that has a name; within another, the inner one's name holds.
    public func during<R>(_ operation: String, _ body: () throws -> R) rethrows -> R {
        let outer = begin(operation)
        defer { end(outer) }
        Wedge.pass(name)
        return try Self.$current.withValue(self) { try body() }
    }

    /// The same for what waits in between.
    public func during<R>(
        _ operation: String,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> R
    ) async rethrows -> R {
        let outer = begin(operation)
        defer { end(outer) }
        Wedge.pass(name)
        return try await Self.$current.withValue(self, operation: body)
    }

    private func begin(_ operation: String?) -> String? {
        state.withLock { state in
            defer {
                state.operation = operation
                state.steps &+= 1
            }
            return state.operation
        }
    }

    private func end(_ outer: String?) {
        _ = begin(outer)
    }
}

/// Makes an actor hang, for a test of the watchdog.
///
/// With `DORMOUSE_WEDGE` its name and `DORMOUSE_WEDGE_FILE` a path, it hangs in its next operation
/// for as long as that file exists.
enum Wedge {
    private static let target: (name: String, file: String)? = {
        guard let name = getenv("DORMOUSE_WEDGE"), let file = getenv("DORMOUSE_WEDGE_FILE") else {
            return nil
        }
        return (String(cString: name), String(cString: file))
    }()

    static func pass(_ name: String) {
        guard let target, target.name == name else { return }
        while access(target.file, F_OK) == 0 { usleep(20_000) }
    }
}
