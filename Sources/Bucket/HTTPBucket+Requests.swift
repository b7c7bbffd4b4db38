import LTXCodec
import Transfer
import Wire

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

extension HTTPBucket {
    /// A listing is never larger: a million files.
    private static let listingLimit = 64 << 20

    func url(_ route: DatabaseRoute) -> String {
        base + route.target
    }

    func request(
        _ method: HTTPRequest.Method,
        _ route: DatabaseRoute,
        headers: HTTPHeaders = HTTPHeaders(),
        body: RequestBody = .none
    ) -> HTTPRequest {
        request(method, url: url(route), headers: headers, body: body)
    }

    func request(
        _ method: HTTPRequest.Method,
        url: String,
        headers: HTTPHeaders = HTTPHeaders(),
        body: RequestBody = .none
    ) -> HTTPRequest {
        var headers = headers
        if let token = options.token {
            headers.append("authorization", token.authorization)
        }
        return HTTPRequest(method, url, headers: headers, body: body)
    }

    /// The headers of a write: who writes, of which lineage, and what the database is after it.
    func headers(of facts: WriteFacts) -> HTTPHeaders {
        var headers = HTTPHeaders()
        headers.set(WireHeader.writerID, facts.writer ?? options.writerID)
        headers.set(WireHeader.writerTakeover, facts.takesOver ? "1" : nil)
        headers.set(WireHeader.lineage, facts.lineage)
        headers.set(WireHeader.checksum, facts.checksum.isPresent ? "\(facts.checksum)" : nil)
        return headers
    }

    /// Asks, and takes any answer.
    nonisolated(nonsending) func answer(
        to request: HTTPRequest,
        limit: Int = 1 << 20
    ) async throws(BucketError) -> HTTPResponse {
        do throws(TransferFailure) {
            return try await client.send(request, limit: limit)
        } catch {
            throw .transfer(error)
        }
    }

    /// Asks, and takes anything but a success of this protocol for an error.
    nonisolated(nonsending) func ask(
        _ request: HTTPRequest,
        limit: Int = 1 << 20
    ) async throws(BucketError) -> HTTPResponse {
        let response = try await answer(to: request, limit: limit)
        if let failure = TransferFailure(response, url: request.url) { throw .transfer(failure) }
        return response
    }

    nonisolated(nonsending) func list(
        level: Int,
        from seek: TXID
    ) async throws(BucketError) -> [BucketFile] {
        precondition(BucketFile.levels.contains(level), "no such level")
        let target = url(.level(level, seek: seek))
        // The server then looks for the true time of each file, if that takes a look.
        let request = request(.get, url: target + (seek == .zero ? "?meta=1" : "&meta=1"))
        let response = try await ask(request, limit: Self.listingLimit)
        guard response.hasMarkedEnd else {
            throw .transfer(
                TransferFailure(
                    .badAnswer,
                    url: request.url,
                    detail: "a listing without its length: cut short, it would pass for a whole one"
                )
            )
        }
        var files: [BucketFile] = []
        for line in Listing.lines(response.body) {
            // A server that does not know `seek` lists more than was asked for.
            guard line.name.minTXID >= seek else { continue }
            files.append(try await file(line, level: level))
        }
        return files.sorted()
    }

    /// The entry of a line; a time that the server does not know is read from the file's header.
    nonisolated(nonsending) private func file(
        _ line: ListingLine,
        level: Int
    ) async throws(BucketError) -> BucketFile {
        var timestamp = line.timestamp
        if timestamp == nil { timestamp = try await headerTimestamp(level: level, line.name) }
        return BucketFile(
            level: level,
            name: line.name,
            sizeInBytes: line.sizeInBytes,
            timestamp: timestamp ?? 0
        )
    }

    /// `nil` when the file is gone by now, or is no LTX file.
    nonisolated(nonsending) private func headerTimestamp(
        level: Int,
        _ name: LTXFileName
    ) async throws(BucketError) -> Int64? {
        let size = Int64(LTXHeader.size)
        do throws(BucketError) {
            let response = try await ask(
                request(.get, .file(level: level, name: name, offset: 0, size: size)),
                limit: LTXHeader.size
            )
            return response.body.withUnsafeBytes { try? LTXHeader(decoding: $0).timestamp }
        } catch {
            if case .transfer(let failure) = error, failure.kind == .missing { return nil }
            throw error
        }
    }
}

extension TransferFailure {
    /// What is wrong with an answer that has just come.
    init?(_ response: HTTPResponse, url: String) {
        self.init(response, url: url, now: Int64(time(nil)))
    }
}
