/// How a push ended.
///
/// "Uploaded nothing" is four different things.
public enum PushOutcome: Equatable, Sendable {
    /// At least one file was accepted, and both sides agree on the TXID.
    case pushed
    /// There was nothing to ship. Verified only if the bucket confirmed a TXID above zero: at
    /// TXID zero both sides agree on nothing.
    case inSync(verified: Bool)
    /// It can pass by itself; lineage and backlog stay, and the next push retries the delta.
    case retryable(RetryReason, detail: String)
    /// A person must change something.
    case unavailable(UnavailableReason, detail: String)

    /// `pushed`, `in-sync`, `retryable` or `unavailable`, as records say it.
    public var name: String {
        switch self {
        case .pushed: "pushed"
        case .inSync: "in-sync"
        case .retryable: "retryable"
        case .unavailable: "unavailable"
        }
    }

    /// The stable text of the reason.
    public var reason: String? {
        switch self {
        case .pushed: nil
        case .inSync(let verified): verified ? "verified" : "unverified"
        case .retryable(let reason, _): reason.rawValue
        case .unavailable(let reason, _): reason.rawValue
        }
    }

    /// What happened, for a person; empty after a success.
    public var detail: String {
        switch self {
        case .pushed, .inSync: ""
        case .retryable(_, let detail), .unavailable(_, let detail): detail
        }
    }

    /// Everything is where it should be.
    public var isSuccess: Bool {
        switch self {
        case .pushed, .inSync: true
        case .retryable, .unavailable: false
        }
    }
}

/// What can pass by itself.
///
/// The raw values are stable.
public enum RetryReason: String, Sendable, CaseIterable {
    /// Another connection holds a lock that the sync needs.
    case lockBusy = "lock-busy"
    /// The device's own disk is full.
    case deviceFull = "device-full"
    /// The bucket's disk is full.
    case bucketFull = "bucket-full"
    /// A read or write failed.
    case ioError = "io-error"
    /// The server cannot be reached, or the connection broke.
    case network
    /// The server, or something before it, did not answer in time (also 408).
    case timeout
    /// An answer ended before its length.
    case shortBody = "short-body"
    /// The server asks to slow down (425, 429).
    case throttled
    /// The server failed (5xx).
    case serverError = "server-error"
    /// Somebody else wrote to the bucket meanwhile; the next push begins with its lineage.
    case lineageConflict = "lineage-conflict"
    case cancelled
    /// The time that the process was granted is over; an upload goes on in the next window.
    case windowExpired = "window-expired"
}

/// What a person must change.
///
/// The raw values are stable.
public enum UnavailableReason: String, Sendable, CaseIterable {
    case notConfigured = "not-configured"
    case databaseMissing = "database-missing"
    /// It has no page yet.
    case databaseEmpty = "database-empty"
    case notADatabase = "not-a-database"
    case notWALMode = "not-wal-mode"
    case databaseDenied = "database-denied"
    case databaseCorrupt = "database-corrupt"
    /// Another replicator has this database.
    case databaseClaimed = "database-claimed"
    case bucketDenied = "bucket-denied"
    case notABucket = "not-a-bucket"
    /// Files of the bucket are damaged or belong to something else.
    case bucketUnusable = "bucket-unusable"
    /// The server's certificate cannot be trusted, or our own not be used.
    case untrusted
    /// The token is missing or wrong (401).
    case unauthorized
    /// The token may only read, or the server takes no writes (403).
    case readOnly = "read-only"
    /// What answers does not speak the protocol.
    case notASink = "not-a-sink"
    /// It speaks another version of it.
    case wrongProtocol = "wrong-protocol"
    /// The bucket's history is not this database's, and the configuration says to stop then.
    case lineageConflict = "lineage-conflict"
    /// Somebody said that whole databases shall wait (low power, a metered network), and one has
    /// to be shipped.
    case postponed
}
