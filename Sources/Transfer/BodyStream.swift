import DurableFiles

/// The body of an answer as a stream that its reader pulls.
///
/// A reader that is behind holds the sender up: no more than `highWater` bytes wait here, and what
/// curl had read. One reader at a time.
public final class BodyStream: Sendable {
    private let queue: Queue
    private let transfer: HTTPTransfer
    /// Kept, because a dropped client cancels what runs.
    private let client: HTTPClient

    /// Starts a request.
    public init(_ client: HTTPClient, _ request: HTTPRequest, highWater: Int = 1 << 20) {
        self.client = client
        queue = Queue(highWater: highWater)
        transfer = client.start(request, handler: queue)
    }

    deinit {
        transfer.cancel()
    }

    /// The head of the answer, whatever its status; its body is in it unless the status is 2xx.
    ///
    /// - Throws: `TransferFailure`.
    nonisolated(nonsending) public func response() async throws(TransferFailure) -> HTTPResponse {
        while true {
            switch queue.head() {
            case .success(let response?): return response
            case .success(nil): await wait(for: .head)
            case .failure(let failure): throw failure
            }
        }
    }

    /// The next bytes; `nil` at the end of the body.
    ///
    /// - Throws: `TransferFailure`, of kind `cancelled` in a cancelled task.
    nonisolated(nonsending) public func next() async throws(TransferFailure) -> [UInt8]? {
        while true {
            let (step, wantsMore) = queue.take()
            if wantsMore { transfer.resume() }
            switch step {
            case .chunk(let chunk): return chunk
            case .end: return nil
            case .failure(let failure): throw failure
            case .nothing: await wait(for: .body)
            }
        }
    }

    nonisolated(nonsending) private func wait(for part: Queue.Part) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { queue.wait(for: part, $0) }
        } onCancel: {
            transfer.cancel()
        }
    }
}

/// What has come and was not read yet.
private final class Queue: ResponseHandler {
    enum Part { case head, body }

    enum Step {
        case chunk([UInt8])
        case end
        case failure(TransferFailure)
        case nothing
    }

    private struct State {
        var response: HTTPResponse?
        var chunks: [[UInt8]] = []
        var size = 0
        var isPaused = false
        var result: Result<HTTPResponse, TransferFailure>?
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Lock(State())
    private let highWater: Int

    init(highWater: Int) {
        self.highWater = highWater
    }

    func begin(_ response: HTTPResponse) -> BodyStep {
        change { $0.response = response }
        return .more
    }

    func receive(_ bytes: UnsafeRawBufferPointer) -> BodyStep {
        change { state in
            guard state.size < highWater else {
                state.isPaused = true
                return .pause
            }
            state.chunks.append(Array(bytes))
            state.size += bytes.count
            return .more
        }
    }

    func finish(_ result: Result<HTTPResponse, TransferFailure>) {
        change { $0.result = result }
    }

    func head() -> Result<HTTPResponse?, TransferFailure> {
        state.withLock { state in
            if let response = state.response { return .success(response) }
            return state.result.map { $0.map { $0 } } ?? .success(nil)
        }
    }

    /// What is next, and whether the sender is to go on.
    func take() -> (Step, Bool) {
        state.withLock { state in
            if !state.chunks.isEmpty {
                let chunks = state.chunks
                state.chunks = []
                state.size = 0
                defer { state.isPaused = false }
                // One copy each; the usual case is one chunk.
                let first = chunks[0]
                return (
                    .chunk(chunks.dropFirst().reduce(into: first) { $0 += $1 }), state.isPaused
                )
            }
            switch state.result {
            case nil: return (.nothing, false)
            case .success: return (.end, false)
            case .failure(let failure): return (.failure(failure), false)
            }
        }
    }

    /// Resumes when it may have come, or at once if it has already.
    func wait(for part: Part, _ continuation: CheckedContinuation<Void, Never>) {
        let isReady = state.withLock { state in
            let isThere = part == .head ? state.response != nil : !state.chunks.isEmpty
            if isThere || state.result != nil { return true }
            state.waiter = continuation
            return false
        }
        if isReady { continuation.resume() }
    }

    private func change<R>(_ body: (inout State) -> R) -> R {
        let (value, waiter) = state.withLock { state in
            let value = body(&state)
            defer { state.waiter = nil }
            return (value, state.waiter)
        }
        waiter?.resume()
        return value
    }
}
