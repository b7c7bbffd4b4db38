import Bucket
import DurableFiles

extension SinkDatabase {
    /// Deletes a file; one that is not there counts as deleted.
    ///
    /// - Returns: Why not, for a 409.
    package func delete(_ offer: OfferedFile, _ claim: WriteClaim) async throws -> String? {
        try await exclusively {
            try await refresh()
            if case .reject(let reason) = fence().judgeDeletion(by: claim) { return reason }
            if let file = index.file(level: offer.level, name: offer.name) {
                try await bucket.delete([file])
                index.forget(level: offer.level)
                headFacts = nil
                live.wake(nil)
            }
            if exists { try renewLease(claim) }
            feedAll()
            return nil
        }
    }

    /// Deletes every file and forgets the lineage; the live copy starts over with what comes next.
    ///
    /// - Returns: Why not, for a 409.
    package func deleteAll(_ claim: WriteClaim) async throws -> String? {
        try await exclusively {
            try await refresh()
            if case .reject(let reason) = fence().judgeDeletion(by: claim) { return reason }
            guard exists else { return nil }
            // The newest first: a kill half-way leaves the beginning of a history, not its end.
            for level in BucketFile.levels {
                let files = index.files(level: level)
                if !files.isEmpty { try await bucket.delete(files.reversed()) }
                index.forget(level: level)
            }
            headFacts = nil
            try set(lineage: nil)
            try renewLease(claim)
            await live.restart()
            feedAll()
            return nil
        }
    }
}
