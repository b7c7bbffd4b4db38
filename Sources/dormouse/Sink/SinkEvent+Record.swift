import LTXCodec
import Sink
import Telemetry

extension SinkEvent {
    /// The record of what happened.
    var journalRecord: JournalRecord {
        switch self {
        case .opened(let database):
            JournalRecord(
                .sinkStart,
                .debug,
                "a database was opened",
                [.database: FieldValue(database)]
            )
        case .failed(let database, let what):
            JournalRecord(
                .sinkFailure,
                .error,
                "a request failed for a reason of the sink's own",
                [.database: FieldValue(database ?? "-"), .detail: FieldValue(what)]
            )
        case .refused(let database, let reason):
            JournalRecord(
                .refused,
                .warning,
                "a write was refused",
                [.database: FieldValue(database), .reason: FieldValue(reason)]
            )
        case .ingested(let database, let txid, let bytes):
            JournalRecord(
                .ingest,
                .notice,
                "a whole database was taken",
                [
                    .database: FieldValue(database), .txid: FieldValue(describing: txid),
                    .bytes: FieldValue(bytes),
                ]
            )
        case .diskFull(let reason):
            JournalRecord(
                .disk,
                .error,
                "the disk is full: writes are refused",
                [.reason: FieldValue("full"), .detail: FieldValue(reason)]
            )
        case .diskHasRoom:
            JournalRecord(
                .disk,
                .notice,
                "the disk has room again",
                [.reason: FieldValue("room")]
            )
        case .swept(let files, let uploads):
            JournalRecord(
                .sweep,
                .notice,
                "corpses were removed",
                [
                    .files: FieldValue(files + uploads),
                    .detail: FieldValue("\(files) files, \(uploads) uploads"),
                ]
            )
        case .diverged, .converged, .lagging, .caughtUp: mirrorRecord
        }
    }

    private var mirrorRecord: JournalRecord {
        switch self {
        case .diverged(let database, let txid, let expected, let actual):
            return JournalRecord(
                .mirror,
                .error,
                "the live copy differs from its writer's database",
                [
                    .reason: FieldValue("diverged"), .database: FieldValue(database),
                    .txid: FieldValue(describing: txid),
                    .detail: FieldValue("checksum \(actual), the writer says \(expected)"),
                ]
            )
        case .lagging(let database, let applied, let bucket, let holder, let why):
            var record = JournalRecord(
                .mirror,
                .warning,
                "the live copy does not follow",
                [
                    .reason: FieldValue("lagging"), .database: FieldValue(database),
                    .txid: FieldValue(describing: applied),
                    .remoteTXID: FieldValue(describing: bucket),
                ]
            )
            if let holder { record[.lockHolder] = FieldValue(Int(holder)) }
            if let why { record[.detail] = FieldValue(why) }
            return record
        case .converged(let database, let txid):
            return JournalRecord(
                .mirror,
                .notice,
                "the live copy is its writer's database again",
                [
                    .reason: FieldValue("converged"), .database: FieldValue(database),
                    .txid: FieldValue(describing: txid),
                ]
            )
        case .caughtUp(let database, let txid):
            return JournalRecord(
                .mirror,
                .notice,
                "the live copy has caught up",
                [
                    .reason: FieldValue("caught-up"), .database: FieldValue(database),
                    .txid: FieldValue(describing: txid),
                ]
            )
        default:
            preconditionFailure("not about a mirror")
        }
    }
}
