package import LTXCodec

/// What a mirror holds and what it lacks, each read from the thing itself.
package struct MirrorStatus: Sendable, Equatable {
    /// Who brought the mirror to its state.
    package enum Writer: UInt8, Sendable {
        case replication = 1
        case ingest = 2

        package var name: String { self == .replication ? "replication" : "ingest" }
    }

    /// The mirror's database is not the one its writer has.
    package struct Divergence: Sendable, Equatable {
        package let txid: TXID
        /// What the writer said the checksum is.
        package let expected: Checksum
        /// What the mirror's pages give.
        package let actual: Checksum

        package init(txid: TXID, expected: Checksum, actual: Checksum) {
            self.txid = txid
            self.expected = expected
            self.actual = actual
        }
    }

    /// The state that readers of the mirror see; `.zero` while it is empty.
    package var appliedTXID = TXID.zero
    /// Header timestamp of that state, milliseconds since 1970.
    package var timestamp: Int64 = 0
    /// When it was applied, milliseconds since 1970; `nil` for never.
    package var appliedAt: Int64?
    package var writer: Writer?
    package var pageSize: UInt32 = 0
    /// Size in pages.
    package var commit: UInt32 = 0
    /// Rolling checksum of the database.
    package var checksum = Checksum.none

    /// The bucket's highest TXID, as the mirror last saw it.
    package var bucketTXID = TXID.zero
    /// The bucket holds nothing while the mirror does: it was wiped, and the mirror is all there is.
    package var isBucketEmpty = false
    /// TXIDs that the bucket has and the mirror has not.
    package var lag: UInt64 {
        bucketTXID > appliedTXID ? bucketTXID.rawValue - appliedTXID.rawValue : 0
    }

    /// What the mirror holds is no state of the bucket, and is about to be replaced by one.
    package var mustRestart = false
    package var divergence: Divergence?
    /// Who keeps an apply waiting now.
    package var blockedBy: LockHolder?
    /// Why the last try to advance failed; `nil` after one that did not.
    package var failure: String?

    package init() {}
}
