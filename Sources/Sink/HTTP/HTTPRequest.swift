import Wire

/// The first part of a request: everything but its body.
package struct RequestHead: Sendable {
    package var method: String
    /// From the first slash on, as it came.
    package var path: String
    /// Behind the question mark, as it came; empty without one.
    package var query: String
    /// By lower-case name; a header that came twice has its values joined by `", "`.
    package private(set) var headers: [String: String] = [:]

    /// A head without headers, for a request target as it stands in the request line.
    package init(method: String, target: String) {
        self.method = method
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = parts.first.map(String.init) ?? ""
        query = parts.count > 1 ? String(parts[1]) : ""
    }

    package subscript(name: String) -> String? {
        headers[name]
    }

    /// Adds a header; a name in any case.
    package mutating func add(_ name: String, _ value: String) {
        let name = name.lowercased()
        headers[name] = headers[name].map { "\($0), \(value)" } ?? value
    }

    /// What the head says about the body.
    package enum Framing: Hashable, Sendable {
        /// Neither a length nor chunks: there is no body.
        case none
        case length(Int64)
        case chunked
        /// Two statements, or none that can be understood.
        case malformed(String)
    }

    package var framing: Framing {
        switch (headers["content-length"], headers["transfer-encoding"]) {
        case (nil, nil): return .none
        case (_?, _?): return .malformed("content-length and transfer-encoding exclude each other")
        case (nil, let coding?):
            guard coding.lowercased() == "chunked" else {
                return .malformed("transfer-encoding can be chunked only")
            }
            return .chunked
        case (let text?, nil):
            guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
                let length = Int64(text)
            else { return .malformed("content-length is not a number of bytes") }
            return .length(length)
        }
    }

    /// Waits for a first answer before it sends its body.
    package var expectsContinue: Bool {
        headers["expect"]?.lowercased() == "100-continue"
    }
}

/// A request whose body is all there.
package struct HTTPRequest: Sendable {
    package var head: RequestHead
    package var body: RequestBody

    package init(_ head: RequestHead, body: RequestBody = .none) {
        self.head = head
        self.body = body
    }
}

/// The body of a request.
package enum RequestBody: Sendable {
    case none
    /// A small one.
    case bytes([UInt8])
    /// A larger one, in a file that goes away with its last owner.
    case file(SpoolFile)
    /// A file that somebody else keeps for as long as the request lasts.
    ///
    /// It may have been read already while it came.
    case kept(KeptUpload)
    /// Its bytes went where the service wanted them as they came.
    case taken(any BodySink)

    package var count: Int64 {
        switch self {
        case .none, .taken: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .file(let file): file.count
        case .kept(let upload): upload.count
        }
    }
}

/// A whole upload, in the file of its parts.
package struct KeptUpload: Sendable {
    var id: UploadID
    var path: String
    var count: Int64
    /// Who read it while it came.
    var intake: FileIntake?
}

/// Where the bytes of a body go as they arrive, on a thread of the server, in order.
package protocol BodySink: AnyObject, Sendable {
    /// Takes bytes, blocking for as long as the disk does; an answer ends the request.
    func write(_ bytes: UnsafeRawBufferPointer) -> HTTPResponse?

    /// The connection ended before the body did, or the server does.
    func abandon()
}

/// Who answers requests: the seam between the socket and the protocol.
package protocol HTTPHandler: Sendable {
    /// Decides from the head alone, at once, without looking at anything on disk.
    func admit(_ head: RequestHead) -> Admission

    /// The second look, before the body comes, for a head that `admit` wants to have asked about.
    func prepare(_ head: RequestHead) async -> Preparation

    /// Answers a request that was admitted.
    func handle(_ request: HTTPRequest) async -> HTTPResponse
}

/// What is to be done with a request, by its head.
package enum Admission: Sendable {
    case refuse(HTTPResponse)
    /// Take a body of up to so many bytes.
    case receive(limit: Int64)
    /// Call `prepare` first.
    case ask
}

/// What `prepare` found.
package enum Preparation: Sendable {
    case refuse(HTTPResponse)
    case receive(limit: Int64)
    /// Give the body's bytes to this.
    case feed(any BodySink)
}

extension HTTPHandler {
    /// Answers a request whose body is in memory, by the same steps as one from a socket.
    package func respond(to head: RequestHead, body: [UInt8] = []) async -> HTTPResponse {
        switch admit(head) {
        case .refuse(let response): return response
        case .receive(let limit): return await respond(to: head, body, limit: limit)
        case .ask:
            switch await prepare(head) {
            case .refuse(let response): return response
            case .receive(let limit): return await respond(to: head, body, limit: limit)
            case .feed(let sink):
                if let refusal = body.withUnsafeBytes({ $0.isEmpty ? nil : sink.write($0) }) {
                    sink.abandon()
                    return refusal
                }
                return await handle(HTTPRequest(head, body: .taken(sink)))
            }
        }
    }

    private func respond(
        to head: RequestHead,
        _ body: [UInt8],
        limit: Int64
    ) async -> HTTPResponse {
        guard Int64(body.count) <= limit else { return BodyReceiver.tooLarge(limit) }
        return await handle(HTTPRequest(head, body: body.isEmpty ? .none : .bytes(body)))
    }
}
