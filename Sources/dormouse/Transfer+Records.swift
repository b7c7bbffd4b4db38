import Bucket
import Handover
import Replication
import Telemetry

extension Receipt.Outcome {
    /// The outcome as the records of pushes name it.
    var recordName: String {
        switch self {
        case .stored: "pushed"
        case .retryable, .conflict: "retryable"
        case .unavailable: "unavailable"
        }
    }

    var priority: Priority {
        switch self {
        case .stored: .info
        case .retryable, .conflict: .warning
        case .unavailable: .error
        }
    }
}

extension TransferEvent {
    var journalRecord: JournalRecord {
        switch self {
        case .upload(let report): report.journalRecord
        case .setAside(let name, let target, let why):
            JournalRecord(
                .repair,
                .warning,
                "something in the spool was set aside",
                [
                    .file: FieldValue(name), .reason: FieldValue(why),
                    .detail: FieldValue("it is now \(target)"),
                ]
            )
        case .locked(let processID):
            JournalRecord(
                .waiting,
                .info,
                "somebody else uploads to this destination",
                processID.map { [.lockHolder: FieldValue(Int($0))] } ?? [:]
            )
        }
    }
}

extension UploadReport {
    fileprivate var journalRecord: JournalRecord {
        let file = manifest.file
        var record = JournalRecord(.upload, outcome.priority, "upload ended")
        record[.outcome] = FieldValue(outcome.recordName)
        record[.reason] = outcome.reason.map { FieldValue($0) }
        record[.detail] = FieldValue(outcome.detail)
        record[.txid] = FieldValue(describing: file.maxTXID)
        record[.file] = FieldValue(describing: file)
        if case .stored = outcome {
            record[.files] = FieldValue(1)
            record[.bytes] = FieldValue(file.sizeInBytes)
        }
        record[.lineage] = FieldValue(manifest.writer)
        record[.durationUsec] = FieldValue(microseconds: duration)
        return record
    }
}

extension ReceiptReport {
    var journalRecord: JournalRecord {
        let isStored = outcome == "stored"
        var record = JournalRecord(
            .receipt,
            isStored ? .info : outcome == "unavailable" ? .error : .warning,
            "a receipt of the transfer service was read"
        )
        record[.outcome] = FieldValue(
            isStored ? "pushed" : outcome == "unavailable" ? outcome : "retryable"
        )
        record[.reason] = FieldValue(
            reason ?? (isConfirmed ? "confirmed" : "not-confirmed")
        )
        record[.detail] = FieldValue(detail)
        record[.txid] = FieldValue(describing: txid)
        return record
    }
}

extension HandoverReport {
    func journalRecord(txid: some CustomStringConvertible) -> JournalRecord {
        var record = JournalRecord(
            .handover,
            .info,
            "files were handed over to the transfer service",
            [
                .reason: FieldValue(cause.rawValue),
                .spooledFiles: FieldValue(files),
                .spooledBytes: FieldValue(bytes),
                .txid: FieldValue(describing: txid),
            ]
        )
        record[.lockHolder] = holder.map { FieldValue(Int($0)) }
        return record
    }
}
