import Bucket
import DurableFiles
import LTXCodec
import Replica

extension Replicator {
    /// Compares the bucket with what it acknowledged, and makes the next sync repair what differs.
    ///
    /// Reads only; the state remembers the outcome.
    ///
    /// - Throws: `ReplicationError.conflict`, `BucketError`, `FileError`.
    func checkLineage(
        _ session: Session,
        notes: inout [String]
    ) async throws -> LineageFinding {
        let head = try await bucket.head()
        let acknowledged = session.acknowledged(by: bucket)
        session.state.highest = max(session.state.highest, head)
        let finding = LineageFinding(
            acknowledged: acknowledged?.txid,
            head: head,
            headIsAcknowledged: try await isHead(head, acknowledged),
            newerAreOurs: try await isOurs(
                session,
                from: acknowledged?.txid ?? .zero,
                through: head
            ),
            reachesHead: try await reaches(head)
        )
        if !finding.isSound, options.onConflict == .stop {
            throw ReplicationError.conflict(finding, bucket: bucket.address.description)
        }
        switch finding {
        case .agrees: break
        case .acknowledgementLost:
            session.state.acknowledged[bucket.address.description] = .init(
                txid: head,
                fileChecksum: try await headChecksum(head) ?? .none
            )
            try session.saveState()
        case .fresh:
            if session.state.made.txid > .zero, try !session.leads(from: .zero) {
                try session.startOver(.first)
            }
        case .wiped:
            session.state.acknowledged[bucket.address.description] = nil
            try session.startOver(.bucketWiped)
        case .adopted, .ahead, .behind, .reseeded, .broken:
            notes.append(
                "the bucket's head is \(head), "
                    + "\(acknowledged.map { "\($0.txid)" } ?? "nothing") was acknowledged "
                    + "(\(finding.rawValue))"
            )
            try await adopt(session, head: head, reason: .bucketChanged, notes: &notes)
        }
        if finding.isSound, head > .zero, try !session.leads(from: head) {
            notes.append("local files behind \(head) are missing or unusable")
            try await adopt(session, head: head, reason: .noPlace, notes: &notes)
        }
        session.isLineageChecked = true
        return finding
    }

    /// Syncs, and finds another base where the place is lost and the ledger too.
    func syncHealing(
        _ session: Session,
        _ record: inout PushRecord,
        bucketIsReachable: Bool
    ) async throws {
        do {
            record.syncs.append(try sync(session))
        } catch let needs as NeedsLedger {
            record.notes.append("\(needs.problem)")
            let head = session.acknowledged(by: bucket)?.txid ?? .zero
            if bucketIsReachable, head > .zero {
                try await adopt(session, head: head, reason: needs.reason, notes: &record.notes)
            } else {
                session.pending = .snapshot(.noLedger)
            }
            record.syncs.append(try sync(session))
        }
    }

    /// Begins again after a backlog was given up, now that the bucket can be compared with.
    func resume(_ session: Session, _ record: inout PushRecord) async throws {
        session.state.isGivenUp = false
        if let head = session.acknowledged(by: bucket)?.txid {
            try await adopt(session, head: head, reason: .backlogGivenUp, notes: &record.notes)
        } else {
            try session.startOver(.first)
        }
    }

    /// Makes what the bucket holds the base of the next file.
    ///
    /// The ledger is computed from the bucket's own files, so the next sync compares with what is
    /// really there; nothing is spliced. A bucket that cannot be restored gets a snapshot.
    private func adopt(
        _ session: Session,
        head: TXID,
        reason: LostPlace,
        notes: inout [String]
    ) async throws {
        let checksum = try await headChecksum(head) ?? .none
        do {
            let ledger = try await BucketLedger.compute(bucket, at: head)
            try session.adopt(head: head, ledger: ledger, reason: reason)
        } catch let error as RestoreError {
            notes.append("the bucket cannot be read to its head: \(error)")
            try session.adopt(head: head, ledger: nil, reason: reason)
        }
        session.state.acknowledged[bucket.address.description] = .init(
            txid: head,
            fileChecksum: checksum
        )
        try session.saveState()
    }

    /// Whether the bucket's files lead to its head without a gap, by their names.
    ///
    /// One that was emptied while a file was on its way has a head like any other.
    private func reaches(_ head: TXID) async throws -> Bool {
        guard head > .zero else { return true }
        let listing = try await bucket.listAll()
        return (try? RestorePlan(for: .txid(head), in: listing)) != nil
    }

    /// Whether the head is the file that was acknowledged; one that was compacted counts as it.
    private func isHead(
        _ head: TXID,
        _ acknowledged: ReplicatorState.Acknowledged?
    ) async throws -> Bool {
        guard let acknowledged, acknowledged.txid == head else { return false }
        guard let checksum = try await headChecksum(head) else { return true }
        return acknowledged.fileChecksum == .none || checksum == acknowledged.fileChecksum
    }

    /// The file checksum of the newest level-0 file; `nil` if the head is on a higher level only.
    private func headChecksum(_ head: TXID) async throws -> Checksum? {
        guard let file = try await bucket.list(level: 0).last(where: { $0.maxTXID == head }) else {
            return nil
        }
        return try await inspect(file)?.fileChecksum
    }

    /// `nil` for a file that is no LTX file.
    private func inspect(
        _ file: BucketFile
    ) async throws -> (header: LTXHeader, fileChecksum: Checksum)? {
        let reader = try await bucket.open(file)
        do {
            return try inspectLTX(sizeInBytes: reader.sizeInBytes) {
                try reader.read(at: $0, into: $1)
            }
        } catch is LTXError {
            return nil
        }
    }

    /// Whether all that the bucket holds above a TXID are local files, byte for byte.
    private func isOurs(
        _ session: Session,
        from acknowledged: TXID,
        through head: TXID
    ) async throws -> Bool {
        guard head > acknowledged else { return false }
        var reached = acknowledged
        for level in MetaDirectory.levels {
            for file in try await bucket.list(level: level) where file.maxTXID > acknowledged {
                let path = session.meta.path(level: level, name: file.name)
                guard let local = try FileStatus.of(path),
                    local.sizeInBytes == file.sizeInBytes,
                    let theirs = try await inspect(file),
                    let ours = try? session.meta.inspect(file),
                    ours == theirs, file.maxTXID <= session.state.made.txid
                else { return false }
                reached = max(reached, file.maxTXID)
            }
        }
        return reached == head
    }

    /// Whether the bucket still has what it acknowledged, and nothing more.
    ///
    /// - Returns: `false` when its lineage must be looked at again.
    func isHeadConfirmed(_ session: Session) async throws -> Bool {
        let head = try await bucket.head()
        guard let acknowledged = session.acknowledged(by: bucket) else { return head == .zero }
        guard head == acknowledged.txid else { return false }
        // The same TXID can be another file. Once it was compacted there is none to compare.
        guard acknowledged.fileChecksum != .none,
            let newest = try session.meta.files().last(where: { $0.maxTXID == head }),
            let theirs = try await bucket.stat(level: newest.level, name: newest.name)
        else { return true }
        return try await inspect(theirs)?.fileChecksum == acknowledged.fileChecksum
    }

    // MARK: Upload

    /// Ships the backlog in TXID order; each acceptance is durable here before the next file.
    ///
    /// - Returns: Whether what it built on, and all it shipped, is still there afterwards. A bucket
    ///   that is emptied between the look at its head and the upload would otherwise hold files
    ///   that lead nowhere, below a head that agrees.
    func upload(_ session: Session, _ record: inout PushRecord) async throws -> Bool {
        let base = session.acknowledged(by: bucket)?.txid ?? .zero
        var needed = try session.meta.files().filter { $0.maxTXID == base }
        for file in try session.backlog(for: bucket) {
            needed.append(file)
            try Task.checkCancellation()
            let path = session.meta.path(level: file.level, name: file.name)
            let facts = try session.meta.inspect(file)
            try await bucket.put(path, as: file)
            session.state.acknowledged[bucket.address.description] = .init(
                txid: file.maxTXID,
                fileChecksum: facts.fileChecksum
            )
            try session.saveState()
            record.files += 1
            record.bytes += file.sizeInBytes
            record.pages += session.pagesOfFiles[file.maxTXID] ?? 0
        }
        if needed.count > 1 || base == .zero {
            for file in needed
            where try await bucket.stat(level: file.level, name: file.name) == nil {
                return false
            }
        }
        try session.prune(for: bucket)
        return true
    }
}
