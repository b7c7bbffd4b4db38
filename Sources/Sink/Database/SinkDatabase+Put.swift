package import Bucket
import DurableFiles
import LTXCodec

/// How a write ended.
package enum WriteOutcome: Sendable {
    /// 200, with the file as a listing shows it.
    case stored(BucketFile)
    /// 409, with a line that says why.
    case rejected(String)
    /// 400: the file cannot stand where it wants to.
    case unfit(String)
}

extension SinkDatabase {
    /// Looks whether a file would be refused, before its body comes; commits nothing.
    package func advise(_ offer: OfferedFile, _ claim: WriteClaim) async throws -> String? {
        try await refresh()
        let isTaken = index.file(level: offer.level, name: offer.name) != nil
        guard case .reject(let reason) = fence().judge(offer, by: claim, isTaken: isTaken) else {
            return nil
        }
        return reason
    }

    /// Judges a file that is all there and verified, and stores it: one step.
    ///
    /// - Parameters:
    ///   - offer: Where it would stand.
    ///   - claim: What its writer says.
    ///   - source: The file, on the file system of the bucket; it must not change any more.
    ///   - sizeInBytes: Its size.
    ///   - verified: What was read in it.
    ///   - intake: Who read it, if that was while it came.
    /// - Returns: The file as it is listed, or why it is not taken.
    /// - Throws: `BucketError`, `FileError`, `SinkError`.
    package func put(
        _ offer: OfferedFile,
        _ claim: WriteClaim,
        source: String,
        sizeInBytes: Int64,
        verified: VerifiedFile,
        intake: FileIntake? = nil
    ) async throws -> WriteOutcome {
        try await exclusively {
            try await refresh()
            let isTaken = index.file(level: offer.level, name: offer.name) != nil
            let file = BucketFile(
                level: offer.level,
                name: offer.name,
                sizeInBytes: sizeInBytes,
                timestamp: verified.header.timestamp
            )
            switch fence().judge(offer, by: claim, isTaken: isTaken) {
            case .reject(let reason): return .rejected(reason)
            case .mustBeIdentical: break
            case .accept, .replace:
                if let reason = verified.refusal(after: try await state(before: offer.name)) {
                    return .unfit(reason)
                }
            }
            try DurableFiles.makeDirectories(directory)
            try adopt(claim.lineage)
            do {
                try await bucket.put(source, as: file)
            } catch BucketError.conflict(let level, let name) {
                guard offer.level > 0 else {
                    return .rejected("\(level)/\(name) is here with other bytes")
                }
                try replace(file, with: source)
            }
            let stored = try await bucket.stat(level: file.level, name: file.name) ?? file
            try index.stored(stored)
            // Of the files that end there, the one on level 0 is what writers know.
            if stored.maxTXID == index.head, stored.level == 0 || headFacts?.txid != index.head {
                headFacts = stored.level == 0 ? HeadFacts(verified) : nil
            }
            try renewLease(claim)
            start(after: intake)
            announce(stored, claim.checksum)
            return .stored(stored)
        }
    }

    /// Page size and commit of the state before a file, where a file ends there.
    ///
    /// In an empty bucket, and before a range that begins where no file ends, nothing is known.
    private func state(
        before name: LTXFileName
    ) async throws -> (pageSize: UInt32, commit: UInt32)? {
        let previous = TXID(name.minTXID.rawValue - 1)
        guard previous > .zero else { return nil }
        if let headFacts, headFacts.txid == previous {
            return (headFacts.pageSize, headFacts.commit)
        }
        guard let file = index.file(endingAt: previous) else { return nil }
        let reader = try await bucket.open(file)
        let header = try LTXHeader(of: reader)
        return (header.pageSize, header.commit)
    }

    /// Takes the first lineage that is named for a database that has none.
    ///
    /// Noted before the file is stored: an empty bucket takes any lineage, so a note without a
    /// file binds nobody.
    private func adopt(_ lineage: String?) throws {
        guard let lineage else {
            // Files of nobody's lineage must not count to that of a bucket that was wiped.
            if index.isEmpty, stateFile.state.lineage != nil { try set(lineage: nil) }
            return
        }
        if lineage != stateFile.state.lineage { try set(lineage: lineage) }
    }

    func set(lineage: String?) throws {
        var state = stateFile.state
        state.lineage = lineage
        try stateFile.set(state)
    }

    /// Puts a new summary in the place of one of the same name.
    private func replace(_ file: BucketFile, with source: String) throws(FileError) {
        let descriptor = try FileDescriptor(reading: source)
        try descriptor.setModified(file.timestamp)
        try descriptor.sync()
        let target = bucket.path(level: file.level, name: file.name)
        try DurableFiles.rename(source, to: target)
        try DurableFiles.syncDirectory(of: target)
    }

    func renewLease(_ claim: WriteClaim) throws {
        guard let writer = claim.writer else { return }
        var state = stateFile.state
        state.lease = WriterLease(writer: writer, writtenAt: options.now())
        try stateFile.set(state)
    }

    /// Tells the live copy and the followers; waits for neither.
    func announce(_ file: BucketFile, _ checksum: Checksum) {
        if checksum.isPresent {
            let (live, txid) = (live, file.maxTXID)
            Task { try? await live.expect(checksum, at: txid) }
        }
        live.wake(file)
        feedAll()
    }
}

extension LTXHeader {
    /// Reads the header of a file of a bucket.
    init(of reader: any RandomReader) throws {
        var bytes = [UInt8](repeating: 0, count: LTXHeader.size)
        let count = try bytes.withUnsafeMutableBytes { try reader.read(at: 0, into: $0) }
        self = try bytes[..<count].withUnsafeBytes { bytes throws in
            try LTXHeader(decoding: bytes)
        }
    }
}
