/// What a resumable upload is refused for, as a problem document (RFC 9457) on one line.
public enum UploadProblem: Hashable, Sendable {
    /// The mismatch of offsets: 409.
    case mismatchingOffset(expected: Int64, provided: Int64)
    /// Two statements of the whole length differ: 400.
    case inconsistentLength
    /// Bytes for an upload that is complete: 400.
    case completed

    public static let mediaType = "application/problem+json"
    private static let registry = "https://iana.org/assignments/http-problem-types#"

    public var status: Int {
        switch self {
        case .mismatchingOffset: 409
        case .inconsistentLength, .completed: 400
        }
    }

    /// The document, without a line feed.
    public var json: String {
        let members: [(String, JSONValue)] =
            switch self {
            case .mismatchingOffset(let expected, let provided):
                [
                    ("type", .string(Self.registry + "mismatching-upload-offset")),
                    ("title", .string("the part does not begin where the upload ends")),
                    ("expected-offset", .integer(expected)),
                    ("provided-offset", .integer(provided)),
                ]
            case .inconsistentLength:
                [
                    ("type", .string(Self.registry + "inconsistent-upload-length")),
                    ("title", .string("the lengths given for this upload differ")),
                ]
            case .completed:
                [
                    ("type", .string(Self.registry + "completed-upload")),
                    ("title", .string("the upload is complete and takes no more bytes")),
                ]
            }
        return JSONValue.object(members.map { JSONValue.Member($0.0, $0.1) }).line
    }
}
