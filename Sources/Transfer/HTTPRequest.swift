/// What is asked of a server.
public struct HTTPRequest: Sendable {
    public enum Method: String, Sendable {
        case get = "GET"
        case head = "HEAD"
        case put = "PUT"
        case post = "POST"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    public var method: Method
    /// Without anything secret: it is part of errors.
    public var url: String
    public var headers: HTTPHeaders
    /// Sent by `put`, `post` and `patch`; the other methods have none.
    public var body: RequestBody
    /// `nil`: the client's own.
    public var deadlines: Deadlines?

    public init(
        _ method: Method,
        _ url: String,
        headers: HTTPHeaders = HTTPHeaders(),
        body: RequestBody = .none,
        deadlines: Deadlines? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.deadlines = deadlines
    }

    var hasBody: Bool {
        switch method {
        case .put, .post, .patch: true
        case .get, .head, .delete: false
        }
    }
}

/// How long a request may take.
public struct Deadlines: Hashable, Sendable {
    /// To have a connection: look-up, TCP, TLS.
    public var connect: Duration
    /// Without a byte in either direction.
    ///
    /// A reader that is behind stops this clock.
    public var idle: Duration
    /// From the last byte of a request's body to the first of the answer: the server verifies,
    /// syncs and applies.
    public var answer: Duration
    /// For everything together; `nil`: as long as bytes move.
    public var whole: Duration?

    public init(
        connect: Duration = .seconds(10),
        idle: Duration = .seconds(30),
        answer: Duration = .seconds(120),
        whole: Duration? = nil
    ) {
        self.connect = connect
        self.idle = idle
        self.answer = answer
        self.whole = whole
    }
}
