/// What the `upload-*` headers of one message say.
///
/// A header whose value has another shape than it should counts as not sent.
public struct UploadHeaders: Hashable, Sendable {
    /// `nil` when the peer follows a draft before interop version 6.
    public var dialect: UploadDialect?
    public var isComplete: Bool?
    public var offset: Int64?
    public var length: Int64?
    /// From a server only.
    public var limits: UploadLimits?

    /// Reads a message.
    ///
    /// - Parameter header: The value of a header by its lower-case name.
    public init(_ header: (String) -> String?) {
        dialect = UploadDialect(header: header(WireHeader.uploadInterop))
        isComplete = header(WireHeader.uploadComplete).flatMap { StructuredField.boolean($0) }
        offset = header(WireHeader.uploadOffset).flatMap { StructuredField.integer($0) }
        length = header(WireHeader.uploadLength).flatMap { StructuredField.integer($0) }
        limits = header(WireHeader.uploadLimit).flatMap { UploadLimits($0) }
    }
}

/// The value of a header, and its name in lower case.
public typealias HeaderField = (name: String, value: String)

/// What a request to a target that takes uploads asks for.
public enum UploadCreation: Hashable, Sendable {
    /// The whole file is in this request, as without any of this.
    case plain
    /// Make an upload resource; the body, if any, is its first part.
    case resource(UploadDialect, length: Int64?)

    /// Why such a request is refused.
    public enum Refusal: Error, Hashable, Sendable {
        /// 400, with what is wrong.
        case unsupportedInterop
        case problem(UploadProblem)
    }

    /// Reads a request to a target; `contentLength` is `nil` for a chunked body.
    public init(_ headers: UploadHeaders, contentLength: Int64?) throws(Refusal) {
        switch headers.isComplete {
        case nil: self = .plain
        case true?:
            if let length = headers.length, let contentLength, length != contentLength {
                throw .problem(.inconsistentLength)
            }
            self = .plain
        case false?:
            // Taken for a whole file, its first part would be stored as one.
            guard let dialect = headers.dialect else { throw .unsupportedInterop }
            if let length = headers.length, let contentLength, contentLength > length {
                throw .problem(.inconsistentLength)
            }
            self = .resource(dialect, length: headers.length)
        }
    }
}

/// What an append to an upload resource asks for.
public struct UploadPart: Hashable, Sendable {
    public var dialect: UploadDialect
    public var offset: Int64
    /// The end of this body is the end of the upload.
    public var isLast: Bool
    /// Bytes of the whole upload, when the request tells.
    public var length: Int64?

    /// Why such a request is refused: 400 with a reason, 415, or a problem.
    public enum Refusal: Error, Hashable, Sendable {
        case malformed(String)
        case mediaType
        case problem(UploadProblem)
    }

    public init(dialect: UploadDialect, offset: Int64, isLast: Bool, length: Int64? = nil) {
        self.dialect = dialect
        self.offset = offset
        self.isLast = isLast
        self.length = length
    }

    /// Reads a request to append.
    public init(
        _ headers: UploadHeaders,
        mediaType: String?,
        contentLength: Int64?
    ) throws(Refusal) {
        guard let dialect = headers.dialect else {
            throw .malformed(UploadCreation.Refusal.interopReason)
        }
        let type = mediaType?.prefix { $0 != ";" && $0 != " " }.lowercased()
        guard type == WireHeader.partialUpload else { throw .mediaType }
        guard let offset = headers.offset else {
            throw .malformed("\(WireHeader.uploadOffset) must be a number of bytes")
        }
        guard let isLast = headers.isComplete ?? (dialect.completesByDefault ? true : nil) else {
            throw .malformed("\(WireHeader.uploadComplete) must be ?0 or ?1")
        }
        length = headers.length
        if let contentLength {
            let (end, overflow) = offset.addingReportingOverflow(contentLength)
            if isLast {
                guard !overflow, length == nil || length == end else {
                    throw .problem(.inconsistentLength)
                }
                length = end
            } else if overflow || length.map({ end > $0 }) == true {
                throw .problem(.inconsistentLength)
            }
        }
        self.dialect = dialect
        self.offset = offset
        self.isLast = isLast
    }
}

extension UploadCreation.Refusal {
    public static var interopReason: String {
        let (oldest, newest) = (UploadDialect.oldest, UploadDialect.newest)
        let range = [oldest, newest].compactMap(\.interopVersion).map(String.init)
        return "\(WireHeader.uploadInterop) must be \(range.joined(separator: " to "))"
    }
}

extension UploadDialect {
    /// The headers that every answer about an upload carries.
    public func headers(isComplete: Bool) -> [HeaderField] {
        var headers: [HeaderField] = [(WireHeader.uploadComplete, isComplete ? "?1" : "?0")]
        if let interopVersion { headers.append((WireHeader.uploadInterop, "\(interopVersion)")) }
        return headers
    }

    /// Of the answer to a creation: 201.
    public func createdHeaders(
        location: String,
        offset: Int64,
        limits: UploadLimits
    ) -> [HeaderField] {
        headers(isComplete: false) + [
            ("location", location), (WireHeader.uploadOffset, "\(offset)"),
            (WireHeader.uploadLimit, limits.text(self)),
        ]
    }

    /// Of the answer to `HEAD` of an upload resource: 204.
    public func stateHeaders(
        offset: Int64,
        length: Int64?,
        isComplete: Bool,
        limits: UploadLimits
    ) -> [HeaderField] {
        var headers = headers(isComplete: isComplete)
        headers.append((WireHeader.uploadOffset, "\(offset)"))
        if let length { headers.append((WireHeader.uploadLength, "\(length)")) }
        headers.append((WireHeader.uploadLimit, limits.text(self)))
        headers.append(("cache-control", "no-store"))
        return headers
    }

    /// Of the answer to a part that is not the last one (`appendedStatus`), and of a refusal.
    public func partHeaders(offset: Int64) -> [HeaderField] {
        headers(isComplete: false) + [(WireHeader.uploadOffset, "\(offset)")]
    }
}
