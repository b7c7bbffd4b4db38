import DurableFiles
import Transfer

/// A file on its way from a server into a spool, which is read while it grows.
final class Download: ResponseHandler {
    private struct State {
        var received: Int64 = 0
        var hasBegun = false
        /// How it ended; `nil` while it runs.
        var end: Result<Void, BucketError>?
        var opener: CheckedContinuation<Void, Never>?
    }

    let sizeInBytes: Int64
    private let url: String
    private let spool: NamelessFile
    private let state = Monitor(State())

    init(url: String, sizeInBytes: Int64, spool: NamelessFile) {
        self.url = url
        self.sizeInBytes = sizeInBytes
        self.spool = spool
    }

    // MARK: On the thread of the transfers

    func begin(_ response: HTTPResponse) -> BodyStep {
        if let failure = TransferFailure(response, url: url) {
            return .stop(failure.kind, failure.detail)
        }
        if let length = response.headers["content-length"].flatMap({ Int64($0) }),
            length != sizeInBytes
        {
            return .stop(.shortBody, "\(length) bytes instead of \(sizeInBytes)")
        }
        open { $0.hasBegun = true }
        return .more
    }

    func receive(_ bytes: UnsafeRawBufferPointer) -> BodyStep {
        // Only this thread moves it on, so it is still true when it is used.
        let received = state.change { $0.received }
        guard received + Int64(bytes.count) <= sizeInBytes else {
            return .stop(.badAnswer, "more than the \(sizeInBytes) bytes that were listed")
        }
        do throws(FileError) {
            try spool.write(bytes, at: received)
        } catch {
            state.change { $0.end = .failure(BucketError(error)) }
            return .stop(.cancelled, "\(error)")
        }
        state.change { $0.received += Int64(bytes.count) }
        return .more
    }

    func finish(_ result: Result<HTTPResponse, TransferFailure>) {
        open { state in
            guard state.end == nil else { return }
            switch result {
            case .failure(let failure): state.end = .failure(.transfer(failure))
            case .success(let response):
                if let failure = TransferFailure(response, url: url) {
                    state.end = .failure(.transfer(failure))
                } else if state.received < sizeInBytes {
                    let failure = TransferFailure(
                        .shortBody,
                        url: url,
                        detail: "\(state.received) bytes instead of \(sizeInBytes)"
                    )
                    state.end = .failure(.transfer(failure))
                } else {
                    state.end = .success(())
                }
            }
        }
    }

    private func open(_ body: (inout State) -> Void) {
        let opener = state.change { state in
            body(&state)
            defer { state.opener = nil }
            return state.opener
        }
        opener?.resume()
    }

    // MARK: On the reader's side

    /// Waits until the server has begun to send, or has refused.
    ///
    /// - Throws: `BucketError`.
    nonisolated(nonsending) func opened() async throws(BucketError) {
        await withCheckedContinuation { continuation in
            let isKnown = state.change { state in
                if state.hasBegun || state.end != nil { return true }
                state.opener = continuation
                return false
            }
            if isKnown { continuation.resume() }
        }
        if case .failure(let error) = state.change({ $0.end }) { throw error }
    }

    /// Where the reader stands.
    enum Position { case here, coming, farAhead }

    /// Whether bytes up to an end are here, or would have to be waited for longer than to ask.
    func position(of end: Int64, patience: Int64) -> Position {
        state.change { state in
            if state.received >= end { return .here }
            return state.end == nil && end - state.received > patience ? .farAhead : .coming
        }
    }

    /// Blocks until the bytes up to an end are here.
    ///
    /// - Throws: `BucketError`, `CancellationError`.
    func wait(for end: Int64) throws {
        let result = try state.wait { state -> Result<Void, BucketError>? in
            state.received >= end ? .success(()) : state.end
        }
        try result.get()
    }

    /// Reads what is here.
    ///
    /// - Throws: `FileError`.
    func read(
        at offset: Int64,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(FileError) -> Int {
        try spool.read(at: offset, into: buffer)
    }
}
