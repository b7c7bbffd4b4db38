import DurableFiles

/// Where a bucket is.
///
/// Text forms: `/path`, `relative/path`, `file:///path`, `http(s)://host:port/db/NAME`,
/// `s3://bucket/prefix?endpoint=…&region=…`. Nothing secret is ever part of it: an address with
/// a user or password is refused, because addresses end up in process lists and journals.
public enum BucketAddress: Hashable, Sendable {
    /// A directory path without a trailing slash.
    case directory(String)
    case http(HTTPAddress)
    case s3(S3Address)

    /// A database on a sink.
    public struct HTTPAddress: Hashable, Sendable {
        public let isSecure: Bool
        /// A name, an IPv4 address, or an IPv6 address without its brackets.
        public let host: String
        /// `nil`: the scheme's own.
        public let port: UInt16?
        /// 1 to 64 of `A`–`Z`, `a`–`z`, `0`–`9`, `_`, `-`.
        public let database: String
    }

    /// A prefix in an object store.
    public struct S3Address: Hashable, Sendable {
        public let bucket: String
        /// Without slashes at either end; may be empty.
        public let prefix: String
        public let endpoint: String?
        public let region: String?
    }

    /// Reads one of the text forms.
    ///
    /// - Throws: `BucketError.badAddress`, whose text leaves out what may be secret.
    public init(parsing text: String) throws(BucketError) {
        guard !text.isEmpty else {
            throw .badAddress(text: "\"\"", why: "empty; give a directory or a URL")
        }
        guard !text.utf8.contains(0) else {
            throw .badAddress(text: AddressText.redacted(text), why: "holds a NUL byte")
        }
        guard !text.contains(where: \.isNewline) else {
            throw .badAddress(text: AddressText.redacted(text), why: "holds a line break")
        }
        guard let scheme = AddressText.scheme(of: text) else {
            self = .directory(AddressText.trimmingSlashes(text))
            return
        }
        let parts = try AddressText(scheme: scheme, text)
        switch scheme {
        case "file": self = try .directory(parts.filePath())
        case "http", "https": self = try .http(parts.httpAddress())
        case "s3": self = try .s3(parts.s3Address())
        default:
            throw parts.error("unknown scheme \(scheme); known are file, http, https and s3")
        }
    }

    /// Opens the backend for this address; the place itself is not looked at yet.
    ///
    /// - Parameter http: How to speak to a server; by default with the token of the environment,
    ///   see `HTTPBucketOptions.fromEnvironment`.
    /// - Returns: The bucket; it is a `LiveBucket` behind `http` and `https`.
    /// - Throws: `BucketError.unsupported`; `BucketError.transfer` for a token that is none.
    public func client(http: HTTPBucketOptions? = nil) throws(BucketError) -> any BucketClient {
        switch self {
        // One directory is one bucket, from wherever it is named.
        case .directory(let path): DirectoryBucket(Path.canonical(path))
        case .http(let address):
            if let http {
                HTTPBucket(address, options: http)
            } else {
                HTTPBucket(address, options: try HTTPBucketOptions.fromEnvironment())
            }
        case .s3: throw .unsupported(self)
        }
    }
}

extension BucketAddress: CustomStringConvertible {
    public var description: String {
        switch self {
        case .directory(let path):
            return path
        case .http(let address):
            let host = address.host.contains(":") ? "[\(address.host)]" : address.host
            let port = address.port.map { ":\($0)" } ?? ""
            let scheme = address.isSecure ? "https" : "http"
            return "\(scheme)://\(host)\(port)/db/\(address.database)"
        case .s3(let address):
            let prefix = address.prefix.isEmpty ? "" : "/\(address.prefix)"
            let query = [
                address.endpoint.map { "endpoint=\($0)" }, address.region.map { "region=\($0)" },
            ].compactMap { $0 }
            let tail = query.isEmpty ? "" : "?" + query.joined(separator: "&")
            return "s3://\(address.bucket)\(prefix)\(tail)"
        }
    }
}
