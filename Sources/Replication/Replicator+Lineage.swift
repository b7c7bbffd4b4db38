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
        let condition = try await condition()
        let head = condition.head
        guard head <= .limit else {
            throw ReplicationError.headTooHigh(head, bucket: bucket.address.description)
        }
        let acknowledged = session.acknowledged(by: bucket)
        session.state.highest = max(session.state.highest, head)
        let lineageIsOurs = condition.isHeldAs(acknowledged?.lineage)
        let finding = LineageFinding(
            acknowledged: acknowledged?.txid,
            head: head,
            headIsAcknowledged: try await isHead(condition, acknowledged, session),
            newerAreOurs: try await isOurs(
                session,
                from: acknowledged?.txid ?? .zero,
                through: head
            ),
            // A server with a lineage lets nothing through that leaves a gap.
            reachesHead: condition.lineage != nil ? true : try await reaches(head),
            lineageIsOurs: lineageIsOurs,
            wantsRebase: condition.wantsRebase
        )
        if !finding.isSound, options.onConflict == .stop {
            throw ReplicationError.conflict(finding, bucket: bucket.address.description)
        }
        switch finding {
        case .agrees: break
        case .acknowledgementLost:
            session.state.acknowledged[bucket.address.description] = .init(
                txid: head,
                fileChecksum: try await headChecksum(condition) ?? .none,
                lineage: condition.lineage
            )
            try session.saveState()
            try removeStaged(session)
        case .fresh:
            if session.state.made.txid > .zero, try !session.leads(from: .zero) {
                try session.startOver(.first)
            }
        case .wiped:
            session.state.acknowledged[bucket.address.description] = nil
            if live != nil, try session.leads(from: .zero), session.state.made.txid > .zero {
                notes.append("the server is empty; all it had is still here and sent again")
                try session.saveState()
            } else {
                try session.startOver(.bucketWiped)
            }
        case .behind where try canResend(session, condition, notes: &notes):
            break
        case .diverged:
            notes.append("the server's live copy differs from the database at \(head)")
            session.state.acknowledged[bucket.address.description] = .init(
                txid: head,
                fileChecksum: try await headChecksum(condition) ?? .none,
                lineage: condition.lineage
            )
            try session.startOver(.diverged)
        case .adopted, .ahead, .behind, .reseeded, .replaced, .broken:
            notes.append(
                "the bucket's head is \(head), "
                    + "\(acknowledged.map { "\($0.txid)" } ?? "nothing") was acknowledged "
                    + "(\(finding.rawValue))"
            )
            session.takesOver = true
            try await adopt(session, condition, reason: .bucketChanged, notes: &notes)
        }
        if finding.isSound, head > .zero, try !session.leads(from: head) {
            notes.append("local files behind \(head) are missing or unusable")
            try await adopt(session, condition, reason: .noPlace, notes: &notes)
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
                try await adopt(
                    session,
                    try await condition(at: head),
                    reason: needs.reason,
                    notes: &record.notes
                )
            } else {
                session.pending = .snapshot(.noLedger)
            }
            if isSnapshotPostponed(session) { throw ReplicationError.postponed }
            record.syncs.append(try sync(session))
        }
    }

    /// Begins again after a backlog was given up, now that the bucket can be compared with.
    func resume(_ session: Session, _ record: inout PushRecord) async throws {
        session.state.isGivenUp = false
        if let head = session.acknowledged(by: bucket)?.txid {
            try await adopt(
                session,
                try await condition(at: head),
                reason: .backlogGivenUp,
                notes: &record.notes
            )
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
        _ condition: LiveCondition,
        reason: LostPlace,
        notes: inout [String]
    ) async throws {
        let head = condition.head
        let checksum = try await headChecksum(condition) ?? .none
        do {
            let ledger = try await ledger(at: head)
            try session.adopt(head: head, ledger: ledger, reason: reason)
        } catch let error as RestoreError {
            notes.append("the bucket cannot be read to its head: \(error)")
            try session.adopt(head: head, ledger: nil, reason: reason)
        }
        session.state.acknowledged[bucket.address.description] = .init(
            txid: head,
            fileChecksum: checksum,
            lineage: condition.lineage
        )
        try session.saveState()
    }

    /// What the bucket holds at its head: a server that keeps a live copy says so in a small
    /// answer, else the bucket's own files are read.
    private func ledger(at head: TXID) async throws -> PageLedger {
        if let ledger = try await live?.ledger(at: head), ledger.txid == head { return ledger }
        return try await BucketLedger.compute(bucket, at: head)
    }

    /// Goes on from where a server was set back to, if all it lost is still here.
    ///
    /// That what it holds there is our own is known by its lineage; that it is also the same
    /// state, the checksum shows that goes along with the file.
    private func canResend(
        _ session: Session,
        _ condition: LiveCondition,
        notes: inout [String]
    ) throws -> Bool {
        guard condition.lineage != nil, condition.head > .zero,
            try session.leads(from: condition.head)
        else { return false }
        notes.append("the server was set back to \(condition.head); what it lost is sent again")
        session.state.acknowledged[bucket.address.description] = .init(
            txid: condition.head,
            fileChecksum: .none,
            lineage: condition.lineage
        )
        try session.saveState()
        return true
    }

    // MARK: The server

    /// The bucket as one behind a server, if it is.
    var live: (any LiveBucket)? { bucket as? any LiveBucket }

    /// What the bucket holds now.
    func condition() async throws -> LiveCondition {
        if let live { return try await live.condition() }
        return LiveCondition(head: try await bucket.head(), lineage: nil)
    }

    /// What a bucket that still has an acknowledged head says of itself.
    private func condition(at head: TXID) async throws -> LiveCondition {
        guard live != nil else { return LiveCondition(head: head, lineage: nil) }
        let condition = try await condition()
        guard condition.head == head else { throw ReplicationError.bucketKeepsChanging }
        return condition
    }

    /// Whether the bucket's files lead to its head without a gap, by their names.
    ///
    /// One that was emptied while a file was on its way has a head like any other.
    func reaches(_ head: TXID) async throws -> Bool {
        guard head > .zero else { return true }
        let listing = try await bucket.listAll()
        return (try? RestorePlan(for: .txid(head), in: listing)) != nil
    }

    /// Whether the head is the file that was acknowledged; one that was compacted counts as it.
    private func isHead(
        _ condition: LiveCondition,
        _ acknowledged: ReplicatorState.Acknowledged?,
        _ session: Session
    ) async throws -> Bool {
        guard let acknowledged, acknowledged.txid == condition.head else { return false }
        // A new base does not build on what is there.
        if try session.backlog(for: bucket).first?.name.isSnapshot == true { return true }
        return switch try await headFile(condition) {
        case .compacted: true
        case .unusable: false
        case .file(let checksum):
            acknowledged.fileChecksum == .none || checksum == acknowledged.fileChecksum
        }
    }

    /// What the file at a bucket's head shows of itself.
    private enum HeadFile {
        /// It is on a higher level only, where it is not the one that was put there.
        case compacted
        /// It is no LTX file, or not the one of its name.
        case unusable
        case file(Checksum)
    }

    private func headFile(_ condition: LiveCondition) async throws -> HeadFile {
        if let checksum = condition.headChecksum { return .file(checksum) }
        for level in MetaDirectory.levels {
            let files = try await bucket.list(level: level)
            guard let file = files.last(where: { $0.maxTXID == condition.head }) else { continue }
            guard let facts = try await inspect(file), facts.header.fileName == file.name,
                facts.fileChecksum.isPresent
            else { return .unusable }
            return level == 0 ? .file(facts.fileChecksum) : .compacted
        }
        return .compacted
    }

    /// The file checksum of the newest level-0 file; `nil` if the head is on a higher level only,
    /// or cannot be used.
    func headChecksum(_ condition: LiveCondition) async throws -> Checksum? {
        if case .file(let checksum) = try await headFile(condition) { checksum } else { nil }
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
        if try await isOwnImage(session, at: head) { return true }
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

    /// Whether a server's head is a whole database of ours whose answer was lost: it is still
    /// staged here, and the live copy has its checksum.
    private func isOwnImage(_ session: Session, at head: TXID) async throws -> Bool {
        guard let live, let checksum = try stagedChecksum(session, at: head), checksum != .none
        else { return false }
        return try await live.ledger(at: head)?.checksum == checksum
    }

    /// Whether the bucket still has what it acknowledged, and nothing more.
    ///
    /// - Returns: `false` when its lineage must be looked at again.
    func isHeadConfirmed(_ session: Session) async throws -> Bool {
        // A server compares by itself, at the very append.
        if live != nil, try !session.backlog(for: bucket).isEmpty { return true }
        let condition = try await condition()
        let head = condition.head
        guard !condition.wantsRebase,
            condition.isHeldAs(session.acknowledged(by: bucket)?.lineage)
        else { return false }
        guard let acknowledged = session.acknowledged(by: bucket) else { return head == .zero }
        guard head == acknowledged.txid else { return false }
        if live != nil {
            let checksum = condition.headChecksum
            return checksum == nil || acknowledged.fileChecksum == .none
                || checksum == acknowledged.fileChecksum
        }
        // The same TXID can be another file. Which one it was, the newest local one shows without
        // a listing.
        guard acknowledged.fileChecksum != .none,
            let newest = try session.meta.files().last(where: { $0.maxTXID == head }),
            let theirs = try await bucket.stat(level: newest.level, name: newest.name)
        else { return try await isHead(condition, acknowledged, session) }
        return try await inspect(theirs)?.fileChecksum == acknowledged.fileChecksum
    }

    // MARK: Upload

    /// Waits for a server, and keeps the WAL small meanwhile: it may take as long as it likes.
    func keepingUp(_ transfer: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup { group in
            group.addTask { try await transfer() }
            group.addTask { [weak self] in
                while true {
                    try await ThreadClock().sleep(for: .seconds(5))
                    await self?.keepUp()
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

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
            if postponesSnapshots, file.minTXID == TXID(1) { throw ReplicationError.postponed }
            let path = session.meta.path(level: file.level, name: file.name)
            let facts = try session.meta.inspect(file)
            let lineage = session.lineage(for: bucket)
            if let live {
                let facts = WriteFacts(
                    writer: session.state.lineage,
                    lineage: lineage,
                    checksum: session.checksumsOfFiles[file.maxTXID] ?? session.checksum(at: file),
                    takesOver: session.takesOver,
                    fileChecksum: facts.fileChecksum
                )
                try await keepingUp { try await live.put(path, as: file, facts: facts) }
                session.takesOver = false
            } else {
                try await progress.during("copying \(file.name) into the bucket") {
                    try await bucket.put(path, as: file)
                }
            }
            session.state.acknowledged[bucket.address.description] = .init(
                txid: file.maxTXID,
                fileChecksum: facts.fileChecksum,
                lineage: live == nil ? nil : lineage
            )
            try session.saveState()
            record.files += 1
            record.bytes += file.sizeInBytes
            record.pages += try session.pages(in: file)
        }
        // A server has compared each of them with what it holds.
        if live == nil, needed.count > 1 || base == .zero {
            for file in needed
            where try await bucket.stat(level: file.level, name: file.name) == nil {
                return false
            }
        }
        try session.prune(for: bucket)
        return true
    }
}

extension LiveCondition {
    /// Whether the bucket is kept under an id that it had when it acknowledged; an id that one
    /// side does not have says nothing.
    fileprivate func isHeldAs(_ known: String?) -> Bool {
        guard let lineage, let known else { return true }
        return lineage == known
    }
}

extension Session {
    /// The id under which a server keeps, or shall keep, this history.
    func lineage(for bucket: any BucketClient) -> String? {
        guard let acknowledged = acknowledged(by: bucket) else { return state.lineage }
        return acknowledged.lineage
    }

    /// The database checksum after a file; known for the newest one.
    func checksum(at file: BucketFile) -> Checksum {
        file.maxTXID == state.made.txid ? state.made.checksum : .none
    }
}
