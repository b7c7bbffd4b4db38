import DurableFiles
import Glibc
public import LTXCodec
import Wire

/// What a sink is told to do.
public struct SinkOptions: Sendable {
    /// The directory that holds one directory for each database; made if it is missing.
    public var data: String
    /// Where to listen.
    public var listen: SinkAddress
    /// Certificate and key, as PEM texts; `nil` for plain HTTP.
    public var tls: TLS?
    public var tokens = Tokens()
    public var diskGuard = DiskGuard(reserve: .bytes(0))
    /// Bytes of one LTX file or one whole database.
    public var maxUpload: Int64 = 16 << 30
    /// Resumable uploads of one database that are kept at a time; 0 offers none.
    public var maxUploads = 16
    public var maxConnections = 2_048
    /// A connection that says nothing for so long between requests is closed.
    public var idleTimeout = Duration.seconds(60)
    /// A body that stands still for so long is given up.
    public var bodyTimeout = Duration.seconds(30)
    /// How long a writer's lease lasts without a write.
    public var leaseDuration = Duration.seconds(86_400)
    /// A follower hears so often that it is not forgotten.
    public var pingInterval = Duration.seconds(15)
    /// SQL that gives the time of the newest sample in the mirror of a database.
    public var newestSample: [String: String] = [:]
    /// The same for databases that have none of their own.
    public var newestSampleOfAll: String?
    /// Told what a person should know.
    public var report: @Sendable (SinkEvent) -> Void = { _ in }
    /// The wall clock, milliseconds since 1970.
    public var now: @Sendable () -> Int64 = WallClock.now

    public init(data: String, listen: SinkAddress) {
        self.data = data
        self.listen = listen
    }

    public struct TLS: Hashable, Sendable {
        public var certificate: String
        public var key: String

        public init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }
}

/// What happened in a sink that a person should know.
public enum SinkEvent: Sendable {
    /// A database was opened, at the start or by its first write.
    case opened(database: String)
    /// A request failed for a reason of the sink's own.
    case failed(database: String?, what: String)
    /// A write was refused, with the reason its writer got.
    case refused(database: String, reason: String)
    /// A whole database was taken.
    case ingested(database: String, txid: TXID, bytes: Int64)
    /// A live copy differs from what its writer said, and is not written to any more.
    case diverged(database: String, txid: TXID, expected: Checksum, actual: Checksum)
    /// It is what its writer has again.
    case converged(database: String, txid: TXID)
    /// A live copy does not follow its bucket.
    case lagging(database: String, applied: TXID, bucket: TXID, holder: Int32?, why: String?)
    /// It does again.
    case caughtUp(database: String, txid: TXID)
    /// The reserve is touched: writes are refused.
    case diskFull(reason: String)
    /// There is room again.
    case diskHasRoom
    /// What killed writers and forgotten uploads left was removed.
    case swept(files: Int, uploads: Int)
}
