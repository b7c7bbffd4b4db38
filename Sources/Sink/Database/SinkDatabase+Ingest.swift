import Bucket
import DurableFiles
import LTXCodec
import Replica
import Wire

/// 409, with a line that says why.
struct WriteRejection: Error {
    let reason: String
}

extension SinkDatabase {
    /// Makes a whole database the base of what follows.
    ///
    /// With a base TXID it is the database of this lineage at that TXID, and the lineage goes on.
    /// Without one it is somebody's file: a new lineage begins with it.
    ///
    /// - Parameters:
    ///   - image: What was uploaded, found sound.
    ///   - claim: What its sender says.
    ///   - upload: Which upload it came by. A sink that was killed before it could note its answer
    ///     is given it once more, and then goes on where it was.
    /// - Returns: The snapshot that was put into the bucket.
    /// - Throws: `WriteRejection`, `IngestError`; `BucketError`, `FileError`.
    func ingest(
        _ image: IngestImage,
        _ claim: WriteClaim,
        upload: UploadID? = nil
    ) async throws -> BucketFile {
        try await exclusively {
            try await refresh()
            if claim.baseTXID == nil, let file = product(of: upload) {
                start()
                return file
            }
            if case .reject(let reason) = fence().judgeIngest(by: claim) {
                throw WriteRejection(reason: reason)
            }
            try DurableFiles.makeDirectories(directory)
            let before = stateFile.state
            // First, so that a kill in between leaves the old history under a new name, which is
            // looked into, and never a new one under the old name.
            if claim.baseTXID == nil {
                try beginLineage(upload)
            } else if let lineage = claim.lineage, lineage != before.lineage {
                try set(lineage: lineage)
            }
            let report: IngestReport
            do {
                report = try await live.ingest(
                    image,
                    base: claim.baseTXID,
                    timestamp: claim.timestamp ?? options.now(),
                    checksum: claim.checksum
                )
            } catch {
                try stateFile.set(before)
                throw error
            }
            try await refresh()
            headFacts = nil
            try renewLease(claim)
            start()
            feedAll()
            return report.file
        }
    }

    /// What an earlier process made of an upload that began the lineage.
    private func product(of upload: UploadID?) -> BucketFile? {
        guard let upload, let origin = stateFile.state.origin, origin.upload == upload else {
            return nil
        }
        let name = LTXFileName(minTXID: TXID(1), maxTXID: origin.txid)
        return index.file(level: BucketFile.snapshotLevel, name: name)
    }

    /// Begins a new lineage, once for each upload.
    private func beginLineage(_ upload: UploadID?) throws {
        var state = stateFile.state
        if upload == nil || state.origin?.upload != upload {
            var generator = SystemRandomNumberGenerator()
            state.lineage = UploadID(random: &generator).description
        }
        state.origin = upload.map { DatabaseState.Origin(upload: $0, txid: index.head.next) }
        try stateFile.set(state)
    }
}
