public import DurableFiles
public import Wire

/// Why a request about an upload resource is not done.
public enum UploadRefusal: Error, Equatable, Sendable {
    /// No such upload, or no more: 404.
    case missing
    /// 400 or 409, with a document that says what.
    case problem(UploadProblem)
    /// The upload, or what is declared of it, is larger than allowed: 413.
    case tooLarge(limit: Int64)
    /// The database has as many uploads under way as it may have: 429.
    case tooMany(limit: Int)
    /// A newer request has taken the upload over; this one's connection should end.
    case superseded
    /// The target is at work on it: 503, soon.
    case delivering
    /// The disk refused: 507 when it is full, else 500.
    case file(FileError)

    public var status: Int {
        switch self {
        case .missing: 404
        case .problem(let problem): problem.status
        case .tooLarge: 413
        case .tooMany: 429
        case .superseded: 409
        case .delivering: 503
        case .file(let error): error.isNoSpace ? 507 : 500
        }
    }

    /// One line for the client.
    public var reason: String {
        switch self {
        case .missing: "no such upload: begin a new one"
        case .problem(let problem): problem.json
        case .tooLarge(let limit): "an upload may have \(limit) bytes"
        case .tooMany(let limit): "\(limit) uploads are under way, which is the most"
        case .superseded: "a newer request goes on with this upload"
        case .delivering: "the upload is complete and being processed"
        case .file(let error): error.isNoSpace ? "the disk is full" : "the upload cannot be stored"
        }
    }

    /// The media type of `reason`.
    public var mediaType: String {
        if case .problem = self { UploadProblem.mediaType } else { "text/plain" }
    }

    /// Seconds after which to ask again.
    public var retryAfter: Int? {
        switch self {
        case .delivering: 1
        case .tooMany: 30
        case .file(let error): error.isNoSpace ? 60 : nil
        default: nil
        }
    }
}
