import Bucket
import DurableFiles
import LTXCodec
import SQLiteBridge
import SQLiteWAL

/// What a replicator holds while its database is open.
///
/// It lives on the replicator's thread.
final class Session {
    /// What the next sync must do before it may go on from a place.
    enum Pending: Equatable {
        case compare(LostPlace)
        case snapshot(SnapshotReason)
    }

    let custody: WALCustody
    let meta: MetaDirectory
    let stateFile: StateFile
    var state: ReplicatorState
    var pending: Pending?
    var policy: CheckpointPolicy
    /// The bucket was compared with what it acknowledged, and nothing has failed since.
    var isLineageChecked = false
    /// The ledger was found good since the database was opened, or made good.
    var isLedgerChecked = false
    /// How many pages the files of this process hold, for the records of pushes.
    var pagesOfFiles: [TXID: Int] = [:]
    /// The database checksum at the files of this process, for who checks it.
    var checksumsOfFiles: [TXID: Checksum] = [:]
    /// The next write takes the writer's lease: the bucket's head was adopted from somebody.
    var takesOver = false
    private var loadedLedger: PageLedger?
    /// The ledger's file holds every entry, so changes of single ones may be written into it.
    private var ledgerFileIsWhole = true
    private var claim: FileLock?

    /// Opens everything, in an order in which a failure leaves nothing changed.
    ///
    /// - Parameters:
    ///   - database: Path of the database.
    ///   - options: See there.
    ///   - notes: Takes a line for everything that had to be set aside.
    /// - Throws: `DatabaseFault`, `FileLock.Held`, `SQLiteError`, `FileError`.
    init(database: String, options: ReplicatorOptions, notes: inout [String]) throws {
        try DatabaseFault.check(database)
        meta = MetaDirectory(database: database)
        // Whether it can be replicated at all is asked before a directory is made beside it.
        let custody = try WALCustody(path: database, pin: options.pin)
        do {
            try DurableFiles.makeDirectories(meta.path)
            claim = try FileLock(meta.lockPath)
            try meta.sweep()
            stateFile = StateFile(path: meta.statePath)
            policy = CheckpointPolicy(threshold: options.checkpointFrames)
            let fresh = ReplicatorState(
                lineage: Self.newLineage(),
                database: custody.files.identity
            )
            state = fresh
            self.custody = custody
            if let known = try loadState(&notes) {
                state = known
                if known.database != custody.files.identity {
                    notes.append("the database file is another one than before")
                    state.database = custody.files.identity
                    pending = .compare(.databaseReplaced)
                }
            }
            try settle(&notes)
        } catch {
            custody.close()
            throw error
        }
    }

    /// Whether the next file is a whole database.
    var needsSnapshot: Bool {
        switch pending {
        case .snapshot: true
        case .compare: false
        case nil: state.made.txid == .zero && state.made.place == .unknown
        }
    }

    /// Whether the directory beside the database is still the one that was claimed.
    ///
    /// Another replicator may have made it again, and a lock in it.
    func holdsItsDirectory() throws(FileError) -> Bool {
        try claim?.isInPlace(meta.lockPath) ?? false
    }

    /// Lets everything go, whoever still has a reference.
    func close() {
        custody.close()
        claim = nil
    }

    private func loadState(_ notes: inout [String]) throws -> ReplicatorState? {
        do {
            return try stateFile.load()
        } catch let unusable as StateFile.Unusable {
            let target = try meta.setAside(stateFile.path)
            notes.append("the state file was set aside as \(target): \(unusable)")
            return nil
        } catch let error as FileError where error.isTooLarge {
            let target = try meta.setAside(stateFile.path)
            notes.append("the state file was set aside as \(target): it is far too large")
            return nil
        }
    }

    /// Brings the state and the local files together after whatever ended the last process.
    private func settle(_ notes: inout [String]) throws {
        if let making = state.making {
            if try meta.holds(making) { state.made = making.made }
            state.making = nil
        }
        let isKnown = state.made.txid > .zero
        var newest = TXID.zero
        for file in try meta.files() {
            let path = meta.path(level: file.level, name: file.name)
            do {
                // The bytes may be garbage, but the name was used.
                if file.maxTXID <= .limit { state.highest = max(state.highest, file.maxTXID) }
                try verify(file)
                newest = max(newest, file.maxTXID)
            } catch let error as FileError {
                throw error
            } catch {
                let target = try meta.setAside(path)
                notes.append("a local file was set aside as \(target): \(error)")
                continue
            }
            // Published half-way, or by another program that went on from here.
            if isKnown, file.maxTXID > state.made.txid { try DurableFiles.remove(path) }
        }
        try removeMerged()
        for acknowledged in state.acknowledged.values {
            state.highest = max(state.highest, acknowledged.txid)
        }
        // Files without a state: made by Litestream, or their state was lost.
        if !isKnown { state.made.txid = newest }
        state.highest = max(state.highest, state.made.txid)
    }

    /// Removes files that another one covers: the parts of a merge that a kill left.
    private func removeMerged() throws {
        let files = try meta.files()
        for part in files {
            let isCovered = files.contains { whole in
                whole.name != part.name && whole.minTXID <= part.minTXID
                    && part.maxTXID <= whole.maxTXID
            }
            guard isCovered else { continue }
            try DurableFiles.remove(meta.path(level: part.level, name: part.name))
        }
    }

    /// Reads a file that an earlier process left: all of it if no bucket has it yet.
    private func verify(_ file: BucketFile) throws {
        let facts = try meta.inspect(file)
        guard facts.header.fileName == file.name, file.maxTXID <= .limit else {
            throw LTXError.txidRange(min: facts.header.minTXID, max: facts.header.maxTXID)
        }
        let isAccepted = state.acknowledged.values.contains { $0.txid >= file.maxTXID }
        guard !isAccepted else { return }
        pagesOfFiles[file.maxTXID] = try pages(of: file).pages.count
    }

    /// How many pages a local file holds.
    func pages(in file: BucketFile) throws -> Int {
        if let known = pagesOfFiles[file.maxTXID] { return known }
        let descriptor = try FileDescriptor(reading: meta.path(level: file.level, name: file.name))
        let reader = try LTXPageReader(size: file.sizeInBytes) { offset, buffer in
            try descriptor.read(at: offset, into: buffer)
        }
        return reader.index.count
    }

    func saveState() throws(FileError) {
        try stateFile.save(state)
    }

    // MARK: Ledger

    private var ledgerFile: LedgerFile { LedgerFile(path: meta.ledgerPath) }

    /// The ledger at the state's TXID, or why there is none.
    func ledger() -> Result<PageLedger, LedgerProblem> {
        if let loadedLedger { return .success(loadedLedger) }
        do {
            let ledger = try loadLedger()
            loadedLedger = ledger
            return .success(ledger)
        } catch {
            return .failure(error)
        }
    }

    /// Why the ledger cannot be used.
    enum LedgerProblem: Error, CustomStringConvertible {
        case missing
        case damaged(String)

        var description: String {
            switch self {
            case .missing: "there is no page ledger"
            case .damaged(let why): "the page ledger cannot be used: \(why)"
            }
        }
    }

    private func loadLedger() throws(LedgerProblem) -> PageLedger {
        do {
            guard let loaded = try ledgerFile.load() else { throw LedgerProblem.missing }
            var ledger = loaded.ledger
            let target = state.made
            guard ledger.txid <= target.txid else {
                throw LedgerProblem.damaged("it is ahead, at \(ledger.txid) of \(target.txid)")
            }
            let wasLeftBehind = ledger.txid < target.txid || ledger.checksum != loaded.checksum
            if wasLeftBehind { try replay(onto: &ledger, through: target.txid) }
            guard ledger.txid == target.txid else {
                throw LedgerProblem.damaged("it is behind, at \(ledger.txid) of \(target.txid)")
            }
            // Without a checksum to compare with, it could be anybody's.
            guard ledger.checksum == target.checksum else {
                throw LedgerProblem.damaged(
                    "its checksum is \(ledger.checksum), that of \(target.txid) \(target.checksum)"
                )
            }
            if let pgno = ledger.firstUnknown {
                throw LedgerProblem.damaged("it has no entry for page \(pgno)")
            }
            // The next change of single entries must find all the others there. If this fails, that
            // change will write all of them.
            if wasLeftBehind { try? replaceLedger(with: ledger) }
            return ledger
        } catch let problem as LedgerProblem {
            throw problem
        } catch {
            throw .damaged("\(error)")
        }
    }

    /// Plays local files over a ledger that a kill left behind or half-way.
    ///
    /// The file of the ledger's own TXID too: its entries may have been on their way.
    private func replay(onto ledger: inout PageLedger, through target: TXID) throws {
        for file in try meta.files() where file.maxTXID >= ledger.txid && file.maxTXID <= target {
            guard file.minTXID <= ledger.txid.next else { break }
            let (header, pages) = try pages(of: file)
            guard header.pageSize == ledger.pageSize else { break }
            ledger.apply(txid: file.maxTXID, commit: header.commit, pages: pages)
        }
    }

    /// Decodes a local file whole; its header, and the checksum of each page.
    private func pages(
        of file: BucketFile
    ) throws -> (header: LTXHeader, pages: [(pgno: Pgno, checksum: Checksum)]) {
        let reader = SequentialReader(
            try FileDescriptor(reading: meta.path(level: file.level, name: file.name))
        )
        var decoder = try LTXDecoder { try reader.read(into: $0) }
        let page = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(decoder.header.pageSize),
            alignment: 16
        )
        defer { page.deallocate() }
        var pages: [(pgno: Pgno, checksum: Checksum)] = []
        while let pgno = try decoder.nextPage(into: page) {
            let bytes = UnsafeRawBufferPointer(page)
            pages.append((pgno, pageChecksum(pgno: pgno, page: bytes)))
        }
        _ = try decoder.finish()
        return (decoder.header, pages)
    }

    /// Moves the ledger on to a file that was just made, on disk too.
    func advanceLedger(to ledger: PageLedger, changed: [Pgno], grownFrom: UInt32) throws {
        loadedLedger = ledger
        guard ledgerFileIsWhole else { return try replaceLedger(with: ledger) }
        ledgerFileIsWhole = false
        do {
            try ledgerFile.update(to: ledger, changed: changed, grownFrom: grownFrom)
        } catch let error as FileError where error.isMissing {
            return try replaceLedger(with: ledger)
        }
        ledgerFileIsWhole = true
    }

    /// Takes a ledger that was computed from the database itself at the state's TXID.
    func mendLedger(with ledger: PageLedger) throws {
        try replaceLedger(with: ledger)
        state.made.checksum = ledger.checksum
        try saveState()
    }

    func replaceLedger(with ledger: PageLedger) throws {
        loadedLedger = ledger
        ledgerFileIsWhole = false
        try ledgerFile.replace(with: ledger)
        ledgerFileIsWhole = true
    }

    /// Forgets what is in memory, which may be ahead of what was published.
    func reloadLedger() {
        loadedLedger = nil
    }

    private static func newLineage() -> String {
        var random = SystemRandomNumberGenerator()
        let digits = String(UInt128.random(in: 0...UInt128.max, using: &random), radix: 16)
        return String(repeating: "0", count: 32 - digits.count) + digits
    }
}

/// Reads a descriptor from its start, for a decoder's closure.
final class SequentialReader {
    private let file: FileDescriptor
    private var offset: Int64 = 0

    init(_ file: consuming FileDescriptor) {
        self.file = file
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(FileError) -> Int {
        let count = try file.read(at: offset, into: buffer)
        offset += Int64(count)
        return count
    }
}
