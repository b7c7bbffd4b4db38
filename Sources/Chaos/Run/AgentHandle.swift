import DurableFiles
import Glibc

/// The agent under test, however it is run.
protocol AgentHandle: Sendable {
    /// Starts it; what it says goes into the book.
    func launch(_ book: RecordBook) async throws
    func send(_ signal: Int32) async throws
    /// Ends it for want of memory.
    func killForMemory() async throws
    /// Its number, while it lives.
    func processID() async throws -> pid_t?
    /// Makes sure that it is gone and stays gone after a signal that ends it.
    func settleEnd(_ book: RecordBook) async throws
    /// Gives up what was only needed to watch it.
    func finish() async
}

/// The agent as a child of the bench.
actor ChildAgent: AgentHandle {
    private let arguments: [String]
    private let environment: [String: String]
    private var child: ChildProcess?

    init(_ arguments: [String], environment: [String: String]) {
        self.arguments = arguments
        self.environment = environment
    }

    func launch(_ book: RecordBook) async throws {
        let child = try ChildProcess(arguments, environment: environment)
        self.child = child
        Task {
            while let record = await child.nextRecord() { book.add(record) }
            _ = await child.wait()
            forget(child)
            book.ended()
        }
    }

    func finish() {}

    private func forget(_ ended: ChildProcess) {
        if child === ended { child = nil }
    }

    func send(_ signal: Int32) { child?.send(signal) }

    func killForMemory() { child?.send(SIGKILL) }

    func processID() -> pid_t? { child?.processID }

    /// Waits half a minute for a graceful end, and then does not wait any longer.
    func settleEnd(_ book: RecordBook) async throws {
        guard let child else { return }
        let ended: @Sendable (RecordBook.State) -> Bool = { [launches = book.launches] in
            $0.ends >= launches
        }
        if await book.wait(within: .seconds(30), until: ended) { return }
        child.send(SIGKILL)
        await book.wait(within: .seconds(10), until: ended)
    }
}
