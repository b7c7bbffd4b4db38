import DurableFiles
import Wire

extension SinkService {
    /// The headers of a target that its answer depends on, also when the bytes come later.
    private static let keptHeaders = [
        WireHeader.writerID, WireHeader.writerTakeover, WireHeader.lineage, WireHeader.checksum,
        WireHeader.baseTXID, WireHeader.timestamp,
    ]

    /// A request to a target: a whole file, or the beginning of an upload resource.
    func prepareCreation(
        _ head: RequestHead,
        _ database: SinkDatabase
    ) async throws -> Preparation {
        // Who keeps no uploads knows nothing of their headers.
        guard options.maxUploads > 0 else { return .receive(limit: options.maxUpload) }
        let length: Int64? = if case .length(let length) = head.framing { length } else { nil }
        let creation: UploadCreation
        do throws(UploadCreation.Refusal) {
            creation = try UploadCreation(UploadHeaders { head[$0] }, contentLength: length)
        } catch {
            switch error {
            case .unsupportedInterop:
                return .refuse(.refusal(400, UploadCreation.Refusal.interopReason))
            case .problem(let problem): return .refuse(.refusal(.problem(problem)))
            }
        }
        guard case .resource(let dialect, let total) = creation else {
            return .receive(limit: options.maxUpload)
        }
        var target = head.path
        if !head.query.isEmpty { target += "?" + head.query }
        let order = UploadOrder(
            method: head.method,
            target: target,
            headers: Self.keptHeaders.compactMap { name in
                head[name].map { UploadOrder.Header(name: name, value: $0) }
            },
            length: total,
            dialect: dialect
        )
        // What is never taken is not asked to come again when there is room.
        if let total, total > options.maxUpload {
            return .refuse(.refusal(UploadRefusal.tooLarge(limit: options.maxUpload)))
        }
        if let refusal = try await noRoom(database, for: total ?? 0) { return .refuse(refusal) }
        do {
            let sink = try await database.beginUpload(order)
            try await readWhileItComes(sink.id, database, length: total)
            return .feed(sink)
        } catch let refusal as UploadRefusal {
            return .refuse(.refusal(refusal))
        }
    }

    /// A request that appends to an upload resource.
    func preparePart(
        _ head: RequestHead,
        _ name: DatabaseName,
        _ id: UploadID
    ) async throws -> Preparation {
        guard let database = await existing(name) else {
            return .refuse(.refusal(UploadRefusal.missing))
        }
        let length: Int64? = if case .length(let length) = head.framing { length } else { nil }
        let part: UploadPart
        do throws(UploadPart.Refusal) {
            part = try UploadPart(
                UploadHeaders { head[$0] },
                mediaType: head["content-type"],
                contentLength: length
            )
        } catch {
            switch error {
            case .malformed(let why): return .refuse(.refusal(400, why))
            case .mediaType:
                return .refuse(.refusal(415, "a part is \(WireHeader.partialUpload)"))
            case .problem(let problem): return .refuse(.refusal(.problem(problem)))
            }
        }
        if let refusal = try await noRoom(database, for: length ?? 0) { return .refuse(refusal) }
        do {
            switch try await database.uploads().append(part, to: id) {
            case .answered(let answer):
                return .refuse(Self.response(answer, dialect: part.dialect))
            case .append(let append):
                // Begun by an earlier process, or read for too long: one more look at all of it.
                if part.isLast { try await readWhileItComes(id, database, length: part.length) }
                return .feed(UploadSink(append, id: id, dialect: part.dialect, isNew: false))
            }
        } catch let refusal as UploadRefusal {
            return .refuse(.refusal(refusal))
        }
    }

    /// The body of an append, or of a creation, is all there.
    func finish(
        _ sink: any BodySink,
        _ name: DatabaseName,
        _ head: RequestHead
    ) async throws -> HTTPResponse {
        guard let sink = sink as? UploadSink else { return .refusal(404, "not found") }
        let database = catalog.open(name)
        do {
            let store = try await database.uploads()
            switch try await database.end(sink.append) {
            case .partial(let offset):
                guard sink.isNew else {
                    return HTTPResponse(
                        sink.dialect.appendedStatus,
                        headers: sink.dialect.partHeaders(offset: offset)
                    )
                }
                let headers = sink.dialect.createdHeaders(
                    location: "/db/\(name)\(DatabaseRoute.upload(sink.id).target)",
                    offset: offset,
                    limits: store.announced
                )
                return HTTPResponse(201, headers: headers)
            case .whole(let delivery):
                return try await deliver(delivery, to: database, dialect: sink.dialect)
            }
        } catch let refusal as UploadRefusal {
            return .refusal(refusal)
        }
    }

    /// Hands a whole upload to its target, and keeps what that answers.
    private func deliver(
        _ delivery: UploadDelivery,
        to database: SinkDatabase,
        dialect: UploadDialect
    ) async throws -> HTTPResponse {
        var head = RequestHead(method: delivery.order.method, target: delivery.order.target)
        for header in delivery.order.headers { head.add(header.name, header.value) }
        var response: HTTPResponse
        do {
            guard
                case .database(let name, let route)? = try? Route(
                    path: head.path,
                    query: head.query
                )
            else { throw UploadRefusal.missing }
            let upload = KeptUpload(
                id: delivery.id,
                path: delivery.path,
                count: delivery.sizeInBytes,
                intake: try await database.uploads().follower(of: delivery.id) as? FileIntake
            )
            let body = RequestBody.kept(upload)
            response = try await write(HTTPRequest(head, body: body), name, route)
        } catch {
            response = failure(error, database.name)
        }
        let answer = UploadAnswer(
            status: response.status,
            mediaType: response["content-type"] ?? "text/plain",
            body: String(decoding: response.bytes, as: UTF8.self)
        )
        try await database.settle(delivery.id, answer)
        response.headers += dialect.headers(isComplete: true)
        return response
    }

    /// `HEAD` of an upload resource.
    func uploadState(
        _ database: SinkDatabase,
        _ id: UploadID,
        _ request: HTTPRequest
    ) async throws -> HTTPResponse {
        guard let dialect = UploadHeaders({ request.head[$0] }).dialect else {
            return .refusal(400, UploadCreation.Refusal.interopReason)
        }
        do {
            let store = try await database.uploads()
            let status = try await database.status(of: id)
            return HTTPResponse(
                204,
                headers: dialect.stateHeaders(
                    offset: status.offset,
                    length: status.length,
                    isComplete: status.isComplete,
                    limits: store.announced
                )
            )
        } catch let refusal as UploadRefusal {
            return .refusal(refusal)
        }
    }

    /// `OPTIONS` of a target: what uploads to it may take.
    func uploadOptions(_ head: RequestHead, _ route: DatabaseRoute) -> HTTPResponse {
        var headers = [
            (name: "allow", value: RouteRules(route).methods.joined(separator: ", "))
        ]
        if options.maxUploads > 0, let dialect = UploadHeaders({ head[$0] }).dialect {
            var limits = UploadStore.Limits()
            limits.maxSize = options.maxUpload
            headers.append((WireHeader.uploadLimit, limits.announced.text(dialect)))
            if let version = dialect.interopVersion {
                headers.append((WireHeader.uploadInterop, "\(version)"))
            }
        }
        return HTTPResponse(204, headers: headers)
    }

    func cancelUpload(_ name: DatabaseName, _ id: UploadID) async throws -> HTTPResponse {
        guard let database = await existing(name) else { return .refusal(UploadRefusal.missing) }
        do {
            try await database.cancelUpload(id)
            return HTTPResponse(204)
        } catch let refusal as UploadRefusal {
            return .refusal(refusal)
        }
    }

    private static func response(_ answer: UploadAnswer, dialect: UploadDialect) -> HTTPResponse {
        .text(
            answer.body,
            status: answer.status,
            type: answer.mediaType,
            headers: dialect.headers(isComplete: true)
        )
    }
}

extension HTTPResponse {
    /// The answer to an upload that goes no further.
    static func refusal(_ refusal: UploadRefusal) -> HTTPResponse {
        // Whose refusal it is: not the target's.
        var headers = [(name: WireHeader.uploadComplete, value: "?0")]
        if let seconds = refusal.retryAfter { headers.append(("retry-after", "\(seconds)")) }
        if case .problem(.mismatchingOffset(let expected, _)) = refusal {
            headers.append((WireHeader.uploadOffset, "\(expected)"))
        }
        return .text(
            refusal.reason + "\n",
            status: refusal.status,
            type: refusal.mediaType,
            headers: headers
        )
    }
}

/// The bytes of one append, on their way into the part file.
final class UploadSink: BodySink {
    let append: UploadAppend
    let id: UploadID
    let dialect: UploadDialect
    /// The request made the resource.
    let isNew: Bool

    init(_ append: UploadAppend, id: UploadID, dialect: UploadDialect, isNew: Bool) {
        self.append = append
        self.id = id
        self.dialect = dialect
        self.isNew = isNew
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> HTTPResponse? {
        do throws(UploadRefusal) {
            try append.write(bytes)
            return nil
        } catch {
            return .refusal(error)
        }
    }

    func abandon() {
        append.abandon()
    }
}

extension SinkDatabase {
    // The store's calls block for the disk: they run on the database's thread.

    func beginUpload(_ order: UploadOrder) throws -> UploadSink {
        let store = try uploads()
        let id = try store.create(order)
        let part = UploadPart(
            dialect: order.dialect,
            offset: 0,
            isLast: false,
            length: order.length
        )
        guard case .append(let append) = try store.append(part, to: id) else {
            throw UploadRefusal.missing
        }
        return UploadSink(append, id: id, dialect: order.dialect, isNew: true)
    }

    func end(_ append: UploadAppend) throws -> UploadProgress {
        try append.end()
    }

    func settle(_ id: UploadID, _ answer: UploadAnswer) throws {
        try uploads().settle(id, answer)
    }

    func status(of id: UploadID) throws -> UploadStatus {
        try uploads().status(id)
    }

    func cancelUpload(_ id: UploadID) throws {
        try uploads().cancel(id)
    }
}
