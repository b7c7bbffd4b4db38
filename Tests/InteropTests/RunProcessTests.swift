import Foundation
import TestSupport
import Testing

@Suite("Running a process")
struct RunProcessTests {
    private let shell = URL(filePath: "/bin/sh")

    @Test("gives its status and what it printed, however much")
    func output() async throws {
        let script = "head -c 300000 /dev/zero | tr '\\0' x; echo oops >&2; exit 7"
        let outcome = try await runProcess(shell, ["-c", script])
        #expect(outcome.status == 7)
        #expect(outcome.stdoutBytes == Data(repeating: UInt8(ascii: "x"), count: 300_000))
        #expect(outcome.stderr == "oops\n")
    }

    @Test("hands it input and variables")
    func input() async throws {
        let outcome = try await runProcess(
            shell,
            ["-c", "cat; printf %s \"$GREETING\""],
            environment: ["GREETING": "hello"],
            stdin: Data("from stdin, ".utf8)
        )
        #expect(outcome.stdout == "from stdin, hello")
    }

    @Test("tells the signal that ended it")
    func signal() async throws {
        let outcome = try await runProcess(shell, ["-c", "kill -TERM $$"])
        #expect(outcome.status == 128 + SIGTERM)
    }

    @Test("kills it at its time limit and says what it had printed")
    func timeLimit() async throws {
        let error = await #expect(throws: ProcessTimeout.self) {
            try await runProcess(
                shell,
                ["-c", "echo started; exec sleep 60"],
                timeout: .milliseconds(500)
            )
        }
        #expect(error?.outcome.status == 128 + SIGKILL)
        #expect(error?.outcome.stdout == "started\n")
    }

    @Test("kills it when the task is cancelled")
    func cancellation() async throws {
        let task = Task { try await runProcess(shell, ["-c", "exec sleep 60"]) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("throws when there is no such program")
    func missingProgram() async {
        await #expect(throws: (any Error).self) {
            try await runProcess(URL(filePath: "/nonexistent/program"))
        }
    }
}
