import Bucket
import DurableFiles
import LTXCodec

extension Session {
    /// Whether the local files above a TXID lead without a gap to the newest one.
    func leads(from txid: TXID) throws -> Bool {
        guard state.made.txid > txid else { return state.made.txid == txid }
        var reached = txid
        for file in try meta.files() where file.maxTXID > txid && file.maxTXID <= state.made.txid {
            guard file.minTXID <= reached.next else { return false }
            reached = file.maxTXID
        }
        return reached == state.made.txid
    }

    /// Forgets the chain: the next sync is a snapshot that begins a new one.
    func startOver(_ reason: SnapshotReason) throws {
        try discardFiles()
        state.made = ReplicatorState.Made(txid: .zero, place: .unknown)
        pending = .snapshot(reason)
        try saveState()
    }

    /// Continues a bucket's head; what was made on another base is given up.
    ///
    /// It is in the database, and the next sync finds it again.
    /// - Parameters:
    ///   - head: The bucket's.
    ///   - ledger: What it holds there; `nil` where that cannot be read.
    ///   - reason: For the record.
    /// - Throws: `FileError`.
    func adopt(head: TXID, ledger: PageLedger?, reason: LostPlace) throws {
        try discardFiles()
        if let ledger { try replaceLedger(with: ledger) }
        state.made = ReplicatorState.Made(
            txid: head,
            place: .unknown,
            checksum: ledger?.checksum ?? .none
        )
        pending = ledger == nil ? .snapshot(.bucketBroken) : .compare(reason)
    }

    private func discardFiles() throws(FileError) {
        for file in try meta.files() {
            try DurableFiles.remove(meta.path(level: file.level, name: file.name))
        }
        reloadLedger()
    }

    /// Deletes local files that the bucket has, but for the newest, which marks the place.
    func prune(for bucket: any BucketClient) throws(FileError) {
        guard let acknowledged = acknowledged(by: bucket)?.txid else { return }
        for file in try meta.files().dropLast() where file.maxTXID <= acknowledged {
            try DurableFiles.remove(meta.path(level: file.level, name: file.name))
        }
    }
}
