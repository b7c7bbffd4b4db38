import DurableFiles
import LTXCodec
import Transfer
import Wire

extension HTTPBucket {
    nonisolated(nonsending) public func put(_ source: String, as file: BucketFile) async throws {
        try await put(source, as: file, facts: WriteFacts())
    }

    nonisolated(nonsending) public func put(
        _ source: String,
        as file: BucketFile,
        facts: WriteFacts
    ) async throws {
        let local = try opened(source, sizeInBytes: file.sizeInBytes)
        let route = DatabaseRoute.file(level: file.level, name: file.name, offset: 0, size: 0)
        let upload = Upload(
            method: .put,
            url: url(route),
            headers: headers(of: file, facts),
            source: local,
            answerDeadline: options.http.deadlines.answer,
            checksum: facts.fileChecksum
        )
        let answer = try await send(upload)
        if let failure = TransferFailure(answer, url: upload.url) {
            guard failure.kind == .conflict else { throw BucketError.transfer(failure) }
            throw try await refusal(failure, of: local, as: file)
        }
        try confirm(answer, stored: file, url: upload.url)
    }

    /// Opens a local file that is about to be sent.
    func opened(_ path: String, sizeInBytes: Int64? = nil) throws(BucketError) -> FileSource {
        let source: FileSource
        do throws(FileError) { source = try FileSource(path) } catch { throw BucketError(error) }
        if let sizeInBytes, source.sizeInBytes != sizeInBytes {
            throw .sourceSize(path: path, expected: sizeInBytes, actual: source.sizeInBytes)
        }
        return source
    }

    private func headers(of file: BucketFile, _ facts: WriteFacts) -> HTTPHeaders {
        var headers = headers(of: facts)
        headers.set(WireHeader.timestamp, "\(file.timestamp)")
        // A snapshot ahead of the server's head is then the new base of the same lineage.
        if file.level == BucketFile.snapshotLevel, file.name.isSnapshot, facts.lineage != nil {
            headers.set(WireHeader.baseTXID, "\(file.maxTXID)")
        }
        return headers
    }

    /// Sends a file, so that it can go on after a break if it is large and the server can.
    ///
    /// - Returns: The target's own answer, whatever it is.
    /// - Throws: `BucketError` where there is none.
    nonisolated(nonsending) func send(_ upload: Upload) async throws(BucketError) -> HTTPResponse {
        if upload.source.sizeInBytes > options.plainLimit, !knowledge.lacksResumption {
            if let answer = try await sendResumably(upload) { return answer }
            knowledge.noteNoResumption()
        }
        return try await answer(to: upload.plainRequest(self), source: upload.source)
    }

    /// Sends a body from a file; a file that cannot be read is its own error.
    nonisolated(nonsending) func answer(
        to request: HTTPRequest,
        source: FileSource
    ) async throws(BucketError) -> HTTPResponse {
        do throws(BucketError) {
            return try await answer(to: request)
        } catch {
            if let failure = source.failure { throw BucketError(failure) }
            throw error
        }
    }

    /// Takes the server's word for what it stored, and makes sure that it is about our file.
    private func confirm(
        _ answer: HTTPResponse,
        stored file: BucketFile,
        url: String
    ) throws(BucketError) {
        guard let line = Listing.lines(answer.body).first, line.name == file.name,
            line.sizeInBytes == file.sizeInBytes
        else {
            throw .transfer(
                TransferFailure(
                    .badAnswer,
                    url: url,
                    status: answer.status,
                    detail: "the answer does not say that \(file.name) is stored"
                )
            )
        }
    }

    /// What a 409 means: other bytes under this name, or a file that the server does not want.
    ///
    /// A server answers the same bytes with success, but checks first who writes.
    nonisolated(nonsending) private func refusal(
        _ failure: TransferFailure,
        of source: FileSource,
        as file: BucketFile
    ) async throws -> BucketError {
        guard let there = try await stat(level: file.level, name: file.name),
            try await !isSame(source, there)
        else { return .fenced(reason: failure.detail) }
        return .conflict(level: file.level, name: file.name)
    }

    nonisolated(nonsending) private func isSame(
        _ source: FileSource,
        _ file: BucketFile
    ) async throws -> Bool {
        guard source.sizeInBytes == file.sizeInBytes else { return false }
        let reader = try await open(file)
        let size = 64 << 10
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * size, alignment: 16)
        defer { buffer.deallocate() }
        let ours = UnsafeMutableRawBufferPointer(rebasing: buffer[..<size])
        let theirs = UnsafeMutableRawBufferPointer(rebasing: buffer[size...])
        var offset: Int64 = 0
        while offset < file.sizeInBytes {
            let count = try source.read(at: offset, into: ours)
            guard count > 0, try reader.read(at: offset, into: theirs) == count,
                ours[..<count].elementsEqual(theirs[..<count])
            else { return false }
            offset += Int64(count)
        }
        return true
    }
}

/// A file on its way to a target.
struct Upload {
    var method: HTTPRequest.Method
    var url: String
    /// What the target is told.
    var headers: HTTPHeaders
    var source: FileSource
    /// How long the target may take once it has everything.
    var answerDeadline: Duration
    /// What the bytes are, where that is known: the same from wherever they are read.
    var checksum = Checksum.none

    /// All of it in one request.
    func plainRequest(_ bucket: HTTPBucket) -> HTTPRequest {
        var request = bucket.request(
            method,
            url: url,
            headers: headers,
            body: .file(source, 0..<source.sizeInBytes)
        )
        request.deadlines = deadlines(bucket)
        return request
    }

    func deadlines(_ bucket: HTTPBucket) -> Deadlines {
        var deadlines = bucket.options.http.deadlines
        deadlines.answer = answerDeadline
        return deadlines
    }
}
