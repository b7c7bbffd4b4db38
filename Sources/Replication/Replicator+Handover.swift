import Bucket
import DurableFiles
import Handover
import LTXCodec
import Replica

/// The agent's side of the transfer service (docs/transfer.md).
extension Replicator {
    /// Takes the right to upload, where it is shared with a transfer service.
    func claimDestination(_ record: inout PushRecord, handOver: Bool) -> DestinationClaim {
        guard let path = options.spool else { return .unshared }
        let spool = Spool(path)
        do {
            try spool.make()
            let attempt = try DestinationLock.attempt(spool.lockPath(destination))
            switch attempt {
            case .taken(let lock):
                if handOver { record.handover = HandoverReport(cause: .asked) }
                return .ours(lock, spool, handsOver: handOver)
            case .held(let processID):
                record.handover = HandoverReport(cause: .transferAtWork, holder: processID)
                return .theirs(spool)
            }
        } catch {
            return claimUnusable(spool, error, &record, handOver: handOver)
        }
    }

    /// A spool that cannot be made whole may still have a lock that somebody holds.
    private func claimUnusable(
        _ spool: Spool,
        _ error: any Error,
        _ record: inout PushRecord,
        handOver: Bool
    ) -> DestinationClaim {
        record.notes.append("the spool cannot be used, nothing is handed over: \(error)")
        switch try? DestinationLock.attempt(spool.lockPath(destination)) {
        case .held(let processID):
            record.handover = HandoverReport(cause: .transferAtWork, holder: processID)
            return .theirs(spool)
        case .taken(let lock): return .ours(lock, spool, handsOver: false)
        case nil: return .unshared
        }
    }

    private var destination: String { bucket.address.description }

    // MARK: Receipts

    /// Reads what the transfer service has left, and asks the bucket before believing it.
    ///
    /// - Returns: Whether a file was refused, so that the lineage must be looked at.
    func reconcile(
        _ session: Session,
        _ record: inout PushRecord,
        _ claim: DestinationClaim
    ) async throws -> Bool {
        guard let spool = claim.spool else { return false }
        let found: Reconciliation
        do {
            found = Reconciliation(
                try spool.receipts(),
                destination: destination,
                writer: session.state.lineage,
                acknowledged: session.acknowledged(by: bucket)?.txid ?? .zero
            )
        } catch {
            record.notes.append("the receipts in the spool cannot be read: \(error)")
            return false
        }
        var isConfirmed = false
        if let claimed = found.claim {
            do {
                isConfirmed = try await hurrying(claim.handsOver) {
                    try await self.word(on: claimed).confirms(claimed)
                }
            } catch {
                // Offline it stays as it is: what is stored is not sent again by a hand-over.
                record.notes.append("a receipt could not be confirmed yet: \(error)")
            }
            if isConfirmed {
                try stamp(session, claimed)
            } else if claim.maySend {
                session.isLineageChecked = false
            }
        }
        record.receipts = found.news.map { receipt in
            ReceiptReport(
                txid: receipt.file.maxTXID,
                outcome: receipt.outcome.name,
                reason: receipt.outcome.reason,
                detail: receipt.outcome.detail,
                isConfirmed: isConfirmed && receipt.isStored
            )
        }
        if found.isInDoubt { session.isLineageChecked = false }
        return found.isInDoubt
    }

    /// What the bucket itself says about a receipt.
    private func word(on receipt: Receipt) async throws -> BucketWord {
        let condition = try await condition()
        guard condition.head == receipt.file.maxTXID else {
            return BucketWord(head: condition.head, lineage: nil, headChecksum: nil)
        }
        if live != nil, let lineage = condition.lineage {
            return BucketWord(
                head: condition.head,
                lineage: lineage,
                headChecksum: condition.headChecksum
            )
        }
        return BucketWord(
            head: condition.head,
            lineage: condition.lineage,
            headChecksum: try await headChecksum(condition),
            reachesHead: try await reaches(condition.head)
        )
    }

    private func stamp(_ session: Session, _ receipt: Receipt) throws {
        session.state.acknowledged[destination] = .init(
            txid: receipt.file.maxTXID,
            fileChecksum: receipt.fileChecksum,
            lineage: live == nil ? nil : receipt.lineage
        )
        session.state.highest = max(session.state.highest, receipt.file.maxTXID)
        session.takesOver = false
        try session.saveState()
        try session.prune(for: bucket)
    }

    /// A push that shall return at once does not wait long for a server.
    private func hurrying<R: Sendable>(
        _ isHurried: Bool,
        _ body: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        guard isHurried else { return try await body() }
        return try await withThrowingTaskGroup { group in
            group.addTask { try await body() }
            group.addTask {
                try await ThreadClock().sleep(for: .seconds(3))
                throw CancellationError()
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }

    // MARK: Handing over

    /// Whether the bucket must be asked before anything more is handed over.
    ///
    /// What follows an acknowledged file may go on its way unasked: whoever puts it into the bucket
    /// compares.
    func mustAsk(_ session: Session, isInDoubt: Bool) -> Bool {
        isInDoubt || session.state.isGivenUp || session.acknowledged(by: bucket) == nil
            || !session.canSyncAlone
    }

    /// Puts into the spool what the bucket does not have and nobody was told of.
    ///
    /// - Returns: `false` when that cannot be done, and this process may send it itself.
    func handOver(
        _ session: Session,
        _ record: inout PushRecord,
        _ claim: DestinationClaim
    ) throws -> Bool {
        guard let spool = claim.spool else { return false }
        record.outcome = .inSync(verified: false)
        return try progress.during("handing over") {
            try add(session, &record, spool, maySend: claim.maySend)
        }
    }

    private func add(
        _ session: Session,
        _ record: inout PushRecord,
        _ spool: Spool,
        maySend: Bool
    ) throws -> Bool {
        do {
            for manifest in try manifests(session) {
                guard try !spool.knows(manifest.key) else { continue }
                let file = manifest.file
                if postponesSnapshots, file.minTXID == TXID(1) { throw ReplicationError.postponed }
                try spool.add(session.meta.path(level: file.level, name: file.name), manifest)
                record.handover?.files += 1
                record.handover?.bytes += file.sizeInBytes
            }
        } catch let error as FileError {
            guard maySend else { throw ReplicationError.spool(error) }
            record.notes.append("nothing can be handed over, it is sent from here: \(error)")
            return false
        }
        return true
    }

    /// Hands over what a process at rest has converted last, without asking anybody.
    ///
    /// What is not possible so the next push does, and says.
    ///
    /// - Returns: What was handed over, if anything.
    func handOverRest(_ session: Session) -> HandoverReport? {
        var record = PushRecord()
        guard options.spool != nil, session.acknowledged(by: bucket) != nil else { return nil }
        let claim = claimDestination(&record, handOver: true)
        defer { claim.release() }
        guard claim.handsOver else { return nil }
        _ = try? handOver(session, &record, claim)
        return record.handover
    }

    /// A manifest for each file of the backlog, in order.
    private func manifests(_ session: Session) throws -> [Manifest] {
        let acknowledged = session.acknowledged(by: bucket)
        var head = Manifest.Head(
            txid: acknowledged?.txid ?? .zero,
            fileChecksum: acknowledged?.fileChecksum ?? .none
        )
        var manifests: [Manifest] = []
        for file in try session.backlog(for: bucket) {
            let checksum = try session.meta.inspect(file).fileChecksum
            manifests.append(
                Manifest(
                    destination: destination,
                    writer: session.state.lineage,
                    lineage: session.lineage(for: bucket),
                    file: file,
                    fileChecksum: checksum,
                    databaseChecksum: session.checksumsOfFiles[file.maxTXID]
                        ?? session.checksum(at: file),
                    after: head,
                    takesOver: session.takesOver && manifests.isEmpty
                )
            )
            head = Manifest.Head(txid: file.maxTXID, fileChecksum: checksum)
        }
        return manifests
    }

    /// Takes out of the spool what is not owed any more, and what was refused.
    ///
    /// A spool that does not let itself be tidied costs a note: whatever is in it is compared with
    /// the bucket before it gets there.
    func tidySpool(
        _ session: Session,
        _ record: inout PushRecord,
        _ claim: DestinationClaim,
        afterLook: Bool
    ) {
        guard case .ours(_, let spool, _) = claim else { return }
        do {
            guard try spool.isInUse else { return }
            let acknowledged = session.acknowledged(by: bucket)?.txid ?? .zero
            let owed = try manifests(session).map(\.key)
            let writer = session.state.lineage
            try spool.withdraw { manifest in
                manifest.writer == writer && manifest.destination == destination
                    && owed.contains(manifest.key)
            } keepsReceipt: { receipt in
                // One that could not be confirmed; after a look all is known.
                !afterLook && receipt.isStored && receipt.writer == writer
                    && receipt.file.maxTXID > acknowledged
            }
        } catch {
            record.notes.append("the spool could not be tidied: \(error)")
        }
    }

    /// Whether files of the backlog are in the spool.
    func holdsFiles(_ session: Session) throws -> Bool {
        guard let path = options.spool else { return false }
        let spool = Spool(path)
        return try manifests(session).contains { try spool.knows($0.key) }
    }
}

extension Session {
    /// Whether a sync needs no bucket: the place is known, or can be found by the ledger.
    var canSyncAlone: Bool {
        if state.made.place != .unknown, pending == nil { return true }
        if state.made.txid == .zero { return true }
        if case .success = ledger() { return true }
        return false
    }
}
