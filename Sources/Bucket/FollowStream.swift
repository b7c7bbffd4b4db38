import DurableFiles
public import LTXCodec
import Transfer
import Wire

/// What a follow stream brings.
public enum FollowEvent: Sendable {
    /// A whole file, in the order of TXIDs; it may overlap what the follower has.
    case file(level: Int, name: LTXFileName, any RandomReader)
    /// Nothing new; the bucket's highest TXID.
    case ping(TXID)
    /// The position asked for was pruned; the oldest level-0 file begins here. The stream is over.
    case gap(TXID)
    /// The bucket is behind the position asked for. The stream is over.
    case reset(TXID)
}

/// New level-0 files of a bucket, as they come.
///
/// One reader at a time; dropping it ends the request.
public final class FollowStream {
    private let body: BodyStream
    private let url: String
    private let spoolDirectory: String?
    private var decoder = StreamDecoder()
    private var isOver = false

    init(_ body: BodyStream, url: String, spoolDirectory: String?) {
        self.body = body
        self.url = url
        self.spoolDirectory = spoolDirectory
    }

    /// The next event; `nil` when the stream ended as it should, also because the server stops.
    ///
    /// - Throws: `BucketError`.
    nonisolated(nonsending) public func next() async throws(BucketError) -> FollowEvent? {
        guard !isOver else { return nil }
        while true {
            switch try part() {
            case .frame(.ltx(let level, let name, let size))?:
                return .file(level: level, name: name, try await file(sizeInBytes: size))
            case .frame(.ping(let txid))?: return .ping(txid)
            case .frame(.gap(let txid))?:
                isOver = true
                return .gap(txid)
            case .frame(.reset(let txid))?:
                isOver = true
                return .reset(txid)
            case .bytes?: continue
            case nil:
                guard try await more() else {
                    isOver = true
                    guard decoder.isBetweenFrames else { throw cut() }
                    return nil
                }
            }
        }
    }

    /// Reads a file's bytes: small ones into memory, others into a spool.
    nonisolated(nonsending) private func file(
        sizeInBytes: Int64
    ) async throws(BucketError) -> any RandomReader {
        var memory: [UInt8] = []
        var spool: NamelessFile?
        if sizeInBytes > HTTPBucket.memoryLimit {
            do throws(FileError) { spool = try NamelessFile(directory: spoolDirectory) } catch {
                throw BucketError(error)
            }
        }
        var received: Int64 = 0
        while received < sizeInBytes {
            guard case .bytes(let bytes)? = try part() else {
                guard try await more() else { throw cut() }
                continue
            }
            if let spool {
                let outcome = bytes.withUnsafeBytes { buffer -> Result<Void, FileError> in
                    do throws(FileError) {
                        return .success(try spool.write(buffer, at: received))
                    } catch {
                        return .failure(error)
                    }
                }
                if case .failure(let error) = outcome { throw BucketError(error) }
            } else {
                memory += bytes
            }
            received += Int64(bytes.count)
        }
        if let spool { return SpoolReader(file: spool, sizeInBytes: sizeInBytes) }
        return MemoryReader(bytes: memory)
    }

    private func part() throws(BucketError) -> StreamDecoder.Part? {
        do throws(StreamDecoder.Malformed) {
            return try decoder.next()
        } catch {
            isOver = true
            throw .transfer(TransferFailure(.badAnswer, url: url, detail: "\(error)"))
        }
    }

    /// Waits for more bytes; `false` at the end of the body.
    nonisolated(nonsending) private func more() async throws(BucketError) -> Bool {
        do throws(TransferFailure) {
            guard let bytes = try await body.next() else { return false }
            decoder.append(bytes)
            return true
        } catch {
            isOver = true
            throw .transfer(error)
        }
    }

    private func cut() -> BucketError {
        .transfer(TransferFailure(.shortBody, url: url, detail: "the stream ended within a file"))
    }
}

extension HTTPBucket {
    /// Follows the bucket's level-0 files.
    ///
    /// A stream that is silent for longer than `HTTPBucketOptions.deadMan` fails as timed out.
    ///
    /// - Parameter seek: The first TXID wanted, at least 1.
    /// - Returns: The stream, once the server has begun it.
    /// - Throws: `BucketError`.
    nonisolated(nonsending) public func follow(
        from seek: TXID
    ) async throws(BucketError) -> FollowStream {
        var request = request(.get, .stream(seek: seek))
        var deadlines = options.http.deadlines
        deadlines.idle = options.deadMan
        deadlines.whole = nil
        request.deadlines = deadlines
        let body = BodyStream(client, request)
        do throws(TransferFailure) {
            let response = try await body.response()
            if let failure = TransferFailure(response, url: request.url) { throw failure }
        } catch {
            throw .transfer(error)
        }
        return FollowStream(body, url: request.url, spoolDirectory: options.spoolDirectory)
    }
}
