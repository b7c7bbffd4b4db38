import DurableFiles
import LTXCodec
import Transfer
import Wire

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

extension HTTPBucket {
    /// Sends a file in parts, going on where an earlier attempt ended.
    ///
    /// - Returns: The target's own answer, whatever it is; `nil` from a server without any of this.
    nonisolated(nonsending) func sendResumably(
        _ upload: Upload
    ) async throws(BucketError) -> HTTPResponse? {
        var run = try ResumableUpload(self, upload)
        return try await run.run()
    }
}

/// One attempt at an upload in parts.
///
/// The place of the upload resource is durable before the first part goes out, so the next
/// attempt, of this process or another, asks for the offset and goes on there.
struct ResumableUpload {
    private let bucket: HTTPBucket
    private let upload: Upload
    private let file: UploadRecordFile
    private let target: String
    private let source: String
    private var record: UploadRecord?
    private var partSize: Int64
    /// What the server holds, as far as it said so.
    private var offset: Int64 = 0
    /// What it held when this attempt began.
    private var start: Int64?

    /// Parts are never made smaller than this, however bad the line.
    static let smallestPart: Int64 = 256 << 10
    /// What is tried once the whole did not get through.
    private static let usualPart: Int64 = 8 << 20
    /// Newest first: a server that knows an older draft only refuses the newer one.
    private static let interopVersions = ["8", "6"]

    private var size: Int64 { upload.source.sizeInBytes }

    init(_ bucket: HTTPBucket, _ upload: Upload) throws(BucketError) {
        self.bucket = bucket
        self.upload = upload
        // What was told when it began stays told: of a checksum or a claim that only a later
        // process knows, or no longer, nothing has to be sent again.
        var headers = upload.headers
        for name in [WireHeader.checksum, WireHeader.writerTakeover] { headers.set(name, nil) }
        let told = headers.lines.joined(separator: "\n")
        target = "\(upload.method.rawValue) \(upload.url) \(UploadRecord.crc(told))"
        file = UploadRecordFile(upload, directory: bucket.options.uploadRecords)
        guard !upload.checksum.isPresent else {
            source = "checksum \(upload.checksum)"
            partSize = bucket.options.partSize.map { max(1, $0) } ?? .max
            return
        }
        do throws(FileError) {
            let status = try upload.source.status()
            let identity = status.identity
            source = "\(identity.device) \(identity.inode) \(status.modifiedNanoseconds)"
        } catch {
            throw BucketError(error)
        }
        partSize = bucket.options.partSize.map { max(1, $0) } ?? .max
    }

    nonisolated(nonsending) mutating func run() async throws(BucketError) -> HTTPResponse? {
        if let answer = try await resume() { return answer }
        var creations = 0
        while true {
            if record == nil {
                // A resource that goes away time and again is no way to upload.
                guard creations < 3 else { return nil }
                creations += 1
                switch try await create() {
                case .created: break
                case .refused(let answer): return answer
                case .unsupported: return nil
                }
            }
            if start == nil { start = offset }
            if let answer = try await sendParts() { return answer }
        }
    }

    // MARK: The resource

    /// Takes up an earlier attempt, if there is one and the server still knows it.
    ///
    /// - Returns: The target's answer, if all had arrived and only the answer was lost.
    nonisolated(nonsending) private mutating func resume() async throws(BucketError)
        -> HTTPResponse?
    {
        guard let earlier = try file.load() else { return nil }
        guard earlier.target == target, earlier.sizeInBytes == size, earlier.source == source
        else {
            // Another file under the same name: what the server holds of the old one is waste.
            record = earlier
            let request = request(.delete)
            _ = try? await bucket.client.send(request)
            return try forget()
        }
        record = earlier
        partSize = min(partSize, earlier.partSize)
        switch try await askState() {
        case .at(let offset): self.offset = offset
        case .gone: return try forget()
        case .failed(let failure): throw .transfer(failure)
        case .complete:
            let request = request(.patch, headers: partHeaders(isLast: true, at: size))
            let answer = try await bucket.answer(to: request)
            switch UploadAnswer.part(answer, url: request.url, sent: size..<size, size: size) {
            case .final:
                _ = try forget()
                return answer
            case .failed(let failure) where failure.kind.isRetryable: throw .transfer(failure)
            // Its answer is lost for good; the same bytes again are accepted.
            default: return try forget()
            }
        }
        return nil
    }

    private enum Creation {
        case created
        /// The target has answered already.
        case refused(HTTPResponse)
        case unsupported
    }

    /// Makes an upload resource.
    nonisolated(nonsending) private mutating func create() async throws(BucketError) -> Creation {
        for version in Self.interopVersions {
            var headers = upload.headers
            headers.set(WireHeader.uploadComplete, "?0")
            headers.set(WireHeader.uploadLength, "\(size)")
            headers.set(WireHeader.uploadInterop, version)
            let request = bucket.request(upload.method, url: upload.url, headers: headers)
            let answer = try await bucket.answer(to: request)
            switch UploadAnswer.creation(answer, url: request.url) {
            case .created(let location, let offset):
                let record = UploadRecord(
                    target: target,
                    location: location,
                    sizeInBytes: size,
                    source: source,
                    interop: version,
                    partSize: partSize
                )
                try file.save(record)
                self.record = record
                self.offset = min(offset, size)
                return .created
            case .unsupported:
                // Only a server that speaks of versions may know another one.
                if answer.headers[WireHeader.uploadInterop] == nil { return .unsupported }
            case .failed(let failure):
                if failure.kind == .conflict { return .refused(answer) }
                throw .transfer(failure)
            }
        }
        return .unsupported
    }

    /// Forgets the resource.
    private mutating func forget() throws(BucketError) -> HTTPResponse? {
        record = nil
        offset = 0
        try file.remove(now: Int64(time(nil)) * 1000)
        return nil
    }

    nonisolated(nonsending) private func askState() async throws(BucketError) -> UploadAnswer.State
    {
        let request = request(.head)
        return UploadAnswer.state(
            try await bucket.answer(to: request),
            url: request.url,
            size: size
        )
    }

    // MARK: Parts

    /// Sends parts until the target answers.
    ///
    /// - Returns: The target's answer; `nil` when the resource is gone.
    nonisolated(nonsending) private mutating func sendParts() async throws(BucketError)
        -> HTTPResponse?
    {
        var corrections = 0
        while true {
            let range = offset..<(size - offset <= partSize ? size : offset + partSize)
            let request = partRequest(range)
            let answer: HTTPResponse
            do throws(BucketError) {
                answer = try await bucket.answer(to: request, source: upload.source)
            } catch {
                guard case .transfer(let failure) = error else { throw error }
                throw await lost(failure, sent: range)
            }
            switch UploadAnswer.part(answer, url: request.url, sent: range, size: size) {
            case .stored(let offset):
                corrections = offset > self.offset ? 0 : corrections + 1
                self.offset = offset
            case .mismatch(let offset):
                corrections += 1
                self.offset = offset
            case .final:
                _ = try forget()
                return answer
            case .gone: return try forget()
            case .tooLarge:
                guard partSize > Self.smallestPart else {
                    throw .transfer(
                        TransferFailure(
                            .refused,
                            url: request.url,
                            status: answer.status,
                            detail: "a part of \(partSize) bytes is too large"
                        )
                    )
                }
                try shrinkParts()
            case .failed(let failure): throw await lost(failure, sent: range)
            }
            guard corrections < 4 else {
                throw .transfer(
                    TransferFailure(
                        .badAnswer,
                        url: request.url,
                        detail: "the server's offset does not move: it stays at \(offset)"
                    )
                )
            }
        }
    }

    /// After a part that failed: what the server got of it after all.
    ///
    /// A line that takes no part of this size may take a smaller one.
    nonisolated(nonsending) private mutating func lost(
        _ failure: TransferFailure,
        sent: Range<Int64>
    ) async -> BucketError {
        var failure = failure
        if failure.kind.isRetryable, failure.kind != .cancelled {
            if case .at(let offset)? = try? await askState() { self.offset = offset }
            try? learn(from: offset - sent.lowerBound)
        }
        failure.advanced = offset > (start ?? 0)
        return .transfer(failure)
    }

    /// Makes the requests as small as the line needs.
    ///
    /// At first all that is left goes in one request, as with an upload service of a system: what
    /// arrived of it counts when it breaks. Who is cut twice sends what gets through, and who gets
    /// nothing through sends less.
    private mutating func learn(from advance: Int64) throws(BucketError) {
        guard var record else { return }
        record.cuts += 1
        self.record = record
        if advance <= 0 {
            try shrinkParts()
        } else if record.cuts >= 2 {
            try limitParts(to: advance / 2)
        } else {
            try file.save(record)
        }
    }

    private mutating func shrinkParts() throws(BucketError) {
        try limitParts(to: partSize > size ? min(Self.usualPart, size / 2) : partSize / 2)
    }

    private mutating func limitParts(to limit: Int64) throws(BucketError) {
        guard var record else { return }
        partSize = min(partSize, max(Self.smallestPart, limit))
        record.partSize = partSize
        self.record = record
        try file.save(record)
    }

    private func partRequest(_ range: Range<Int64>) -> HTTPRequest {
        let isLast = range.upperBound == size
        var request = request(
            .patch,
            headers: partHeaders(isLast: isLast, at: range.lowerBound),
            body: .file(upload.source, range)
        )
        if isLast { request.deadlines = upload.deadlines(bucket) }
        return request
    }

    private func partHeaders(isLast: Bool, at offset: Int64) -> HTTPHeaders {
        [
            "content-type": WireHeader.partialUpload,
            WireHeader.uploadOffset: "\(offset)",
            WireHeader.uploadComplete: isLast ? "?1" : "?0",
        ]
    }

    /// A request to the upload resource.
    private func request(
        _ method: HTTPRequest.Method,
        headers: HTTPHeaders = HTTPHeaders(),
        body: RequestBody = .none
    ) -> HTTPRequest {
        var headers = headers
        headers.set(WireHeader.uploadInterop, record?.interop)
        let location = record?.location ?? "/"
        return bucket.request(method, url: bucket.origin + location, headers: headers, body: body)
    }
}
