import Bucket
import DurableFiles
import LTXCodec
import Wire

extension SinkService {
    // MARK: Before the body

    package func prepare(_ head: RequestHead) async -> Preparation {
        guard let route = try? Route(path: head.path, query: head.query),
            case .database(let name, let route) = route
        else { return .refuse(.refusal(404, "not found")) }
        let preparation: Preparation
        do {
            preparation = try await prepare(head, name, route)
        } catch {
            preparation = .refuse(failure(error, name))
        }
        guard case .refuse(let response) = preparation else { return preparation }
        count(response)
        return .refuse(await withCondition(response, name))
    }

    private func prepare(
        _ head: RequestHead,
        _ name: DatabaseName,
        _ route: DatabaseRoute
    ) async throws -> Preparation {
        if case .upload(let id) = route { return try await preparePart(head, name, id) }
        let claim: WriteClaim
        do throws(WriteClaim.Malformed) { claim = try WriteClaim { head[$0] } } catch {
            return .refuse(.refusal(400, error.reason))
        }
        let database = catalog.open(name)
        let incoming: Int64 = if case .length(let length) = head.framing { length } else { 0 }
        if let refusal = try await noRoom(database, for: incoming) { return .refuse(refusal) }
        if case .file(let level, let file, _, _) = route {
            let offer = OfferedFile(level: level, name: file)
            if let reason = try await database.advise(offer, claim) {
                return .refuse(refused(name, reason))
            }
        }
        return try await prepareCreation(head, database)
    }

    /// 507, when the disk has no room for so many bytes.
    func noRoom(_ database: SinkDatabase, for incoming: Int64) async throws -> HTTPResponse? {
        guard let reason = try await database.lacksRoom(for: incoming) else { return nil }
        options.report(.refused(database: database.name.description, reason: reason))
        return .refusal(
            507,
            "the disk of the sink is full: \(reason)",
            headers: [("retry-after", "\(DiskGuard.retryAfter)")]
        )
    }

    /// 409, and a word to whoever watches the sink.
    func refused(_ name: DatabaseName, _ reason: String) -> HTTPResponse {
        options.report(.refused(database: name.description, reason: reason))
        metrics.add(to: .pushes, .database(name), Metrics.Label("outcome", "conflict"))
        return .refusal(409, reason)
    }

    // MARK: With the body

    func write(
        _ request: HTTPRequest,
        _ name: DatabaseName,
        _ route: DatabaseRoute
    ) async throws -> HTTPResponse {
        if case .taken(let sink) = request.body {
            return try await finish(sink, name, request.head)
        }
        if case .upload(let id) = route { return try await cancelUpload(name, id) }
        let claim: WriteClaim
        do throws(WriteClaim.Malformed) { claim = try WriteClaim { request.head[$0] } } catch {
            return .refusal(400, error.reason)
        }
        switch (request.head.method, route) {
        case ("DELETE", .file(let level, let file, _, _)):
            let offer = OfferedFile(level: level, name: file)
            guard let database = await existing(name) else { return .text("") }
            return try await database.delete(offer, claim).map { refused(name, $0) } ?? .text("")
        case ("DELETE", .all):
            guard let database = await existing(name) else { return .text("") }
            return try await database.deleteAll(claim).map { refused(name, $0) } ?? .text("")
        case (_, .file(let level, let file, _, _)):
            return try await put(request.body, name, OfferedFile(level: level, name: file), claim)
        case (_, .ingest):
            return try await ingest(request.body, name, claim)
        default: return .refusal(404, "not found")
        }
    }

    private func put(
        _ body: RequestBody,
        _ name: DatabaseName,
        _ offer: OfferedFile,
        _ claim: WriteClaim
    ) async throws -> HTTPResponse {
        if let base = claim.baseTXID, base != offer.name.maxTXID {
            return .refusal(400, "\(WireHeader.baseTXID) is not the file's last TXID")
        }
        let source = try OfferedSource(body)
        var intake: FileIntake?
        if case .kept(let upload) = body { intake = upload.intake }
        let outcome: FileVerifier.Outcome
        if let known = await intake?.outcome() {
            outcome = known
        } else {
            intake = nil
            outcome = try await verifier.verify(offer.name, read: source.read)
        }
        let verified: VerifiedFile
        switch outcome {
        case .bad(let reason):
            metrics.add(to: .pushes, .database(name), Metrics.Label("outcome", "bad"))
            return .refusal(400, reason)
        case .good(let file): verified = file
        }
        let database = catalog.open(name)
        if let refusal = try await noRoom(database, for: body.isOnDisk ? 0 : body.count) {
            return refusal
        }
        let file = try source.onDisk(spool)
        switch try await database.put(
            offer,
            claim,
            source: file.path,
            sizeInBytes: body.count,
            verified: verified,
            intake: intake
        ) {
        case .rejected(let reason): return refused(name, reason)
        case .unfit(let reason):
            metrics.add(to: .pushes, .database(name), Metrics.Label("outcome", "bad"))
            return .refusal(400, reason)
        case .stored(let file):
            metrics.add(to: .pushes, .database(name), Metrics.Label("outcome", "accepted"))
            metrics.add(Double(file.sizeInBytes), to: .pushBytes, .database(name))
            return .text("\(ListingLine(file))\n")
        }
    }
}

extension RequestBody {
    /// It takes no more room than it has already.
    var isOnDisk: Bool {
        switch self {
        case .file, .kept: true
        case .none, .bytes, .taken: false
        }
    }
}

/// The bytes of an offered file, wherever they are.
struct OfferedSource {
    let read: @Sendable (Int64, UnsafeMutableRawBufferPointer) throws -> Int
    private let body: RequestBody

    init(_ body: RequestBody) throws(FileError) {
        self.body = body
        switch body {
        case .none, .taken: read = { _, _ in 0 }
        case .bytes(let bytes):
            read = { offset, buffer in
                let rest = bytes.dropFirst(Int(offset))
                let count = min(rest.count, buffer.count)
                buffer.copyBytes(from: rest.prefix(count))
                return count
            }
        case .file(let file):
            read = { try file.read(at: $0, into: $1) }
        case .kept(let upload):
            let file = OpenFile(try FileDescriptor(reading: upload.path))
            read = { try file.descriptor.read(at: $0, into: $1) }
        }
    }

    private final class OpenFile: Sendable {
        let descriptor: FileDescriptor

        init(_ descriptor: consuming FileDescriptor) {
            self.descriptor = descriptor
        }
    }

    /// A file of its own on the bucket's file system, and who keeps it there.
    func onDisk(_ spool: Spool) throws(FileError) -> (path: String, owner: SpoolFile?) {
        switch body {
        case .file(let file): return (file.path, file)
        case .kept(let upload): return (upload.path, nil)
        case .bytes(let bytes):
            let file = try spool.create()
            try file.append(bytes)
            return (file.path, file)
        case .none, .taken:
            let file = try spool.create()
            return (file.path, file)
        }
    }
}
