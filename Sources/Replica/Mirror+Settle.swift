import Bucket
import DurableFiles
import LTXCodec
import SQLiteBridge

extension Mirror {
    typealias Deadline = ContinuousClock.Instant

    /// Finds out what the mirror holds, after a start, a crash, a failure, or a stranger.
    ///
    /// The argument is at the top of `Mirror`.
    func settle(until deadline: Deadline?) async throws {
        let file = try openFile()
        try await recover(file, until: deadline)
        let known = try records.load()
        lastSequence = known.map(\.sequence).max() ?? 0
        lastCounter = known.map(\.counter).max() ?? 0
        let size = try file.size()
        let fitting = try known.filter { record in
            guard record.sizeInBytes == size else { return false }
            return try stamp(file, record) == record.stamp
        }
        if try !settle(fitting, file) {
            try settleWithoutRecord(file, size: size)
        }
        loadExpectations()
        isAnchorChecked = false
        mustList = true
        isSettled = true
        publish()
    }

    private func openFile() throws -> MirrorFile {
        if let file, try file.isInPlace() { return file }
        // Closed first: it may be the last one of a file that was replaced.
        file = nil
        let opened = try MirrorFile(path)
        file = opened
        return opened
    }

    /// Takes the record that is true of the file, and its ledger; says whether there is one.
    private func settle(_ fitting: [MirrorRecord], _ file: MirrorFile) throws -> Bool {
        guard let newest = fitting.first else { return false }
        let isOneState = fitting.allSatisfy {
            $0.txid == newest.txid && $0.checksum == newest.checksum
        }
        if isOneState, let loaded = try? ledgerFile.load(),
            loaded.ledger.txid == newest.txid, loaded.ledger.pageSize == newest.pageSize,
            loaded.ledger.commit == newest.commit, loaded.checksum == newest.checksum,
            loaded.ledger.checksum == newest.checksum
        {
            (record, ledger) = (newest, loaded.ledger)
            isLedgerFileCurrent = true
            return true
        }
        for candidate in fitting {
            let scanned = try scan(file, candidate)
            guard candidate.commit == 0 || scanned.checksum == candidate.checksum else { continue }
            (record, ledger) = (candidate, scanned)
            isLedgerFileCurrent = false
            return true
        }
        return false
    }

    /// Takes the file for what it is: pages of no state of the bucket.
    private func settleWithoutRecord(_ file: MirrorFile, size: Int64) throws {
        record = MirrorRecord()
        ledger = PageLedger(pageSize: 4096)
        isLedgerFileCurrent = false
        // An empty file is where a mirror begins, whatever was meant to be in it.
        mustRestart = size > 0
        guard size > 0 else { return }
        let header = UnsafeMutableRawBufferPointer.allocate(byteCount: 512, alignment: 16)
        defer { header.deallocate() }
        let count = try file.read(at: 0, into: header)
        // What is no database is kept in a journal all the same, in pages that it divides into.
        let pageSize =
            PresentedPage.pageSize(of: UnsafeRawBufferPointer(rebasing: header[..<count])) ?? 512
        guard size % Int64(pageSize) == 0,
            let commit = UInt32(exactly: size / Int64(pageSize))
        else {
            throw MirrorError.changedByAnother(
                path: path,
                why: "its \(size) bytes are no pages; move it away, and it is made anew"
            )
        }
        record.pageSize = pageSize
        record.commit = commit
        try withPage(file, 1, pageSize) { page in
            record.source = PresentedPage(of: UnsafeRawBufferPointer(page))
            record.counter = record.source.changeCounter
            record.stamp = Self.crc(UnsafeRawBufferPointer(page))
        }
        lastCounter = max(lastCounter, record.counter)
        ledger = try scan(file, record)
        record.checksum = ledger.checksum
    }

    /// Makes the file a plain database at rest: a journal that a kill left is rolled back, WAL mode
    /// that somebody switched on is switched off, both by SQLite itself.
    private func recover(_ file: MirrorFile, until deadline: Deadline?) async throws {
        var attempts = 0
        while true {
            let isHot = try file.isJournalHot()
            let isWAL = try isInWALMode(file)
            guard isHot || isWAL else { return }
            attempts += 1
            guard attempts <= 3 else {
                throw MirrorError.changedByAnother(
                    path: path,
                    why: isHot
                        ? "SQLite does not play back the journal beside it"
                        : "it stays in WAL mode"
                )
            }
            while let holder = try recoverOnce(file, isWAL: isWAL) {
                try await wait(for: holder, .milliseconds(50), until: deadline)
            }
            board.update { $0.blockedBy = nil }
        }
    }

    /// Lets SQLite do it; returns who is in the way.
    private func recoverOnce(_ file: MirrorFile, isWAL: Bool) throws -> LockHolder? {
        do {
            let connection = try Connection(
                path: path,
                mode: .readWrite,
                busyTimeout: .zero,
                checkpointing: .automatic
            )
            defer { try? connection.close() }
            guard isWAL else {
                _ = try connection.value("SELECT count(*) FROM sqlite_schema")
                return nil
            }
            let mode = try connection.value("PRAGMA journal_mode = DELETE")
            return mode == .text("delete") ? nil : LockHolder(processID: nil)
        } catch let error as SQLiteError {
            if error.isBusy { return try file.reader() ?? LockHolder(processID: nil) }
            // The journal is played back before the pages are looked at.
            if error.isNotADatabase || error.isCorrupt { return nil }
            throw error
        }
    }

    private func isInWALMode(_ file: MirrorFile) throws -> Bool {
        if try FileStatus.of(path + "-wal") != nil { return true }
        let header = UnsafeMutableRawBufferPointer.allocate(byteCount: 100, alignment: 16)
        defer { header.deallocate() }
        let count = try file.read(at: 0, into: header)
        return PresentedPage.isWAL(UnsafeRawBufferPointer(rebasing: header[..<count]))
    }

    // MARK: Pages

    /// The CRC of the mirror's page 1; 0 for an empty mirror.
    func stamp(_ file: MirrorFile, _ record: MirrorRecord) throws -> UInt64 {
        guard record.commit > 0 else { return 0 }
        var stamp: UInt64 = 0
        try withPage(file, 1, record.pageSize) { stamp = Self.crc(UnsafeRawBufferPointer($0)) }
        return stamp
    }

    static func crc(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var crc = CRC64()
        crc.update(bytes)
        return crc.value
    }

    func withPage(
        _ file: MirrorFile,
        _ pgno: Pgno,
        _ pageSize: UInt32,
        _ body: (UnsafeMutableRawBufferPointer) throws -> Void
    ) throws {
        let page = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(pageSize),
            alignment: 16
        )
        defer { page.deallocate() }
        try read(file, pgno, into: page)
        try body(page)
    }

    func read(
        _ file: MirrorFile,
        _ pgno: Pgno,
        into page: UnsafeMutableRawBufferPointer
    ) throws {
        let offset = Int64(pgno - 1) * Int64(page.count)
        guard try file.read(at: offset, into: page) == page.count else {
            throw MirrorError.changedByAnother(path: path, why: "it lacks page \(pgno)")
        }
    }

    /// Computes the ledger from the mirror's own pages.
    private func scan(_ file: MirrorFile, _ record: MirrorRecord) throws -> PageLedger {
        guard record.commit > 0 else {
            let pageSize = record.pageSize == 0 ? 4096 : record.pageSize
            return PageLedger(pageSize: pageSize, txid: record.txid)
        }
        let size = Int(record.pageSize)
        let lock = lockPgno(pageSize: record.pageSize)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { buffer.deallocate() }
        var checksums = [UInt64](repeating: 0, count: Int(record.commit))
        var pgno: Pgno = 1
        while pgno <= record.commit {
            try Task.checkCancellation()
            let pages = min(buffer.count / size, Int(record.commit - pgno) + 1)
            let run = UnsafeMutableRawBufferPointer(rebasing: buffer[..<(pages * size)])
            let offset = Int64(pgno - 1) * Int64(size)
            guard try file.read(at: offset, into: run) == run.count else {
                throw MirrorError.changedByAnother(path: path, why: "it was cut")
            }
            if pgno == 1 {
                record.source.restore(UnsafeMutableRawBufferPointer(rebasing: run[..<size]))
            }
            for index in 0..<pages where pgno + UInt32(index) != lock {
                let page = UnsafeRawBufferPointer(
                    rebasing: run[(index * size)..<((index + 1) * size)]
                )
                let number = pgno + UInt32(index)
                checksums[Int(number) - 1] = pageChecksum(pgno: number, page: page).rawValue
            }
            pgno += UInt32(pages)
        }
        return PageLedger(pageSize: record.pageSize, txid: record.txid, checksums: checksums)
    }
}
