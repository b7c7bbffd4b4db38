/// Why a request over HTTP did not do what it was asked to.
///
/// Every failure of curl, every status and every answer that is not to be understood is one of
/// these kinds; `TransferFailure.Kind.isRetryable` says whether it can pass by itself.
public struct TransferFailure: Error, Equatable, Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        // Can pass by itself.
        case resolve
        case connect
        case timeout
        /// The connection broke while bytes were still to come or to go.
        case reset
        /// The body ended before its declared or its known length.
        case shortBody = "short-body"
        /// 408.
        case requestTimeout = "request-timeout"
        /// 425 and 429.
        case throttled
        /// 5xx but for 507.
        case server
        /// 507: the disk guard of the server.
        case serverFull = "server-full"
        case cancelled

        // A person must change something.
        /// The certificate cannot be trusted, or a key or a list of authorities not be read.
        case tls
        case unauthorized
        /// 403: the token may read only, or the server does not take writes.
        case readOnly = "read-only"
        /// No protocol header on an answer.
        case notASink = "not-a-sink"
        /// Another version of the protocol.
        case wrongProtocol = "wrong-protocol"
        /// A listing, a frame or a header that cannot be understood.
        case badAnswer = "bad-answer"
        /// 404 where something should be.
        case missing
        /// 409, with the server's reason.
        case conflict
        /// Any other status.
        case refused

        public var isRetryable: Bool {
            switch self {
            case .resolve, .connect, .timeout, .reset, .shortBody, .requestTimeout, .throttled,
                .server, .serverFull, .cancelled:
                true
            case .tls, .unauthorized, .readOnly, .notASink, .wrongProtocol, .badAnswer, .missing,
                .conflict, .refused:
                false
            }
        }
    }

    public var kind: Kind
    /// The URL, without anything secret.
    public var url: String
    /// The status, when there was an answer.
    public var status: Int?
    /// What curl or the server said, one line.
    public var detail: String
    /// When the server wants to be asked again.
    public var retryAfter: Duration?
    /// Whether the server holds more of an upload than before: it failed, but it moves.
    public var advanced: Bool

    public init(
        _ kind: Kind,
        url: String,
        status: Int? = nil,
        detail: String,
        retryAfter: Duration? = nil,
        advanced: Bool = false
    ) {
        self.kind = kind
        self.url = url
        self.status = status
        self.detail = detail
        self.retryAfter = retryAfter
        self.advanced = advanced
    }
}

extension TransferFailure: CustomStringConvertible {
    public var description: String {
        let status = status.map { " (HTTP \($0))" } ?? ""
        return "\(url): \(detail)\(status)"
    }
}
