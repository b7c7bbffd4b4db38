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
    /// - Returns: The snapshot that was put into the bucket.
    /// - Throws: `WriteRejection`, `IngestError`; `BucketError`, `FileError`.
    func ingest(_ image: IngestImage, _ claim: WriteClaim) async throws -> BucketFile {
        try await exclusively {
            try await refresh()
            if case .reject(let reason) = fence().judgeIngest(by: claim) {
                throw WriteRejection(reason: reason)
            }
            try DurableFiles.makeDirectories(directory)
            let before = stateFile.state.lineage
            // First, so that a kill in between leaves the old history under a new name, which is
            // looked into, and never a new one under the old name.
            if claim.baseTXID == nil {
                var generator = SystemRandomNumberGenerator()
                try set(lineage: UploadID(random: &generator).description)
            } else if let lineage = claim.lineage, lineage != before {
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
                try set(lineage: before)
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
}
