public import Wire

/// What `dormouse sink` is told to do: `sink.yml` after checking, with every default filled in.
public struct SinkConfig: Hashable, Sendable {
    /// The directory that holds one directory for each database, by its absolute path.
    public var data: String
    public var listen = ListenAddress(host: "127.0.0.1", port: 9736)
    /// `nil`: plain HTTP.
    public var tls: TLS?
    public var tokens = Tokens()
    public var limits = Limits()
    public var lease = Lease()
    public var disk = Disk()
    public var freshness = Freshness()
    /// What is known of single databases; others are served just the same.
    public var databases: [Database] = []
    public var log = AgentConfig.Log()

    public init(data: String) {
        self.data = data
    }

    /// The query for the newest sample of a database.
    public func newestSampleQuery(of name: DatabaseName) -> String? {
        databases.first { $0.name == name }?.newestSample ?? freshness.query
    }

    /// PEM files, by their absolute paths.
    public struct TLS: Hashable, Sendable {
        public var certificate: String
        public var key: String

        public init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// Where the tokens are; with neither, everybody on this machine may do everything.
    public struct Tokens: Hashable, Sendable {
        public var readWrite: TokenSource?
        public var readOnly: TokenSource?

        public var isOpen: Bool { readWrite == nil && readOnly == nil }
    }

    public struct Limits: Hashable, Sendable {
        /// Bytes of one LTX file or one whole database.
        public var upload: Int64 = 16 << 30
        /// Resumable uploads of one database that are kept at a time; 0 offers none.
        public var uploads = 16
        public var connections = 2_048
        /// How long a connection may say nothing between requests.
        public var idleTimeout: Duration = .seconds(60)
        /// How long a body may stand still.
        public var bodyTimeout: Duration = .seconds(30)
    }

    public struct Lease: Hashable, Sendable {
        /// After so long without a write, another writer may take over.
        public var ttl: Duration = .seconds(86_400)
    }

    public struct Disk: Hashable, Sendable {
        public var reserve = Reserve.share(500)
    }

    /// Room that is left on the disk.
    public enum Reserve: Hashable, Sendable, CustomStringConvertible {
        case bytes(Int64)
        /// Hundredths of a percent.
        case share(Int)

        public var description: String {
            switch self {
            case .bytes(let bytes): ByteSize.text(bytes)
            case .share(let share):
                share.isMultiple(of: 100)
                    ? "\(share / 100)%" : "\(share / 100).\(share % 100 / 10)\(share % 10)%"
            }
        }
    }

    public struct Freshness: Hashable, Sendable {
        /// SQL that gives the time of the newest sample in a mirror, milliseconds since 1970.
        public var query: String?
    }

    public struct Database: Hashable, Sendable {
        public var name: DatabaseName
        /// Instead of the query for all databases.
        public var newestSample: String?

        public init(name: DatabaseName, newestSample: String? = nil) {
            self.name = name
            self.newestSample = newestSample
        }
    }
}
