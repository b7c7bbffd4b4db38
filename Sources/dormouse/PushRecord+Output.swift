import CommandLineKit
import LTXCodec
import Replication
import SQLiteBridge
import Telemetry
import Wire

extension PushRecord {
    /// The journal records of one push: the push itself, and before it what was out of the
    /// ordinary.
    func journalRecords() -> [JournalRecord] {
        var records = notes.map(noteRecord)
        if let finding = lineageFinding, !finding.isSound {
            records.append(
                JournalRecord(
                    .lineage,
                    .warning,
                    "the bucket was not as it was left",
                    [
                        .reason: FieldValue(finding.rawValue),
                        .remoteTXID: FieldValue(describing: remoteTXID),
                    ]
                )
            )
        }
        for sync in syncs { records += sync.journalRecords() }
        records += backlogEvents.map(\.journalRecord)
        records += receipts.map(\.journalRecord)
        if let handover, handover.files > 0 || handover.cause == .transferAtWork {
            records.append(handover.journalRecord(txid: txid))
        }
        if let checkpoint { records.append(checkpoint.journalRecord(walBytes: walBytes)) }
        if let ingest { records.append(ingest.journalRecord) }
        switch outcome {
        case .unavailable(.databaseMissing, let detail), .unavailable(.databaseEmpty, let detail):
            records.append(
                JournalRecord(
                    .waiting,
                    .notice,
                    "waiting for the database",
                    [.detail: FieldValue(detail)]
                )
            )
        default: break
        }
        records.append(pushRecord)
        return records
    }

    private var pushRecord: JournalRecord {
        var record = JournalRecord(.push, priority, "push ended")
        record[.outcome] = FieldValue(outcome.name)
        record[.reason] = outcome.reason.map { FieldValue($0) }
        record[.detail] = outcome.detail.isEmpty ? nil : FieldValue(outcome.detail)
        record[.syncKind] = FieldValue(kind.name)
        record[.evidence] = evidence.map { FieldValue($0) }
        record[.txid] = FieldValue(describing: txid)
        record[.remoteTXID] = FieldValue(describing: remoteTXID)
        record[.files] = FieldValue(files)
        record[.bytes] = FieldValue(bytes)
        record[.pages] = FieldValue(pages)
        record[.backlogFiles] = FieldValue(backlogFiles)
        record[.backlogBytes] = FieldValue(backlogBytes)
        record[.spooledFiles] = handover.map { FieldValue($0.files) }
        record[.spooledBytes] = handover.map { FieldValue($0.bytes) }
        record[.walBytes] = FieldValue(walBytes)
        if case .snapshot(let reason) = kind {
            record[.snapshotReason] = FieldValue(reason.rawValue)
        }
        record[.streak] = FieldValue(streak.count)
        record[.lineage] = lineage.isEmpty ? nil : FieldValue(lineage)
        record[.lockUsec] = checkpoint.map { FieldValue(microseconds: $0.lockHeld) }
        record[.durationUsec] = FieldValue(microseconds: duration)
        record[.pushID] = FieldValue(id)
        return record
    }

    /// What showed where to read on: the reason of what `kind` says, or else the proof of a restart.
    private var evidence: String? {
        kind.reason ?? syncs.lazy.compactMap(\.proof?.rawValue).last
    }

    private var priority: Priority {
        switch outcome {
        case .pushed, .inSync: .info
        case .retryable: .warning
        case .unavailable(.databaseEmpty, _), .unavailable(.databaseMissing, _),
            .unavailable(.postponed, _):
            .notice
        case .unavailable: .error
        }
    }

    /// One line for a person.
    var line: String {
        var words = [
            outcome.name + (outcome.reason.map { " (\($0))" } ?? ""),
            "txid \(txid)",
            "\(HumanText.count(pages)) pages",
            HumanText.bytes(bytes),
            "WAL \(HumanText.bytes(walBytes))",
        ]
        if kind != .nothing, kind != .wal { words.append("\(kind)") }
        if backlogFiles > 0 {
            words.append("backlog \(backlogFiles) files, \(HumanText.bytes(backlogBytes))")
        }
        if let handover {
            words.append("handed over \(handover.files) files, \(HumanText.bytes(handover.bytes))")
        }
        words.append(HumanText.duration(duration))
        return words.joined(separator: ", ")
    }

    var json: JSONValue {
        .object([
            .init("outcome", .string(outcome.name)),
            .init("reason", .optional(outcome.reason, JSONValue.string)),
            .init(
                "detail",
                .optional(outcome.detail.isEmpty ? nil : outcome.detail, JSONValue.string)
            ),
            .init("sync_kind", .string(kind.name)),
            .init("evidence", .optional(evidence, JSONValue.string)),
            .init("txid", .string("\(txid)")),
            .init("remote_txid", .string("\(remoteTXID)")),
            .init("files", .number(files)),
            .init("bytes", .number(bytes)),
            .init("pages", .number(pages)),
            .init("backlog_files", .number(backlogFiles)),
            .init("backlog_bytes", .number(backlogBytes)),
            .init("spooled_files", .optional(handover) { .number($0.files) }),
            .init("spooled_bytes", .optional(handover) { .number($0.bytes) }),
            .init("wal_bytes", .number(walBytes)),
            .init("database_bytes", .number(databaseBytes)),
            .init("streak", .number(streak.count)),
            .init("lineage", .string(lineage)),
            .init("lineage_finding", .optional(lineageFinding?.rawValue, JSONValue.string)),
            .init("checkpointed", .optional(checkpoint?.result.isComplete, JSONValue.bool)),
            .init(
                "ingest",
                .optional(ingest) { ingest in
                    .object([
                        .init("txid", .string("\(ingest.txid)")),
                        .init("bytes", .number(ingest.bytes)),
                        .init("failure", .optional(ingest.failure, JSONValue.string)),
                    ])
                }
            ),
            .init("duration_usec", .number(Int64(duration / .microseconds(1)))),
            .init("notes", .array(notes.map(JSONValue.string))),
        ])
    }

    /// How a command that pushed once ends.
    var exitCode: ExitCode {
        switch outcome {
        case .pushed, .inSync: .done
        case .retryable: .tryAgain
        case .unavailable(let reason, _):
            switch reason {
            case .bucketDenied, .notABucket, .bucketUnusable, .lineageConflict, .untrusted,
                .unauthorized, .readOnly, .notASink, .wrongProtocol:
                .refused
            case .notConfigured: .usage
            case .postponed: .tryAgain
            case .databaseMissing, .databaseEmpty, .notADatabase, .notWALMode, .databaseDenied,
                .databaseCorrupt, .databaseClaimed:
                .failed
            }
        }
    }
}

private func noteRecord(_ note: String) -> JournalRecord {
    JournalRecord(
        .repair,
        .warning,
        "something had to be set right",
        [.reason: FieldValue(note)]
    )
}

extension Findings {
    /// The records of what no push said.
    func journalRecords() -> [JournalRecord] {
        var records = notes.map(noteRecord)
        for sync in syncs { records += sync.journalRecords() }
        if let handover { records.append(handover.journalRecord(txid: txid)) }
        return records
    }
}

extension IngestReport {
    fileprivate var journalRecord: JournalRecord {
        var record = JournalRecord(
            .ingest,
            failure == nil ? .notice : .warning,
            failure == nil
                ? "the whole database was uploaded as the base of its lineage"
                : "the whole database could not be uploaded"
        )
        record[.txid] = FieldValue(describing: txid)
        record[.bytes] = FieldValue(bytes)
        record[.detail] = failure.map { FieldValue($0) }
        return record
    }
}

extension SyncReport {
    /// What a person should hear of, beside the push that it was part of.
    fileprivate func journalRecords() -> [JournalRecord] {
        switch kind {
        case .nothing, .wal:
            return []
        case .rescan(let reason):
            return [
                JournalRecord(
                    .custodyLost,
                    .notice,
                    "the place in the WAL was lost and found again by comparing pages",
                    [
                        .reason: FieldValue(reason.rawValue),
                        .pages: FieldValue(pages),
                        .bytes: FieldValue(bytes),
                        .txid: FieldValue(describing: txid),
                    ]
                )
            ]
        case .snapshot(let reason):
            return [
                JournalRecord(
                    .snapshot,
                    reason == .first ? .info : .warning,
                    "the whole database had to be shipped",
                    [
                        .snapshotReason: FieldValue(reason.rawValue),
                        .pages: FieldValue(pages),
                        .bytes: FieldValue(bytes),
                        .txid: FieldValue(describing: txid),
                    ]
                )
            ]
        }
    }
}

extension BacklogEvent {
    fileprivate var journalRecord: JournalRecord {
        switch self {
        case .merged(let files, let bytes, let size):
            JournalRecord(
                .backlog,
                .notice,
                "waiting files were merged into one",
                [
                    .outcome: "merged",
                    .files: FieldValue(files),
                    .bytes: FieldValue(bytes),
                    .backlogBytes: FieldValue(size),
                ]
            )
        case .gaveUp(let files, let bytes):
            JournalRecord(
                .backlog,
                .warning,
                "waiting files were given up; the next push that gets through compares",
                [.outcome: "gave-up", .files: FieldValue(files), .bytes: FieldValue(bytes)]
            )
        }
    }
}

extension CheckpointReport {
    fileprivate func journalRecord(walBytes: Int64) -> JournalRecord {
        JournalRecord(
            .checkpoint,
            .debug,
            "checkpoint ended",
            [
                .checkpoint: result.isComplete ? "sealed" : "incomplete",
                .lockUsec: FieldValue(microseconds: lockHeld),
                .walBytes: FieldValue(walBytes),
            ]
        )
    }
}
