import Bucket
import DurableFiles
import LTXCodec
import Replica
import Wire

extension SinkService {
    /// Takes a whole database as the base of what follows.
    func ingest(
        _ body: RequestBody,
        _ name: DatabaseName,
        _ claim: WriteClaim
    ) async throws -> HTTPResponse {
        let source = try OfferedSource(body).onDisk(spool)
        let scratch = try spool.create()
        let database = catalog.open(name)
        let room = try room()
        do {
            // What it unpacks to must not fill the disk before anybody knows how much that is.
            let image = try await imageChecker.check(
                source.path,
                scratch: scratch.path,
                limit: min(options.maxUpload, room)
            )
            var upload: UploadID?
            if case .kept(let kept) = body { upload = kept.id }
            let file = try await database.ingest(image, claim, upload: upload)
            metrics.add(to: .ingests, .database(name), Metrics.Label("outcome", "accepted"))
            options.report(
                .ingested(
                    database: name.description,
                    txid: file.maxTXID,
                    bytes: image.sizeInBytes
                )
            )
            return .text("\(ListingLine(file))\n")
        } catch let error as IngestError {
            metrics.add(to: .ingests, .database(name), Metrics.Label("outcome", "refused"))
            switch error.kind {
            case .malformed: return .refusal(400, "\(error)")
            case .tooLarge:
                if room < options.maxUpload,
                    let refusal = try await noRoom(database, for: room + 1)
                {
                    return refusal
                }
                return .refusal(413, "\(error)")
            case .conflict: return ingestRefused(name, "\(error)")
            }
        } catch let error as WriteRejection {
            metrics.add(to: .ingests, .database(name), Metrics.Label("outcome", "refused"))
            return ingestRefused(name, error.reason)
        }
    }

    private func ingestRefused(_ name: DatabaseName, _ reason: String) -> HTTPResponse {
        options.report(.refused(database: name.description, reason: reason))
        return .refusal(409, reason)
    }

    /// Bytes that can be written without touching the reserve.
    private func room() throws -> Int64 {
        let space = try DiskSpace.of(options.data)
        return max(0, space.available - options.diskGuard.reserve.bytes(of: space.total))
    }
}
