import Bucket
import DurableFiles
import LTXCodec

extension Mirror {
    /// The mirror was found to differ from its source while a delta waited for its turn.
    struct Held: Error {}

    /// Makes a batch the mirror's state, all or nothing.
    ///
    /// - Parameters:
    ///   - batch: Read over the ledger as it is now.
    ///   - isRestart: It is a whole state that replaces whatever is there.
    ///   - writer: Who brings it.
    ///   - deadline: The longest wait for others' locks.
    /// - Throws: `MirrorError`, `FileError`, `CancellationError`; the mirror is what it was, if
    ///   need be once it is settled again.
    func apply(
        _ batch: MirrorBatch,
        isRestart: Bool,
        writer: MirrorStatus.Writer,
        until deadline: Deadline?
    ) async throws {
        guard let file else { preconditionFailure("applied before it was opened") }
        try await reserve(file, until: deadline)
        var isJournalled = false
        var next: MirrorRecord
        let firstPage: [UInt8]
        do {
            try confirm(file)
            (next, firstPage) = prepare(
                Incoming(
                    header: batch.header,
                    checksum: batch.ledger.checksum,
                    last: batch.last,
                    fileChecksum: batch.fileChecksum
                ),
                firstPage: try sourcePage(of: batch, file),
                writer
            )
            isJournalled = true
            try writeJournal(batch, file)
            try records.save(next, keeping: record)
            try await exclude(file, until: deadline)
            guard isRestart || !record.isDiverged else { throw Held() }
        } catch {
            // A journal that stays is played back by whoever comes: nothing has changed yet.
            if isJournalled {
                do { try DurableFiles.remove(file.journalPath) } catch { isSettled = false }
            }
            file.unlock()
            board.update { $0.blockedBy = nil }
            throw error
        }
        do {
            try write(batch, firstPage, file)
            try DurableFiles.remove(file.journalPath)
        } catch {
            // What lies there is what a kill would leave, and is put right in the same way.
            isSettled = false
            file.unlock()
            throw error
        }
        // That is the commit. Should a power cut take the unlinking back, then the journal rolls
        // back to a state whose record is still there.
        try? DurableFiles.syncDirectory(of: file.journalPath)
        file.unlock()
        let before = ledger
        (record, ledger) = (next, batch.ledger)
        if isRestart { mustRestart = false }
        expectations = expectations.filter { $0.key > record.txid }
        dropExpectations()
        announced = announced.filter { $0.key > record.txid }
        publish()
        writeLedger(changedFrom: before, batch)
    }

    /// Makes sure that the file is what the record says, now that nobody else may write.
    private func confirm(_ file: MirrorFile) throws {
        let isOurs =
            try file.isInPlace() && file.size() == record.sizeInBytes
            && stamp(file, record) == record.stamp && !file.isJournalHot()
            && FileStatus.of(path + "-wal") == nil
        guard isOurs else {
            isSettled = false
            throw MirrorError.changedByAnother(
                path: path,
                why: "somebody else wrote into it, or replaced it"
            )
        }
    }

    /// What a record says of a state to come.
    struct Incoming {
        var header: LTXHeader
        /// Of the database.
        var checksum: Checksum
        /// The last file that leads to it.
        var last: BucketFile
        var fileChecksum: Checksum
    }

    /// Page 1 of the source after a batch; none for an empty database.
    private func sourcePage(of batch: MirrorBatch, _ file: MirrorFile) throws -> [UInt8] {
        guard batch.header.commit > 0 else { return [] }
        if let page = batch.firstPage { return page }
        var page: [UInt8] = []
        try withPage(file, 1, record.pageSize) { current in
            record.source.restore(current)
            page = [UInt8](current)
        }
        return page
    }

    /// The record of the state to come, and its page 1 as the mirror has it.
    ///
    /// - Parameters:
    ///   - incoming: The state.
    ///   - firstPage: Page 1 of the source; none for an empty database.
    ///   - writer: Who brings it.
    /// - Returns: Both; no page for an empty database.
    func prepare(
        _ incoming: Incoming,
        firstPage: [UInt8],
        _ writer: MirrorStatus.Writer
    ) -> (MirrorRecord, [UInt8]) {
        let header = incoming.header
        lastSequence += 1
        var next = MirrorRecord()
        next.sequence = lastSequence
        next.txid = header.maxTXID
        next.timestamp = header.timestamp
        next.appliedAt = options.now()
        next.pageSize = header.pageSize
        next.commit = header.commit
        next.checksum = incoming.checksum
        next.writer = writer
        next.anchor = MirrorRecord.Anchor(
            level: incoming.last.level,
            name: incoming.last.name,
            fileChecksum: incoming.fileChecksum
        )
        // A rebase to the same TXID has to bring what its writer said before.
        let isSame = record.isDiverged && next.txid == record.txid
        let expected = expectations[next.txid] ?? (isSame ? record.expected : .none)
        if expected.isPresent, expected != next.checksum {
            next.isDiverged = true
            next.expected = expected
        }
        guard !firstPage.isEmpty else {
            next.counter = lastCounter
            return (next, [])
        }

        var page = firstPage
        page.withUnsafeMutableBytes { bytes in
            let source = PresentedPage(of: UnsafeRawBufferPointer(bytes))
            next.counter = max(lastCounter, source.changeCounter) &+ 1
            next.source = PresentedPage.present(bytes, counter: next.counter)
            next.stamp = Self.crc(UnsafeRawBufferPointer(bytes))
        }
        lastCounter = next.counter
        return (next, page)
    }

    /// Saves the pages that will change or go, as they are.
    private func writeJournal(_ batch: MirrorBatch, _ file: MirrorFile) throws {
        let (pageSize, commit) = (record.pageSize, record.commit)
        let saved = pagesToSave(batch)
        let journal = try RollbackJournal(
            of: file,
            // An empty database has no page size yet.
            pageSize: commit == 0 ? batch.header.pageSize : pageSize,
            commit: commit,
            records: UInt32(saved.count)
        )
        for pgno in saved {
            try journal.add(pgno) { try read(file, pgno, into: $0) }
        }
        try journal.finish()
    }

    private func pagesToSave(_ batch: MirrorBatch) -> [Pgno] {
        let commit = record.commit
        guard commit > 0 else { return [] }
        let lock = lockPgno(pageSize: record.pageSize)
        guard batch.header.pageSize == record.pageSize else {
            return (1...commit).filter { $0 != lock }
        }
        var pages: [Pgno] = [1]
        pages += batch.changed.prefix { $0 <= commit }
        if batch.header.commit < commit {
            pages += (max(batch.header.commit, 1) + 1..<commit + 1).filter { $0 != lock }
        }
        return pages
    }

    private func write(_ batch: MirrorBatch, _ firstPage: [UInt8], _ file: MirrorFile) throws {
        let pages = MirrorWriter(file, pageSize: batch.header.pageSize)
        if !firstPage.isEmpty {
            try firstPage.withUnsafeBytes { try pages.write(1, $0) }
        }
        try batch.forEachChanged { try pages.write($0, $1) }
        try pages.flush()
        let size = Int64(batch.header.commit) * Int64(batch.header.pageSize)
        if try file.size() != size { try file.truncate(to: size) }
        try file.sync()
    }

    /// Keeps the ledger file near the state; whether it gets there matters to the next start's
    /// speed only.
    private func writeLedger(changedFrom before: PageLedger, _ batch: MirrorBatch) {
        do {
            if isLedgerFileCurrent, before.pageSize == ledger.pageSize {
                var changed = batch.changed
                if before[1] != ledger[1], ledger.commit > 0 { changed.insert(1, at: 0) }
                try ledgerFile.update(
                    to: ledger,
                    changed: changed,
                    grownFrom: before.commit,
                    durably: false
                )
            } else {
                try ledgerFile.replace(with: ledger)
            }
            isLedgerFileCurrent = true
        } catch {
            isLedgerFileCurrent = false
        }
    }
}
