public import DurableFiles
public import LTXCodec

/// What a replicator must still know after a kill: its place, and what the bucket acknowledged.
///
/// Local and acknowledged TXIDs are separate facts. A file is being made in two steps, because a
/// kill can fall between its rename and whatever is written about it: `making` says what holds
/// *if* the file is there.
public struct ReplicatorState: Equatable, Sendable {
    /// The TXID that the next file continues, and the place behind it.
    public struct Made: Equatable, Sendable {
        public var txid: TXID
        public var place: Place
        /// The database checksum at that TXID; `.none` where it was not known.
        public var checksum: Checksum
        /// What the database file looked like when all up to the place was copied back into it,
        /// and nothing else yet.
        public var sealed: FileFingerprint?

        public init(txid: TXID, place: Place, checksum: Checksum = .none) {
            self.txid = txid
            self.place = place
            self.checksum = checksum
        }
    }

    /// A file whose rename may or may not have happened.
    public struct Making: Equatable, Sendable {
        public var level: Int
        public var name: LTXFileName
        /// Which file: an attempt that failed may have left another one under the name.
        public var fileChecksum: Checksum
        public var made: Made

        public init(level: Int, name: LTXFileName, fileChecksum: Checksum, made: Made) {
            self.level = level
            self.name = name
            self.fileChecksum = fileChecksum
            self.made = made
        }
    }

    /// The newest file that a bucket took: its TXID, and its checksum to know it again by.
    public struct Acknowledged: Equatable, Sendable {
        public var txid: TXID
        public var fileChecksum: Checksum
        /// The id under which a server keeps this history; `nil` where it keeps none.
        public var lineage: String?

        public init(txid: TXID, fileChecksum: Checksum, lineage: String? = nil) {
            self.txid = txid
            self.fileChecksum = fileChecksum
            self.lineage = lineage
        }
    }

    /// 32 hexadecimal digits that name one unbroken history of one database by one writer.
    public var lineage: String
    public var database: FileIdentity
    public var made: Made
    public var making: Making?
    /// The highest TXID that was ever seen here or in a bucket: the next file ends above it.
    public var highest: TXID
    /// By bucket address.
    public var acknowledged: [String: Acknowledged]
    public var streak: RetryStreak
    /// The backlog was given up: the next sync waits for a bucket to compare with.
    public var isGivenUp = false

    public init(lineage: String, database: FileIdentity) {
        self.lineage = lineage
        self.database = database
        made = Made(txid: .zero, place: .unknown)
        highest = .zero
        acknowledged = [:]
        streak = RetryStreak()
    }
}
