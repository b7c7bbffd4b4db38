import Wire

extension TransferFailure {
    /// What is wrong with an answer; `nil` when it is a success of a server of this protocol.
    ///
    /// A status that says "not now" or "who are you" counts whoever says it: proxies do. For all
    /// others the answer must carry the protocol's header, so that no foreign page is taken for a
    /// sink's word.
    ///
    /// - Parameters:
    ///   - response: The answer.
    ///   - url: What was asked, without anything secret.
    ///   - now: Seconds since 1970, for a `Retry-After` that names a date.
    public init?(_ response: HTTPResponse, url: String, now: Int64) {
        guard let kind = Self.kind(response) else { return nil }
        self.init(
            kind,
            url: url,
            status: response.status,
            detail: Self.detail(kind, response),
            retryAfter: response.headers["retry-after"].flatMap {
                RetryAfter.duration(
                    $0,
                    now: response.headers["date"].flatMap(HTTPDate.seconds) ?? now
                )
            }
        )
    }

    private static func kind(_ response: HTTPResponse) -> Kind? {
        switch response.status {
        case 401, 407: return .unauthorized
        case 408: return .requestTimeout
        case 425, 429: return .throttled
        case 507: return .serverFull
        case 500...599: return .server
        default: break
        }
        switch response.headers[WireHeader.protocolName] {
        // What a proxy says about the size of a request is no word about who stands behind it.
        case nil: return response.status == 413 ? .refused : .notASink
        case WireHeader.protocolVersion: break
        default: return .wrongProtocol
        }
        switch response.status {
        case 200...299: return nil
        case 403: return .readOnly
        case 404, 410: return .missing
        case 409: return .conflict
        default: return .refused
        }
    }

    private static func detail(_ kind: Kind, _ response: HTTPResponse) -> String {
        switch kind {
        case .notASink:
            return "what answers is not a sink: it does not send \(WireHeader.protocolName)"
        case .wrongProtocol:
            let version = response.headers[WireHeader.protocolName] ?? ""
            return "the server speaks version \(version.prefix(20)) of the protocol, "
                + "this program version \(WireHeader.protocolVersion)"
        default:
            let reason = response.reason
            // A page in HTML is a proxy's, and says nothing in a line.
            return reason.isEmpty || reason.hasPrefix("<") ? fallback(kind) : reason
        }
    }

    private static func fallback(_ kind: Kind) -> String {
        switch kind {
        case .unauthorized: "the token is missing or wrong"
        case .readOnly: "no writing with this token, or to this server"
        case .requestTimeout: "the request took longer than the server or a proxy allows"
        case .throttled: "too many requests"
        case .serverFull: "the server has no room"
        case .missing: "not there"
        case .conflict: "the server holds something else"
        default: "the request was refused"
        }
    }
}
