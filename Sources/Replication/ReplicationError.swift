import Bucket
public import DurableFiles
public import LTXCodec
import SQLiteBridge
import SQLiteWAL
import Transfer

/// What a replicator itself has to say; the rest comes from SQLite, the files and the bucket.
public enum ReplicationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The WAL was restarted again and again while it was read.
    case unsteady
    /// The bucket was changed by somebody else twice during one push.
    case bucketKeepsChanging
    /// The bucket's history is not ours and the configuration says to stop then.
    case conflict(LineageFinding, bucket: String)
    /// The bucket holds a name above which there is nothing left to count.
    case headTooHigh(TXID, bucket: String)
    /// The transfer service is at work, and what is new can neither be handed over nor sent.
    case spool(FileError)
    /// The same, and the place is lost: it must be found again by the bucket, but not now.
    case spoolInUse
    /// The next file is a whole database, and those wait.
    case postponed

    public var description: String {
        switch self {
        case .unsteady:
            "the WAL was restarted by another checkpointer each time it was read; it is tried again"
        case .bucketKeepsChanging:
            "another writer keeps changing the bucket; find it, or give this database another one"
        case .conflict(let finding, let bucket):
            "\(bucket): the bucket is not as it was left (\(finding.rawValue)) and on-conflict is "
                + "stop; nothing was changed. Look with `dormouse status`, then set on-conflict: "
                + "rebase to go on from what it holds, or name an empty bucket"
        case .headTooHigh(let head, let bucket):
            "\(bucket): a file is named as if the history went up to \(head), above which no file "
                + "can be numbered; remove it if it is a mistake, or name another bucket"
        case .spool(let error):
            "nothing can be handed over to the transfer service: \(error)"
        case .spoolInUse:
            "the place in the WAL is lost and the transfer service is at work; it is tried again"
        case .postponed:
            "the whole database has to be shipped, which waits until neither low-power nor metered "
                + "is set"
        }
    }
}

extension Replicator {
    /// Which of the four outcomes an error is: one table for everything that can go wrong.
    package static func outcome(of error: any Error) -> PushOutcome {
        let detail = "\(error)"
        switch error {
        case let fault as DatabaseFault: return .unavailable(reason(of: fault), detail: detail)
        case is FileLock.Held: return .unavailable(.databaseClaimed, detail: detail)
        case let error as BucketError: return outcome(of: error, detail)
        case let error as SQLiteError: return outcome(of: error, detail)
        case let error as FileError:
            if error.isNoSpace { return .retryable(.deviceFull, detail: detail) }
            if error.isDenied { return .unavailable(.databaseDenied, detail: detail) }
            return .retryable(.ioError, detail: detail)
        case is CancellationError: return .retryable(.cancelled, detail: "cancelled")
        case ReplicationError.unsteady: return .retryable(.lockBusy, detail: detail)
        case ReplicationError.spool: return .retryable(.ioError, detail: detail)
        case ReplicationError.spoolInUse: return .retryable(.lockBusy, detail: detail)
        case ReplicationError.postponed: return .unavailable(.postponed, detail: detail)
        case ReplicationError.conflict: return .unavailable(.lineageConflict, detail: detail)
        case ReplicationError.bucketKeepsChanging:
            return .retryable(.lineageConflict, detail: detail)
        case ReplicationError.headTooHigh, is LTXError:
            return .unavailable(.bucketUnusable, detail: detail)
        default: return .retryable(.ioError, detail: detail)
        }
    }

    private static func reason(of fault: DatabaseFault) -> UnavailableReason {
        switch fault {
        case .missing, .replaced: .databaseMissing
        case .empty: .databaseEmpty
        case .notAFile, .notADatabase: .notADatabase
        case .notWAL: .notWALMode
        case .damagedWAL, .missingPage, .lostWAL: .databaseCorrupt
        }
    }

    private static func outcome(of error: BucketError, _ detail: String) -> PushOutcome {
        switch error {
        case .denied, .readOnly: .unavailable(.bucketDenied, detail: detail)
        case .missing, .notABucket, .otherLayout: .unavailable(.notABucket, detail: detail)
        case .badAddress, .unsupported: .unavailable(.notConfigured, detail: detail)
        case .noSpace: .retryable(.bucketFull, detail: detail)
        case .conflict, .fenced: .retryable(.lineageConflict, detail: detail)
        case .transfer(let failure): outcome(of: failure.kind, detail)
        case .notFound, .io, .sourceSize: .retryable(.ioError, detail: detail)
        }
    }

    private static func outcome(of kind: TransferFailure.Kind, _ detail: String) -> PushOutcome {
        switch kind {
        case .resolve, .connect, .reset: .retryable(.network, detail: detail)
        case .timeout, .requestTimeout: .retryable(.timeout, detail: detail)
        case .shortBody: .retryable(.shortBody, detail: detail)
        case .throttled: .retryable(.throttled, detail: detail)
        case .server: .retryable(.serverError, detail: detail)
        case .serverFull: .retryable(.bucketFull, detail: detail)
        case .cancelled: .retryable(.cancelled, detail: detail)
        case .conflict: .retryable(.lineageConflict, detail: detail)
        case .tls: .unavailable(.untrusted, detail: detail)
        case .unauthorized: .unavailable(.unauthorized, detail: detail)
        case .readOnly: .unavailable(.readOnly, detail: detail)
        case .notASink, .missing, .badAnswer, .refused: .unavailable(.notASink, detail: detail)
        case .wrongProtocol: .unavailable(.wrongProtocol, detail: detail)
        }
    }

    private static func outcome(of error: SQLiteError, _ detail: String) -> PushOutcome {
        if error.isBusy { return .retryable(.lockBusy, detail: detail) }
        if error.isFull { return .retryable(.deviceFull, detail: detail) }
        if error.isNotADatabase { return .unavailable(.notADatabase, detail: detail) }
        if error.isDenied || error.cannotOpen {
            let hint = "the database, its -wal and -shm and their directory must be writable"
            return .unavailable(.databaseDenied, detail: "\(detail); \(hint)")
        }
        if error.isCorrupt { return .unavailable(.databaseCorrupt, detail: detail) }
        return .retryable(.ioError, detail: detail)
    }
}
