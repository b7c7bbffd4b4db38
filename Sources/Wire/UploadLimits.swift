/// What a server allows an upload, in `upload-limit`.
public struct UploadLimits: Hashable, Sendable {
    /// Bytes of one whole upload.
    public var maxSize: Int64?
    /// Bytes of one request's body.
    public var maxAppendSize: Int64?
    /// Seconds that an upload which nobody resumes is kept.
    public var maxAge: Int64?

    public init(maxSize: Int64? = nil, maxAppendSize: Int64? = nil, maxAge: Int64? = nil) {
        self.maxSize = maxSize
        self.maxAppendSize = maxAppendSize
        self.maxAge = maxAge
    }

    /// Reads a header's value; `nil` when it is no dictionary or a known limit is no number.
    public init?(_ text: some StringProtocol) {
        guard let members = StructuredField.dictionary(text) else { return nil }
        for (name, limit) in Self.names {
            guard let member = members[name] else { continue }
            guard let value = StructuredField.integer(member) else { return nil }
            self[keyPath: limit] = value
        }
    }

    /// The header's value; drafts before -06 call the age `expires`.
    public func text(_ dialect: UploadDialect) -> String {
        let age = dialect.isLegacy ? "expires" : "max-age"
        let members = [
            maxSize.map { "max-size=\($0)" }, maxAppendSize.map { "max-append-size=\($0)" },
            maxAge.map { "\(age)=\($0)" },
        ].compactMap { $0 }
        // An empty dictionary cannot be sent; this one limits nothing.
        return members.isEmpty ? "min-size=0" : members.joined(separator: ", ")
    }

    // The older name first, so that the newer one wins.
    private static var names: [(String, WritableKeyPath<UploadLimits, Int64?>)] {
        [
            ("max-size", \.maxSize), ("max-append-size", \.maxAppendSize),
            ("expires", \.maxAge), ("max-age", \.maxAge),
        ]
    }
}
