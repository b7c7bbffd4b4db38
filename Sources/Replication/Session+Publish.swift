import Bucket
import DurableFiles
import LTXCodec
import SQLiteBridge
import SQLiteWAL

extension WALCustody.View {
    /// Up to where the generation in the file may be read: what the index knows as committed.
    var lastFrame: UInt32 { indexMatches ? index?.maxFrame ?? .max : .max }
}

extension SourcePages {
    /// Frames of the WAL's generation that are part of it.
    var frames: UInt32 { end.map { $0.nextFrame - 1 } ?? 0 }
}

/// A local file that is about to be written.
struct Draft {
    var level: Int
    var name: LTXFileName
    var header: LTXHeader
}

extension Session {
    /// Database size in pages at the place; 0 where it is not known.
    var commit: UInt32 {
        if case .cursor(let cursor) = state.made.place { return cursor.commit }
        if case .success(let ledger) = ledger() { return ledger.commit }
        return 0
    }

    /// The database file as it is now.
    func fingerprint() throws -> FileFingerprint {
        try custody.fingerprint()
    }

    /// Where one stands after all pages of a source.
    func place(of source: SourcePages) throws -> Place {
        if let end = source.end { return .cursor(end) }
        return try placeAtRest() ?? .unknown
    }

    /// The place of a database whose WAL is empty, under a read transaction that keeps it so.
    ///
    /// - Returns: `nil` while somebody writes to the database file.
    func placeAtRest() throws -> Place? {
        // A fingerprint taken in the same tick as a change would not show the next one.
        let print = try fingerprint()
        for _ in 0..<100 {
            if print.isSettled(at: FileStatus.clockNanoseconds()) { return .atRest(print) }
            Duration.milliseconds(5).pauseThread()
            guard try fingerprint() == print else { return nil }
        }
        return nil
    }

    /// Notes, while a pin keeps it so, that the file holds all up to the place and nothing more.
    ///
    /// After a close this tells whether a restart of the WAL cost anything. Nothing is noted where
    /// it does not hold, and a failure costs a comparison later.
    func sealPlace() {
        guard case .cursor(let cursor) = state.made.place, custody.isSealed(at: cursor) else {
            return
        }
        do {
            // A later change in the same tick of the clock would not show.
            for _ in 0..<10 {
                let print = try fingerprint()
                if print == state.made.sealed { return }
                if print.isSettled(at: FileStatus.clockNanoseconds()) {
                    state.made.sealed = print
                    return try saveState()
                }
                Duration.milliseconds(5).pauseThread()
            }
        } catch {
            state.made.sealed = nil
        }
    }

    /// Whether a source shows the database exactly as it is at the state's place.
    func isAtPlace(_ source: SourcePages) throws -> Bool {
        switch (state.made.place, source.end) {
        case (.cursor(let cursor), let end?):
            cursor.salt == end.salt && cursor.nextFrame == end.nextFrame
        case (.atRest(let database), nil):
            try fingerprint() == database
        default: false
        }
    }

    // MARK: Drafts

    /// The next file, of frames from `start` to `end`.
    func draft(commit: UInt32, end: WALCursor, from start: WALCursor, now: Int64) -> Draft {
        draft(commit: commit, wal: (start.offset, end.offset - start.offset, end.salt), now: now)
    }

    /// The next file, of a whole source.
    ///
    /// - Parameters:
    ///   - commit: Database size in pages.
    ///   - source: The source.
    ///   - isNewBase: Nothing before it can be combined with it.
    ///   - now: Milliseconds since 1970.
    /// - Returns: Name and header.
    func draft(
        commit: UInt32,
        of source: SourcePages,
        isNewBase: Bool = false,
        now: Int64
    ) -> Draft {
        guard let end = source.end else {
            return draft(
                commit: commit,
                wal: (0, 0, WALSalt(salt1: 0, salt2: 0)),
                isNewBase: isNewBase,
                now: now
            )
        }
        let start = Int64(WALHeader.size)
        return draft(
            commit: commit,
            wal: (start, end.offset - start, end.salt),
            isNewBase: isNewBase,
            now: now
        )
    }

    /// It continues the newest file and ends above every TXID ever seen.
    ///
    /// Place, size and salts of the WAL go into the header as Litestream writes them, so that it
    /// can go on where we stopped.
    private func draft(
        commit: UInt32,
        wal: (offset: Int64, size: Int64, salt: WALSalt),
        isNewBase: Bool = false,
        now: Int64
    ) -> Draft {
        let last = max(state.highest, state.made.txid).next
        let first = isNewBase ? TXID(1) : state.made.txid.next
        let header = LTXHeader(
            flags: LTXHeader.noChecksumFlag,
            pageSize: custody.pageSize,
            commit: commit,
            minTXID: first,
            maxTXID: last,
            timestamp: now,
            walOffset: wal.offset,
            walSize: wal.size,
            walSalt1: wal.salt.salt1,
            walSalt2: wal.salt.salt2
        )
        return Draft(
            level: isNewBase && last > TXID(1) ? BucketFile.snapshotLevel : 0,
            name: LTXFileName(minTXID: first, maxTXID: last),
            header: header
        )
    }

    // MARK: Publishing

    func write(
        _ draft: Draft,
        pages: ((Pgno, UnsafeRawBufferPointer) throws -> Void) throws -> Void
    ) throws -> LTXFileWriter.Written {
        try requireRoom()
        // A commit that a power cut takes back must not be in any bucket.
        try custody.files.syncWAL()
        return try LTXFileWriter(
            path: meta.path(level: draft.level, name: draft.name),
            header: draft.header
        ).write(pages: pages)
    }

    /// Makes a written file the newest one, with its place and its ledger.
    ///
    /// The state says beforehand what holds if the file is there, so a kill between two steps
    /// leaves either all of it or nothing.
    func publish(
        _ written: LTXFileWriter.Written,
        _ draft: Draft,
        place: Place,
        _ report: inout SyncReport
    ) throws {
        let commit = draft.header.commit
        let txid = draft.name.maxTXID
        var ledger: PageLedger?
        var changed: [Pgno] = []
        var grownFrom: UInt32 = 0
        if case .snapshot = report.kind {
            ledger = PageLedger(pageSize: draft.header.pageSize)
        } else if case .success(let known) = self.ledger() {
            ledger = known
            grownFrom = known.commit
        }
        // One owner, or the update below would copy all of it.
        reloadLedger()
        changed = ledger?.apply(txid: txid, commit: commit, pages: written.pages) ?? []
        let made = ReplicatorState.Made(
            txid: txid,
            place: place,
            checksum: ledger?.checksum ?? .none
        )
        state.making = ReplicatorState.Making(
            level: draft.level,
            name: draft.name,
            fileChecksum: written.summary.trailer.fileChecksum,
            made: made
        )
        do {
            try saveState()
            try written.file.publish()
        } catch {
            state.making = nil
            // It may have its name already, and without a state that says so it would be a riddle.
            try? DurableFiles.remove(meta.path(level: draft.level, name: draft.name))
            throw error
        }
        state.making = nil
        state.made = made
        state.highest = max(state.highest, txid)
        pending = nil
        if let ledger {
            if case .snapshot = report.kind {
                try replaceLedger(with: ledger)
            } else {
                try advanceLedger(to: ledger, changed: changed, grownFrom: grownFrom)
            }
        }
        pagesOfFiles[txid] = written.summary.pageCount
        checksumsOfFiles[txid] = made.checksum
        report.txid = txid
        report.pages = written.summary.pageCount
        report.bytes = written.summary.sizeInBytes
        report.commit = commit
    }

    /// Moves the place without a file: nothing differed.
    func moved(to place: Place) throws {
        pending = nil
        state.made.place = place
        state.made.sealed = nil
        try saveState()
    }

    // MARK: Backlog

    func acknowledged(by bucket: any BucketClient) -> ReplicatorState.Acknowledged? {
        state.acknowledged[bucket.address.description]
    }

    /// Local files that the bucket has not accepted, in the order in which it must get them.
    func backlog(for bucket: any BucketClient) throws(FileError) -> [BucketFile] {
        let head = acknowledged(by: bucket)?.txid ?? .zero
        return try meta.files().filter { $0.maxTXID > head && $0.maxTXID <= state.made.txid }
    }
}
