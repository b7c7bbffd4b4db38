internal import LTXCodec
public import Wire

/// What is to be done with an upload once it is whole: the request that created it.
public struct UploadOrder: Hashable, Sendable {
    public struct Header: Hashable, Sendable {
        /// In lower case.
        public var name: String
        public var value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// `PUT` or `POST`.
    public var method: String
    /// Path and query of the target.
    public var target: String
    /// The headers that the target's answer depends on.
    public var headers: [Header]
    /// Bytes of the whole upload, when the client has said.
    public var length: Int64?
    public var dialect: UploadDialect

    public init(
        method: String,
        target: String,
        headers: [Header] = [],
        length: Int64? = nil,
        dialect: UploadDialect
    ) {
        self.method = method
        self.target = target
        self.headers = headers
        self.length = length
        self.dialect = dialect
    }

    /// The value of a header by its lower-case name.
    public func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}

/// What the target of an upload answered, small enough to keep.
public struct UploadAnswer: Hashable, Sendable {
    public var status: Int
    public var mediaType: String
    /// The body; a line of a listing, or a reason.
    public var body: String

    public init(status: Int, mediaType: String = "text/plain", body: String) {
        self.status = status
        self.mediaType = mediaType
        self.body = body
    }

    /// Whether asking again cannot change it; otherwise the upload is kept and can be delivered
    /// again.
    public var isFinal: Bool {
        status < 500 && ![401, 403, 408, 423, 425, 429].contains(status)
    }
}
