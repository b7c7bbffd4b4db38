import DurableFiles

/// Takes an answer as it comes, on the thread of the transfers, which it must not block.
public protocol ResponseHandler: AnyObject, Sendable {
    /// The head of an answer with a status of 2xx, its body empty.
    func begin(_ response: HTTPResponse) -> BodyStep

    /// The next bytes of the body of such an answer.
    func receive(_ bytes: UnsafeRawBufferPointer) -> BodyStep

    /// The end, exactly once: an answer, whatever its status, or why there is none.
    ///
    /// The body of an answer with another status than 2xx is in it, as far as a reason goes.
    func finish(_ result: Result<HTTPResponse, TransferFailure>)
}

/// What a handler wants next.
public enum BodyStep: Equatable, Sendable {
    case more
    /// Nothing for now: the same bytes come again after `HTTPTransfer.resume`.
    case pause
    /// The rest is of no use.
    case stop(TransferFailure.Kind, String)
}

/// Collects a body up to a limit.
public final class BodyCollector: ResponseHandler {
    private let limit: Int
    private let completion: @Sendable (Result<HTTPResponse, TransferFailure>) -> Void
    private let bytes = Lock<[UInt8]>([])

    public init(
        limit: Int,
        completion: @escaping @Sendable (Result<HTTPResponse, TransferFailure>) -> Void
    ) {
        self.limit = limit
        self.completion = completion
    }

    public func begin(_ response: HTTPResponse) -> BodyStep {
        // The length is the server's word: room is made as the bytes come, up to the limit.
        guard let length = response.headers["content-length"].flatMap({ Int64($0) }) else {
            return .more
        }
        return length <= limit
            ? .more : .stop(.badAnswer, "the answer has more than \(limit) bytes")
    }

    public func receive(_ chunk: UnsafeRawBufferPointer) -> BodyStep {
        bytes.withLock { bytes in
            guard bytes.count + chunk.count <= limit else {
                return .stop(.badAnswer, "the answer has more than \(limit) bytes")
            }
            bytes.append(contentsOf: chunk)
            return .more
        }
    }

    public func finish(_ result: Result<HTTPResponse, TransferFailure>) {
        let collected = bytes.withLock { bytes in
            defer { bytes = [] }
            return bytes
        }
        completion(
            result.map { response in
                var response = response
                if response.isSuccess { response.body = collected }
                return response
            }
        )
    }
}
