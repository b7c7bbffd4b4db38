/// What a fault proxy does to a request that passes it.
public enum ProxyFault: Hashable, Sendable {
    /// Lets it through.
    case none
    /// Forwards so many bytes of the body, then answers with a status itself and closes.
    ///
    /// What was forwarded stays with the server: a gateway that loses patience in an upload.
    case answer(status: Int, afterBytes: Int64, retryAfter: Int? = nil)
    /// Forwards so many bytes of the body, then resets the client's connection.
    case resetUpload(afterBytes: Int64)
    /// Lets the request through, and resets the connection after so many bytes of the answer.
    case resetDownload(afterBytes: Int64)
    /// Forwards so many bytes of the body, then nothing more, until the client gives up.
    case stall(afterBytes: Int64)
    /// Sends the request to the server a second time on another connection, after its answer.
    case duplicate
    /// Takes the connection and closes it at once.
    case refuse
    /// Changes one bit of the body on its way.
    case corrupt(atByte: Int64)
}

/// What a fault proxy has seen of a request.
public struct ProxiedRequest: Hashable, Sendable {
    /// Counts the requests of a proxy, from 0.
    public var number: Int
    public var method: String
    public var target: String
    /// What it does to the request.
    public var fault: ProxyFault = .none
    /// Bytes of the body, as its head announces them; -1 for one that is sent in chunks.
    public var length: Int64 = 0
    /// Where in a whole that is uploaded in parts this one begins.
    public var offset: Int64?
    /// Bytes of the body that came from the client.
    public var bodyBytes: Int64 = 0
    /// The status of the answer, the server's or the proxy's own.
    public var status: Int?

    /// Whether it brings bytes: of an LTX file, a part of one, or a whole database.
    public var isUpload: Bool { length != 0 && ["PUT", "PATCH", "POST"].contains(method) }
}

/// What the way between a fault proxy's clients and its server is like.
public enum NetworkState: Hashable, Sendable {
    case up
    /// Connections are cut, and new ones are refused.
    case down
    /// All connections together get so many bytes a second.
    case slow(bytesPerSecond: Int64)
}
