import Bucket
import DurableFiles
public import LTXCodec
import SQLiteWAL

/// What the files beside a database say about its replication, without opening the database.
public struct ReplicatorStatus: Sendable {
    public var lineage: String
    /// The newest local TXID, and the highest that was ever seen here or in a bucket.
    public var txid: TXID
    public var highest: TXID
    /// What each bucket, by its address, is known to hold.
    public var acknowledged: [String: TXID]
    public var streak: RetryStreak
    /// `cursor`, `at-rest` or `unknown`; of a cursor the frames read of the WAL's generation.
    public var place: String
    public var framesRead: UInt32?
    public var localFiles: [BacklogFile]
    public var walBytes: Int64
    public var databaseBytes: Int64

    /// A local LTX file.
    public struct BacklogFile: Sendable {
        public var maxTXID: TXID
        public var sizeInBytes: Int64
    }

    /// The directory beside a database that holds what is on its way to a bucket.
    public static func directory(of database: String) -> String {
        MetaDirectory(database: database).path
    }

    /// Reads it; `nil` for a database that was never replicated.
    ///
    /// - Throws: `FileError`; an error that says why the state file cannot be used.
    public static func read(database: String) throws -> ReplicatorStatus? {
        let meta = MetaDirectory(database: database)
        guard var state = try StateFile(path: meta.statePath).load() else { return nil }
        // As an opening replicator would find it.
        if let making = state.making, try meta.holds(making) { state.made = making.made }
        var status = ReplicatorStatus(
            lineage: state.lineage,
            txid: state.made.txid,
            highest: state.highest,
            acknowledged: state.acknowledged.mapValues(\.txid),
            streak: state.streak,
            place: "unknown",
            localFiles: try meta.files().map {
                BacklogFile(maxTXID: $0.maxTXID, sizeInBytes: $0.sizeInBytes)
            },
            walBytes: try FileStatus.of(database + "-wal")?.sizeInBytes ?? 0,
            databaseBytes: try FileStatus.of(database)?.sizeInBytes ?? 0
        )
        switch state.made.place {
        case .unknown: break
        case .atRest: status.place = "at-rest"
        case .cursor(let cursor):
            status.place = "cursor"
            status.framesRead = cursor.nextFrame - 1
        }
        return status
    }

    /// Files that a bucket has not accepted.
    public func backlog(for address: String) -> [BacklogFile] {
        let head = acknowledged[address] ?? .zero
        return localFiles.filter { $0.maxTXID > head }
    }
}
