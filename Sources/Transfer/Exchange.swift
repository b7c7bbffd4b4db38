internal import CCurl
import DurableFiles

/// One request on its way: what goes out, what comes back, and what went wrong here.
// @unchecked because everything but `isCancelled` is touched on the thread of the transfers only,
// between the inbox that hands it over and the handler that gets its end.
final class Exchange: @unchecked Sendable {
    let request: HTTPRequest
    let handler: any ResponseHandler
    let deadlines: Deadlines
    private let cancelled = Lock(false)

    // What curl holds on to.
    var easy: UnsafeMutableRawPointer?
    var headerLines: UnsafeMutablePointer<curl_slist>?
    let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    /// Owner of the connections, while curl has the request.
    weak var loop: TransferLoop?
    /// The socket that the request went out by.
    private(set) var socket: Int32 = -1
    private var sent: Int64 = 0
    private var isSent = false
    private var isConnected = false
    private var isPausedByHandler = false
    private var isPausedByProducer = false
    private var lastProgress: Milliseconds
    private var head = HeadReader()
    private var reason: [UInt8] = []
    private var drained = 0
    private var hasEnough = false
    /// What we found wrong ourselves, which counts more than how curl ended.
    private(set) var failure: TransferFailure?
    /// Bytes of an answer that curl did not read, see `EarlyAnswer`.
    var leftovers: [UInt8] = []

    /// No reason for a refusal is longer; what follows is read past, up to `drainLimit`.
    private static let reasonLimit = 4 << 10
    private static let drainLimit = 1 << 20
    /// What a connection takes before it shows that nobody is there any more.
    private static let repeatLimit: Int64 = 512 << 10

    init(_ request: HTTPRequest, deadlines: Deadlines, handler: any ResponseHandler) {
        self.request = request
        self.deadlines = request.deadlines ?? deadlines
        self.handler = handler
        lastProgress = .now
        isSent = request.body.length == 0
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        errorText.deallocate()
    }

    var isCancelled: Bool { cancelled.withLock { $0 } }

    func markCancelled() {
        cancelled.withLock { $0 = true }
    }

    func fail(_ kind: TransferFailure.Kind, _ detail: String) {
        guard failure == nil else { return }
        failure = TransferFailure(kind, url: request.url, detail: detail)
    }

    var curlText: String { String(cString: errorText) }

    // MARK: What curl calls

    /// A connection is there, and the request is about to go out by it.
    func becomeReady(socket: Int32) {
        self.socket = socket
        isConnected = true
        lastProgress = .now
    }

    /// Fills curl's buffer from the body.
    ///
    /// - Returns: The count, or one of curl's codes.
    func send(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        lastProgress = .now
        let count = nextBytes(into: buffer)
        if count >= 0 {
            sent += Int64(count)
            if count == 0 || sent == request.body.length { isSent = true }
            return count
        }
        return Int(count == Self.later ? CURL_READFUNC_PAUSE : CURL_READFUNC_ABORT)
    }

    private static let later = -1
    private static let broken = -2

    private func nextBytes(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        switch request.body {
        case .none: return 0
        case .bytes(let bytes):
            let start = Int(sent)
            let count = min(buffer.count, bytes.count - start)
            buffer.copyBytes(from: bytes[start..<(start + count)])
            return count
        case .file(let source, let range):
            let offset = range.lowerBound + sent
            let count = Int(min(Int64(buffer.count), range.upperBound - offset))
            guard count > 0 else { return 0 }
            do throws(FileError) {
                let read = try source.read(
                    at: offset,
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
                )
                guard read > 0 else {
                    fail(.refused, "\(source.path) was cut while it was sent")
                    return Self.broken
                }
                return read
            } catch {
                fail(.refused, "\(error)")
                return Self.broken
            }
        case .producer(let producer):
            switch producer.next(buffer) {
            case .bytes(let count): return count
            case .end: return 0
            case .later:
                isPausedByProducer = true
                return Self.later
            case .failure(let why):
                fail(.refused, why)
                return Self.broken
            }
        }
    }

    /// Goes back in the body, for a request that curl repeats on another connection.
    ///
    /// Curl does so when a kept connection turns out to be closed, but also when one breaks far
    /// into a body. That is not its to decide: who sends knows whether to go on or to begin again.
    func seek(to offset: Int64) -> Bool {
        if case .producer = request.body { return false }
        guard sent <= Self.repeatLimit else { return false }
        guard offset >= 0, offset <= request.body.length ?? 0 else { return false }
        sent = offset
        isSent = offset == request.body.length
        return true
    }

    /// Takes a line of the head.
    ///
    /// - Returns: Whether to go on.
    func receive(headLine line: UnsafeRawBufferPointer) -> Bool {
        lastProgress = .now
        switch head.take(line) {
        case .more: return true
        case .malformed(let why):
            fail(.notASink, why)
            return false
        case .complete:
            guard head.response.isSuccess else { return true }
            return follow(handler.begin(head.response)) != .stopped
        }
    }

    enum Reception { case taken, paused, stopped }

    /// Takes bytes of the body.
    func receive(body bytes: UnsafeRawBufferPointer) -> Reception {
        lastProgress = .now
        if head.response.isSuccess { return follow(handler.receive(bytes)) }
        let room = Self.reasonLimit - reason.count
        if room > 0 { reason.append(contentsOf: bytes.prefix(room)) }
        drained += bytes.count
        guard drained <= Self.drainLimit else {
            hasEnough = true
            return .stopped
        }
        return .taken
    }

    private func follow(_ step: BodyStep) -> Reception {
        switch step {
        case .more: return .taken
        case .pause:
            isPausedByHandler = true
            return .paused
        case .stop(let kind, let detail):
            fail(kind, detail)
            return .stopped
        }
    }

    // MARK: Time

    /// Takes back both kinds of pause.
    func unpause() {
        isPausedByHandler = false
        isPausedByProducer = false
        lastProgress = .now
    }

    /// When this request has been silent for too long; `nil` while we are the ones who wait.
    var silenceEnds: Milliseconds? {
        if isPausedByHandler || isPausedByProducer { return nil }
        guard isConnected else {
            return lastProgress + deadlines.connect + deadlines.idle
        }
        let waits = request.hasBody && isSent && head.response.status == 0
        return lastProgress + (waits ? deadlines.answer : deadlines.idle)
    }

    /// Ends the request because nothing moved.
    func failBySilence() {
        let waits = request.hasBody && isSent && head.response.status == 0
        fail(
            .timeout,
            waits
                ? "no answer within \(deadlines.answer) of the end of the request"
                : "no byte moved for \(deadlines.idle)"
        )
    }

    // MARK: The end

    /// Whether an answer, or the reason in it, may be in the socket that curl has not seen.
    var mayHaveUnreadAnswer: Bool {
        guard request.hasBody, failure == nil else { return false }
        return !head.isComplete || (!head.response.isSuccess && reason.isEmpty)
    }

    /// What came of it.
    func outcome(_ code: CURLcode, text: String) -> Result<HTTPResponse, TransferFailure> {
        if let failure { return .failure(failure) }
        var response = head.response
        response.body = reason
        if code == CURLE_OK, head.isComplete { return .success(response) }
        if isCancelled {
            return .failure(TransferFailure(.cancelled, url: request.url, detail: "cancelled"))
        }
        // A refusal counts, even if the connection broke before its last byte.
        if head.isComplete, hasEnough || !response.isSuccess {
            if reason.isEmpty {
                response.body = EarlyAnswer.body(leftovers[...], response.headers)
            }
            return .success(response)
        }
        if !head.isComplete, let early = EarlyAnswer.parse(leftovers), !early.isSuccess {
            return .success(early)
        }
        let detail = curlText.isEmpty ? text : curlText
        return .failure(
            TransferFailure(
                TransferFailure.Kind(curl: code.rawValue, text: detail),
                url: request.url,
                detail: detail
            )
        )
    }
}
