/// What a server answered.
public struct HTTPResponse: Sendable {
    public var status: Int
    /// `1` or `2`: the major version of HTTP.
    public var majorVersion: Int
    public var headers: HTTPHeaders
    /// The body, as far as it was collected.
    public var body: [UInt8]

    public init(
        status: Int,
        majorVersion: Int = 1,
        headers: HTTPHeaders = HTTPHeaders(),
        body: [UInt8] = []
    ) {
        self.status = status
        self.majorVersion = majorVersion
        self.headers = headers
        self.body = body
    }

    public var isSuccess: Bool { (200..<300).contains(status) }

    /// The first line of the body, made fit for a log: what the server says is wrong.
    public var reason: String {
        let line = String(decoding: body.prefix(300), as: UTF8.self).prefix { !$0.isNewline }
        return String(
            line.filter { !$0.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7f } }
        )
    }

    /// Whether the answer's end is told by more than the end of the connection, which a cut has too.
    public var hasMarkedEnd: Bool {
        majorVersion >= 2 || headers["content-length"] != nil
            || headers["transfer-encoding"] != nil
    }
}
