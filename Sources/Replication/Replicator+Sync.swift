import Bucket
import DurableFiles
import LTXCodec
import SQLiteBridge
import SQLiteWAL

extension Replicator {
    /// One sync of an open session.
    func sync(_ session: Session) throws -> SyncReport {
        try progress.during("converting the WAL") { try syncInPlace(session) }
    }

    private func syncInPlace(_ session: Session) throws -> SyncReport {
        try session.custody.whileReading {
            // A restart under our eyes makes what was read worthless, and the next look finds a
            // new generation. With a pin it cannot happen; without, hardly twice.
            for _ in 0..<10 {
                if let report = try attempt(session) {
                    // Without a change nobody needs it yet, and it takes a while to read.
                    if report.kind != .nothing { try mendLedger(session) }
                    return report
                }
                session.reloadLedger()
            }
            throw ReplicationError.unsteady
        }
    }

    /// Makes one file of what is new; `nil` when it was overwritten while being read.
    private func attempt(_ session: Session) throws -> SyncReport? {
        switch session.pending {
        case .compare(let reason): return try compare(session, reason)
        case .snapshot(let reason): return try snapshot(session, reason)
        case nil: break
        }
        let custody = session.custody
        let view = try custody.look()
        let place = session.state.made.place
        let decision: CustodyDecision
        var cursor: WALCursor?
        switch place {
        case .unknown:
            return session.state.made.txid == .zero
                ? try snapshot(session, .first) : try compare(session, .noPlace)
        case .cursor(let saved):
            cursor = saved
            let sealed = session.state.made.sealed
            let isUntouched = try sealed != nil && session.fingerprint() == sealed
            decision = CustodyDecision(
                try custody.evidence(saved, isUntouched: isUntouched, in: view)
            )
        case .atRest(let database):
            let isUntouched = try session.fingerprint() == database
            decision = CustodyDecision(
                try custody.restEvidence(in: view, isUntouched: isUntouched)
            )
        }
        switch decision {
        case .resume:
            guard let cursor else { return nothing(session) }
            if view.size > cursor.offset { custody.files.startSyncingWAL() }
            return try take(
                session,
                from: cursor,
                custody.wal.scan(from: cursor, through: view.lastFrame),
                view: view
            )
        case .restarted(let proof):
            guard let header = view.header else { return nil }
            let start = WALCursor.start(of: header, commit: session.commit)
            var report = try take(
                session,
                from: start,
                custody.scanGeneration(from: start, in: view),
                view: view
            )
            if report?.kind != .nothing { report?.proof = proof }
            return report
        case .restartedWithLeftovers:
            guard let header = view.header, let cursor else { return nil }
            return try takeLeftovers(session, from: cursor, header: header, view: view)
        case .emptied(let proof):
            // Without a place at rest the cursor stays, and so does what it is known by.
            if let place = try session.placeAtRest() {
                try session.moved(to: place)
                custody.reached(frames: 0, in: view)
            }
            var report = nothing(session)
            report.proof = proof
            return report
        case .lost(let reason):
            return try compare(session, reason)
        }
    }

    /// Computes a missing or damaged ledger anew while the place is known, once in a session.
    ///
    /// The place's own state is still to be seen under this guard, so no upload is needed.
    private func mendLedger(_ session: Session) throws {
        guard !session.isLedgerChecked, session.pending == nil else { return }
        if case .success = session.ledger() {
            session.isLedgerChecked = true
            return
        }
        let frames: UInt32
        switch session.state.made.place {
        case .cursor(let cursor): frames = cursor.nextFrame - 1
        case .atRest: frames = 0
        case .unknown: return
        }
        let source = try session.custody.source(through: frames == 0 ? .max : frames)
        guard try session.isAtPlace(source) else { return }
        var pages: [(pgno: Pgno, checksum: Checksum)] = []
        pages.reserveCapacity(Int(source.commit))
        try source.forEach { pgno, page in
            pages.append((pgno, pageChecksum(pgno: pgno, page: page)))
        }
        guard try source.isStillValid() else { return }
        var ledger = PageLedger(pageSize: session.custody.pageSize)
        ledger.apply(txid: session.state.made.txid, commit: source.commit, pages: pages)
        try session.mendLedger(with: ledger)
        session.isLedgerChecked = true
    }

    private func nothing(_ session: Session) -> SyncReport {
        var report = SyncReport()
        report.txid = session.state.made.txid
        report.commit = session.commit
        return report
    }

    // MARK: From the WAL

    private func take(
        _ session: Session,
        from start: WALCursor,
        _ scan: WALScan,
        view: WALCustody.View
    ) throws -> SyncReport? {
        let custody = session.custody
        guard scan.commits > 0 else {
            // A generation that holds no commit yet leaves the place where it is.
            if case .cursor(start) = session.state.made.place {
                custody.reached(frames: start.nextFrame - 1, in: view)
            }
            return nothing(session)
        }
        return try publishFrames(session, scan.pages, start: start, end: scan.end, view: view) {
            try custody.isUnchanged(since: view)
        }
    }

    /// Reads what is left of the old generation behind the cursor, and then the new one.
    private func takeLeftovers(
        _ session: Session,
        from cursor: WALCursor,
        header: WALHeader,
        view: WALCustody.View
    ) throws -> SyncReport? {
        let custody = session.custody
        let old = try custody.wal.scan(from: cursor)
        let start = WALCursor.start(of: header, commit: old.end.commit)
        let new = try custody.wal.scan(from: start, through: view.lastFrame)
        // Without a commit in the new generation the place stays, behind the old one's end.
        let pages = new.commits > 0 ? old.pages.overlaid(with: new) : old.pages
        let (begin, end) = new.commits > 0 ? (start, new.end) : (cursor, old.end)
        guard old.commits + new.commits > 0 else { return nothing(session) }
        var report = try publishFrames(session, pages, start: begin, end: end, view: view) {
            // The new generation overwrites from the front: if the frame before the cursor is
            // still the old one's, so is everything behind it.
            try custody.isUnchanged(since: view) && custody.wal.holds(cursor)
        }
        report?.proof = .leftovers
        return report
    }

    private func publishFrames(
        _ session: Session,
        _ pages: WALPageMap,
        start: WALCursor,
        end: WALCursor,
        view: WALCustody.View,
        isStillValid: () throws -> Bool
    ) throws -> SyncReport? {
        let custody = session.custody
        let pageSize = custody.pageSize
        guard end.pageSize == pageSize else { return try compare(session, .walUnreadable) }
        // SQLite writes every page of a growth into the WAL, so a hole proves missed frames.
        if let _ = pages.firstHole(
            growingFrom: session.commit == 0 ? end.commit : session.commit,
            to: end.commit,
            lockPage: lockPgno(pageSize: pageSize)
        ) {
            return try compare(session, .growthHole)
        }
        let draft = session.draft(commit: end.commit, end: end, from: start, now: options.now())
        let written = try session.write(draft) { body in
            let page = UnsafeMutableRawBufferPointer.allocate(
                byteCount: Int(pageSize),
                alignment: 16
            )
            defer { page.deallocate() }
            for entry in pages {
                try custody.wal.readPage(frame: entry.frame, pageSize: pageSize, into: page)
                try body(entry.pgno, UnsafeRawBufferPointer(page))
            }
        }
        guard try isStillValid() else { return nil }
        var report = SyncReport()
        report.kind = .wal
        try session.publish(written, draft, place: .cursor(end), &report)
        custody.reached(frames: end.nextFrame - 1, in: view)
        return report
    }

    // MARK: From the whole database

    /// Compares every page with the ledger and makes a delta of those that differ.
    private func compare(_ session: Session, _ reason: LostPlace) throws -> SyncReport? {
        let ledger: PageLedger
        switch session.ledger() {
        case .success(let usable): ledger = usable
        case .failure(let problem):
            throw NeedsLedger(reason: reason, problem: problem)
        }
        guard ledger.pageSize == session.custody.pageSize else {
            return try snapshot(session, .pageSizeChanged)
        }
        let source = try session.custody.source()
        var differing: [Pgno] = []
        var compared = 0
        try source.forEach { pgno, page in
            compared += 1
            if ledger[pgno] != pageChecksum(pgno: pgno, page: page) { differing.append(pgno) }
        }
        guard try source.isStillValid() else { return nil }
        var report = SyncReport()
        report.kind = .rescan(reason)
        report.pagesCompared = compared
        guard !differing.isEmpty || source.commit != ledger.commit else {
            try session.moved(to: session.place(of: source))
            session.custody.reached(frames: source.frames, in: source.view)
            report.txid = session.state.made.txid
            report.commit = source.commit
            return report
        }
        let draft = session.draft(commit: source.commit, of: source, now: options.now())
        let written = try session.write(draft) { try source.forEach(of: differing, $0) }
        guard try source.isStillValid() else { return nil }
        try session.publish(written, draft, place: session.place(of: source), &report)
        session.custody.reached(frames: source.frames, in: source.view)
        return report
    }

    /// Makes a file of every page.
    private func snapshot(_ session: Session, _ reason: SnapshotReason) throws -> SyncReport? {
        let source = try session.custody.source()
        let draft = session.draft(
            commit: source.commit,
            of: source,
            isNewBase: reason.beginsAnew,
            now: options.now()
        )
        let written = try session.write(draft) { try source.forEach($0) }
        guard try source.isStillValid() else { return nil }
        var report = SyncReport()
        report.kind = .snapshot(reason)
        try session.publish(written, draft, place: session.place(of: source), &report)
        session.custody.reached(frames: source.frames, in: source.view)
        return report
    }
}

/// A lost place, and no ledger to find it again by: the bucket may have what it takes.
struct NeedsLedger: Error {
    let reason: LostPlace
    let problem: Session.LedgerProblem
}
