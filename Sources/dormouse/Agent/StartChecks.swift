import Lifecycle
import Replication
import SQLiteBridge
import Telemetry

/// What a resident replicator looks at before and after it opens a database.
enum StartChecks {
    /// Says once that somebody else has the database open, and what that can mean.
    static func warnAboutOpeners(_ replicator: Replicator, _ journal: Journal) async {
        guard let processID = await replicator.otherOpener() else { return }
        var record = JournalRecord(
            .start,
            .warning,
            "another process has the database open and may checkpoint it",
            [.detail: FieldValue("process \(processID)")]
        )
        if SQLiteLibrary.hasWALResetRace {
            record[.reason] = FieldValue(
                "SQLite \(SQLiteLibrary.version) has a race between two checkpointers, fixed in "
                    + "3.51.3: let nobody else checkpoint"
            )
        }
        journal.write(record)
    }
}
