import Bucket
import DurableFiles
import LTXCodec
import Replica
import SQLiteWAL

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

extension Replicator {
    /// Uploads the whole database after retryable pushes in a row that did not move a byte.
    ///
    /// It becomes the base of the same lineage, so the next push is a delta again; the streak
    /// stays as it is, since only a push can show that pushes work.
    func ingestIfDue(_ record: inout PushRecord) async {
        guard let session, let live, case .retryable(let reason, _) = record.outcome,
            reason.isOfTransfer, !postponesSnapshots,
            session.state.streak.opensIngest(lastPushMoved: record.moved)
        else { return }
        do {
            // Who cannot be reached costs no copy, and a conflict is not healed by one.
            let condition = try await live.condition()
            guard try fits(session, condition) else { return }
            let image = try stagedImage(session, above: condition.head) ?? stage(session)
            record.ingest = IngestReport(
                txid: image.txid,
                bytes: image.sizeInBytes,
                failure: nil
            )
            let lineage = session.lineage(for: bucket)
            let facts = WriteFacts(
                writer: session.state.lineage,
                lineage: lineage,
                checksum: image.checksum,
                takesOver: session.takesOver
            )
            try await keepingUp {
                try await live.ingest(
                    image.path,
                    at: image.txid,
                    timestamp: image.timestamp,
                    facts: facts
                )
            }
            session.state.acknowledged[bucket.address.description] = .init(
                txid: image.txid,
                fileChecksum: .none,
                lineage: lineage
            )
            try session.saveState()
            try session.prune(for: bucket)
            try removeStaged(session)
        } catch {
            if record.ingest == nil {
                record.notes.append("no whole-database upload: \(error)")
            } else {
                record.ingest?.failure = "\(error)"
            }
        }
    }

    /// Whether the server holds what it acknowledged, or nothing, or less of it.
    private func fits(_ session: Session, _ condition: LiveCondition) throws -> Bool {
        guard condition.head > .zero else { return true }
        guard let acknowledged = session.acknowledged(by: bucket) else { return false }
        return condition.head <= acknowledged.txid
            && (condition.lineage == nil || condition.lineage == acknowledged.lineage)
    }

    // MARK: Staging

    /// A compressed image of the database at a TXID.
    private struct StagedImage {
        var path: String
        var txid: TXID
        var timestamp: Int64
        var checksum: Checksum
        var sizeInBytes: Int64

        static let prefix = "ingest-"
        static let suffix = ".sqlite.zst"

        static func name(_ txid: TXID, _ timestamp: Int64, _ checksum: Checksum) -> String {
            "\(prefix)\(txid)-\(timestamp)-\(checksum)\(suffix)"
        }

        /// Reads a name; `nil` for any other file.
        init?(_ name: String, in directory: String) throws(FileError) {
            guard name.hasPrefix(Self.prefix), name.hasSuffix(Self.suffix) else { return nil }
            let parts = name.dropFirst(Self.prefix.count).dropLast(Self.suffix.count)
                .split(separator: "-")
            guard parts.count == 3, let txid = TXID(String(parts[0])),
                let timestamp = Int64(parts[1]), let checksum = UInt64(parts[2], radix: 16)
            else { return nil }
            path = Path.join(directory, name)
            self.txid = txid
            self.timestamp = timestamp
            self.checksum = Checksum(rawValue: checksum)
            guard let status = try FileStatus.of(path) else { return nil }
            sizeInBytes = status.sizeInBytes
        }
    }

    private func staged(_ session: Session) throws(FileError) -> [StagedImage] {
        var images: [StagedImage] = []
        for name in try DurableFiles.list(session.meta.path) {
            if let image = try StagedImage(name, in: session.meta.path) { images.append(image) }
        }
        return images
    }

    /// The database checksum of an image that is staged at a TXID.
    func stagedChecksum(_ session: Session, at txid: TXID) throws(FileError) -> Checksum? {
        try staged(session).first { $0.txid == txid }?.checksum
    }

    func removeStaged(_ session: Session) throws(FileError) {
        for image in try staged(session) { try DurableFiles.remove(image.path) }
    }

    /// An image of an earlier attempt, so that its upload can go on.
    ///
    /// It must be a state that the files behind it continue.
    private func stagedImage(_ session: Session, above head: TXID) throws -> StagedImage? {
        let images = try staged(session).filter { $0.txid >= head }
        guard let newest = images.max(by: { $0.txid < $1.txid }) else { return nil }
        let files = try session.meta.files()
        let isBoundary =
            newest.txid == session.state.made.txid
            || files.contains { $0.minTXID == newest.txid.next }
        return try isBoundary && session.leads(from: newest.txid) ? newest : nil
    }

    /// Writes the database as it is at the newest TXID, compressed, beside the state.
    ///
    /// It is read as a snapshot is, through the WAL and under a read transaction, so nothing is
    /// checkpointed and no second copy needs room.
    private func stage(_ session: Session) throws -> StagedImage {
        try removeStaged(session)
        return try progress.during("staging the database") { try stageInPlace(session) }
    }

    private func stageInPlace(_ session: Session) throws -> StagedImage {
        try session.custody.whileReading {
            for _ in 0..<10 {
                _ = try sync(session)
                let source: SourcePages
                switch session.state.made.place {
                case .cursor(let cursor):
                    source = try session.custody.source(through: max(1, cursor.nextFrame - 1))
                case .atRest, .unknown:
                    source = try session.custody.source()
                }
                guard try session.isAtPlace(source) else { continue }
                let image = try write(source, session)
                if try source.isStillValid() { return image }
                try DurableFiles.remove(image.path)
            }
            throw ReplicationError.unsteady
        }
    }

    private func write(_ source: SourcePages, _ session: Session) throws -> StagedImage {
        try session.requireRoom(for: Int64(source.commit) * Int64(session.custody.pageSize) / 2)
        let made = session.state.made
        let timestamp = options.now()
        let name = StagedImage.name(made.txid, timestamp, made.checksum)
        let file = try DurableFile(Path.join(session.meta.path, name))
        let lock = lockPgno(pageSize: session.custody.pageSize)
        let pageSize = Int(session.custody.pageSize)
        var next: Pgno = 1
        try Zstandard.compress(level: 1) { buffer in
            var filled = 0
            while next <= source.commit, filled + pageSize <= buffer.count {
                let page = UnsafeMutableRawBufferPointer(
                    rebasing: buffer[filled..<filled + pageSize]
                )
                if next == lock {
                    // Nothing is ever stored there, but it takes its room.
                    page.initializeMemory(as: UInt8.self, repeating: 0)
                } else {
                    try source.read(next, into: page)
                }
                filled += pageSize
                next += 1
            }
            return filled
        } write: {
            try file.write($0)
        }
        try file.publish()
        guard let image = try StagedImage(name, in: session.meta.path) else {
            throw FileError(.stat, file.path, code: ENOENT)
        }
        return image
    }
}

extension RetryReason {
    /// The way to the server failed, not what lies at its ends.
    fileprivate var isOfTransfer: Bool {
        switch self {
        case .network, .timeout, .shortBody, .serverError: true
        case .lockBusy, .deviceFull, .bucketFull, .ioError, .throttled, .lineageConflict,
            .cancelled, .windowExpired:
            false
        }
    }
}
