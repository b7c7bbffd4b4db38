package import DurableFiles
public import SQLiteWAL

/// Up to where a database has been read.
public enum Place: Equatable, Sendable {
    /// Behind a frame of a WAL generation.
    case cursor(WALCursor)
    /// There was no WAL, or an empty one: all is in the database file, which looked like this.
    case atRest(FileFingerprint)
    /// Nowhere: what is new must be found by comparing.
    case unknown
}

/// What tells whether anybody wrote to a file, without reading it.
///
/// The change time cannot be set by a program, but it ticks in steps of some milliseconds: a
/// fingerprint is worth something only if it was taken well after the last change, see
/// `isSettled`.
public struct FileFingerprint: Equatable, Sendable {
    let identity: FileIdentity
    let sizeInBytes: Int64
    let modifiedNanoseconds: Int64
    let changedNanoseconds: Int64

    package init(
        identity: FileIdentity,
        sizeInBytes: Int64,
        modifiedNanoseconds: Int64,
        changedNanoseconds: Int64
    ) {
        self.identity = identity
        self.sizeInBytes = sizeInBytes
        self.modifiedNanoseconds = modifiedNanoseconds
        self.changedNanoseconds = changedNanoseconds
    }

    init(_ status: FileStatus) {
        self.init(
            identity: status.identity,
            sizeInBytes: status.sizeInBytes,
            modifiedNanoseconds: status.modifiedNanoseconds,
            changedNanoseconds: status.changedNanoseconds
        )
    }

    /// Whether a later change is sure to show, the clock's step being at most 10 ms.
    ///
    /// A change that seems to lie ahead is from before the clock was set back, and the next one will
    /// have another time, too.
    package func isSettled(at nanoseconds: Int64) -> Bool {
        let distance = nanoseconds.subtractingReportingOverflow(changedNanoseconds).partialValue
        return distance.magnitude > 20_000_000
    }
}
