public import LTXCodec
public import Wire

/// How new the mirror of a database is; each value is read from the thing it is about.
public struct Freshness: Hashable, Sendable {
    /// Who wrote what the mirror holds now.
    public enum Writer: String, Hashable, Sendable {
        /// LTX files, one after the other.
        case replication
        /// A whole database.
        case ingest
    }

    /// What the mirror holds; `nil` while there is none.
    public struct Applied: Hashable, Sendable {
        public var txid: TXID
        /// When the change was made, of the LTX header or the ingest, milliseconds since 1970.
        public var timestamp: Int64
        /// When the mirror took it, milliseconds since 1970.
        public var appliedAt: Int64
        public var writer: Writer

        public init(txid: TXID, timestamp: Int64, appliedAt: Int64, writer: Writer) {
            self.txid = txid
            self.timestamp = timestamp
            self.appliedAt = appliedAt
            self.writer = writer
        }
    }

    /// The result of the configured query on the mirror.
    public enum NewestSample: Hashable, Sendable {
        case notConfigured
        /// Milliseconds since 1970; `nil` when the table is empty.
        case time(Int64?)
        /// The query failed.
        case failed(String)
    }

    public var database: DatabaseName
    public var lineage: String?
    public var applied: Applied?
    /// The highest TXID in the bucket.
    public var bucketTXID: TXID
    /// When the newest change in the bucket was made, milliseconds since 1970.
    public var bucketTimestamp: Int64?
    public var newestSample: NewestSample
    /// The mirror differs from what its writer said, and waits for a rebase.
    public var isDiverged: Bool
    /// The process whose lock keeps the mirror from following.
    public var lockHolder: Int32?

    public init(
        database: DatabaseName,
        lineage: String?,
        applied: Applied?,
        bucketTXID: TXID,
        bucketTimestamp: Int64?,
        newestSample: NewestSample = .notConfigured,
        isDiverged: Bool = false,
        lockHolder: Int32? = nil
    ) {
        self.database = database
        self.lineage = lineage
        self.applied = applied
        self.bucketTXID = bucketTXID
        self.bucketTimestamp = bucketTimestamp
        self.newestSample = newestSample
        self.isDiverged = isDiverged
        self.lockHolder = lockHolder
    }

    /// TXIDs that the mirror is behind the bucket.
    public var lagTXIDs: UInt64 {
        let applied = applied?.txid ?? .zero
        return bucketTXID > applied ? bucketTXID.rawValue - applied.rawValue : 0
    }

    /// Milliseconds between the change that the mirror holds and the newest in the bucket.
    ///
    /// 0 when they are the same; `nil` when there is no mirror, or nobody knows.
    public var lagMilliseconds: Int64? {
        guard let applied else { return nil }
        guard lagTXIDs > 0 else { return 0 }
        guard let bucketTimestamp else { return nil }
        let (lag, overflow) = bucketTimestamp.subtractingReportingOverflow(applied.timestamp)
        return overflow ? nil : max(0, lag)
    }

    /// The body of `GET …/freshness`; `now` is the sink's clock, milliseconds since 1970.
    public func json(now: Int64) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("database", .string(database.description)),
            .init("lineage", .optional(lineage, JSONValue.string)),
            .init("applied_txid", .optional(applied) { .string($0.txid.description) }),
            .init("applied_timestamp_ms", .optional(applied) { .integer($0.timestamp) }),
            .init("applied_at_ms", .optional(applied) { .integer($0.appliedAt) }),
            .init("applied_by", .optional(applied) { .string($0.writer.rawValue) }),
            .init("bucket_txid", .string(bucketTXID.description)),
            .init("bucket_timestamp_ms", .optional(bucketTimestamp, JSONValue.integer)),
            .init("lag_txids", .number(lagTXIDs)),
            .init("lag_ms", .optional(lagMilliseconds, JSONValue.integer)),
        ]
        switch newestSample {
        case .notConfigured: break
        case .time(let time):
            members.append(.init("newest_sample", .optional(time, JSONValue.integer)))
        case .failed(let why):
            members.append(.init("newest_sample", .null))
            members.append(.init("newest_sample_error", .string(why)))
        }
        members.append(.init("diverged", .bool(isDiverged)))
        members.append(.init("lock_holder", .optional(lockHolder, JSONValue.number)))
        members.append(.init("now_ms", .integer(now)))
        return .object(members)
    }
}
