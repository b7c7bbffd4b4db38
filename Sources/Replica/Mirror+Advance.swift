import Bucket
import DurableFiles
import LTXCodec

extension Mirror {
    /// How often a plan is made when files of it disappear.
    private static let attempts = 3

    /// Brings the mirror to the head of its bucket.
    func catchUp(until deadline: Deadline?) async throws {
        do {
            try await applyAll(until: deadline)
            board.update { $0.failure = nil }
        } catch {
            mustList = true
            board.update { status in
                status.blockedBy = nil
                if !(error is CancellationError) { status.failure = "\(error)" }
            }
            // A state half-way must not wait for the next call to be rolled back.
            if !isSettled { try? await settle(until: .now) }
            if let error = error as? FileError { throw MirrorError.file(error) }
            throw error
        }
    }

    private func applyAll(until deadline: Deadline?) async throws {
        var (vanished, strangers) = (0, 0)
        while true {
            try Task.checkCancellation()
            if !isSettled { try await settle(until: deadline) }
            do {
                guard try await step(until: deadline) else { return }
                (vanished, strangers) = (0, 0)
            } catch MirrorError.changedByAnother where !isSettled && strangers < Self.attempts {
                strangers += 1
            } catch BucketError.notFound(let level, let name) {
                // Compaction or retention was faster than we; what it left is listed anew.
                mustList = true
                vanished += 1
                guard vanished < Self.attempts else {
                    throw BucketError.notFound(level: level, name: name)
                }
            } catch is Held {
                return
            }
        }
    }

    /// Makes one apply; says whether there may be another one to make.
    private func step(until deadline: Deadline?) async throws -> Bool {
        var rebase = try rebaseNote.load()
        let plan = try await plan(rebase: &rebase)
        switch plan {
        case .upToDate, .empty, .held:
            return false
        case .advance(let files):
            let batch = try await MirrorBatch.read(files, of: bucket, over: ledger)
            try await apply(batch, isRestart: false, writer: .replication, until: deadline)
        case .restart(let files):
            let batch = try await MirrorBatch.read(files, of: bucket, over: ledger)
            let isIngest = batch.header.maxTXID == rebase
            try await apply(
                batch,
                isRestart: true,
                writer: isIngest ? .ingest : .replication,
                until: deadline
            )
            // Killed before this, it is applied once more, and changes nothing.
            if isIngest { try rebaseNote.remove() }
        case .unreachable(let error):
            throw MirrorError.unreachable(position: record.txid, error)
        case .gap(let next):
            throw MirrorError.gap(position: record.txid, next: next)
        }
        return true
    }

    /// Chooses what comes next, without listing the bucket where the files that were announced
    /// lead on.
    private func plan(rebase: inout TXID) async throws -> MirrorPlan {
        let news = board.take()
        for file in news.files where file.maxTXID > record.txid {
            announced[file.minTXID] = file
        }
        if news.mustList { mustList = true }
        let limits = MirrorPlan.Limits(files: options.filesPerApply, bytes: options.bytesPerApply)
        if !mustList, !mustRestart, !record.isDiverged, rebase == .zero {
            var chain: [BucketFile] = []
            while chain.count < limits.files,
                let file = announced[(chain.last?.maxTXID ?? record.txid).next]
            {
                chain.append(file)
            }
            if !chain.isEmpty { return .advance(limits.cut(chain)) }
            if announced.isEmpty { return .upToDate }
        }

        let listing = try await bucket.listAll()
        try await checkAnchor(listing)
        announced = [:]
        let head = listing.map(\.maxTXID).max() ?? .zero
        let isWiped = head == .zero && record.txid > .zero
        board.update { status in
            status.bucketTXID = head
            status.isBucketEmpty = isWiped
        }
        if rebase > .zero, !listing.contains(where: { $0.isBase(at: rebase) }) {
            // The ingest was killed before its snapshot appeared.
            try rebaseNote.remove()
            rebase = .zero
        }
        let facts = MirrorPlan.Facts(
            position: record.txid,
            mustRestart: mustRestart,
            isDiverged: record.isDiverged,
            rebase: rebase
        )
        let plan = MirrorPlan(facts, listing: listing, limits: limits)
        switch plan {
        case .upToDate, .held:
            mustList = false
        case .empty:
            mustList = false
            // What comes into a wiped bucket is another history, whatever its TXIDs.
            if record.txid > .zero { mustRestart = true }
        case .advance(let files), .restart(let files):
            mustList = files.last?.maxTXID != head
        case .unreachable, .gap:
            mustList = true
        }
        return plan
    }

    /// Compares the last file applied with the one in the bucket, once after a start: a bucket that
    /// was exchanged meanwhile has another one under its name.
    private func checkAnchor(_ listing: [BucketFile]) async throws {
        guard !isAnchorChecked else { return }
        if let anchor = record.anchor,
            let file = listing.first(where: { $0.level == anchor.level && $0.name == anchor.name })
        {
            let reader = try await bucket.open(file)
            let checksum = try MirrorBatch.fileChecksum(of: file, reader)
            if checksum != anchor.fileChecksum { mustRestart = true }
        }
        isAnchorChecked = true
    }

    var rebaseNote: RebaseNote { RebaseNote(path: path + "-rebase") }
}

extension BucketFile {
    /// Whether it is the snapshot of a state on the snapshots' level.
    func isBase(at txid: TXID) -> Bool {
        level == BucketFile.snapshotLevel && name.isSnapshot && maxTXID == txid
    }
}

/// The TXID of a snapshot that the mirror has to take whatever it holds, on disk.
///
/// Written before the snapshot appears in the bucket, removed after it is applied: a kill in
/// between cannot leave the mirror at the same TXID with other pages.
struct RebaseNote {
    let path: String

    /// The TXID; zero without a note.
    func load() throws(FileError) -> TXID {
        guard let bytes = try DurableFiles.read(path, limit: 64) else { return .zero }
        let text = String(decoding: bytes, as: UTF8.self)
        return TXID(String(text.prefix { !$0.isNewline })) ?? .zero
    }

    func save(_ txid: TXID) throws(FileError) {
        let file = try DurableFile(path)
        try file.write("\(txid)\n")
        try file.publish()
    }

    func remove() throws(FileError) {
        try DurableFiles.remove(path)
        try DurableFiles.syncDirectory(of: path)
    }
}
