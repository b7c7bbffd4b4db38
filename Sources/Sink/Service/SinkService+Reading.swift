import Bucket
import LTXCodec
import Wire

extension SinkService {
    /// Answers a request about one database.
    func answer(
        _ request: HTTPRequest,
        _ name: DatabaseName,
        _ route: DatabaseRoute
    ) async throws -> HTTPResponse {
        if request.head.method == "OPTIONS" { return uploadOptions(request.head, route) }
        let response =
            switch RouteRules.access(request.head.method) {
            case .write: try await write(request, name, route)
            default: try await read(request, name, route)
            }
        return await withCondition(response, name)
    }

    /// The same answer, with what it says of the database, if there is one.
    func withCondition(_ response: HTTPResponse, _ name: DatabaseName) async -> HTTPResponse {
        guard response[WireHeader.txid] == nil,
            let database = await existing(name),
            let condition = try? await database.condition()
        else { return response }
        return response.adding(Self.headers(of: condition))
    }

    func existing(_ name: DatabaseName) async -> SinkDatabase? {
        guard let database = catalog.existing(name), await database.exists else { return nil }
        return database
    }

    private static func headers(
        of condition: SinkDatabase.Condition
    ) -> [(name: String, value: String)] {
        var headers = [(name: WireHeader.txid, value: condition.head.description)]
        if let lineage = condition.lineage { headers.append((WireHeader.lineage, lineage)) }
        if let checksum = condition.headChecksum {
            headers.append((WireHeader.headChecksum, checksum.description))
        }
        if condition.wantsRebase { headers.append((WireHeader.rebase, "1")) }
        return headers
    }

    private func read(
        _ request: HTTPRequest,
        _ name: DatabaseName,
        _ route: DatabaseRoute
    ) async throws -> HTTPResponse {
        guard let database = await existing(name) else {
            // A level that is not there is an empty listing, never an error: the protocol says so
            // to writers that look before their first push.
            if case .level = route { return .text("") }
            return .refusal(404, "no database \(name)")
        }
        switch route {
        case .root: return .text("dormouse sink, liters protocol 1\n")
        case .level(let level, let seek):
            let files = try await database.files(level: level, from: seek)
            var text = ""
            text.reserveCapacity(files.count * 64)
            for file in files { text += "\(ListingLine(file))\n" }
            return .text(text)
        case .file(let level, let name, let offset, let size):
            return try await file(database, level, name, offset: offset, size: size)
        case .stream(let seek):
            return HTTPResponse(
                200,
                headers: [
                    ("content-type", "application/octet-stream"),
                    ("cache-control", "no-cache, no-transform"), ("x-accel-buffering", "no"),
                ],
                body: .frames(await database.follow(from: seek))
            )
        case .ledger(let txid): return await ledger(database, txid)
        case .freshness: return try await freshness(database)
        case .upload(let id): return try await uploadState(database, id, request)
        case .all, .ingest: return .refusal(404, "not found")
        }
    }

    private func file(
        _ database: SinkDatabase,
        _ level: Int,
        _ name: LTXFileName,
        offset: Int64,
        size: Int64
    ) async throws -> HTTPResponse {
        let reader: any RandomReader
        do {
            reader = try await database.open(level: level, name)
        } catch BucketError.notFound {
            return .refusal(404, "no file \(level)/\(name)")
        }
        let total = reader.sizeInBytes
        guard offset <= total else {
            return .refusal(400, "offset \(offset) is behind the end: the file has \(total) bytes")
        }
        let rest = total - offset
        return HTTPResponse(
            200,
            headers: [("content-type", "application/octet-stream")],
            body: .file(reader, offset: offset, count: size == 0 ? rest : min(size, rest))
        )
    }

    private func ledger(_ database: SinkDatabase, _ txid: TXID?) async -> HTTPResponse {
        guard let ledger = await database.live.ledger(at: txid) else {
            return .refusal(404, "the live copy is not at \(txid.map { "\($0)" } ?? "any TXID")")
        }
        let reader = LedgerReader(ledger)
        return HTTPResponse(
            200,
            headers: [
                ("content-type", "application/octet-stream"),
                (WireHeader.txid, ledger.txid.description),
            ],
            body: .file(reader, offset: 0, count: reader.sizeInBytes)
        )
    }
}

extension ListingLine {
    init(_ file: BucketFile) {
        self.init(name: file.name, sizeInBytes: file.sizeInBytes, timestamp: file.timestamp)
    }
}

extension SinkDatabase {
    /// Opens a file for a reader, who keeps it also when it is deleted meanwhile.
    func open(level: Int, _ name: LTXFileName) async throws -> any RandomReader {
        try await bucket.open(BucketFile(level: level, name: name, sizeInBytes: 0, timestamp: 0))
    }
}

/// The bytes of a ledger file, made as they are read.
struct LedgerReader: RandomReader {
    private let header: [UInt8]
    private let checksums: [UInt64]

    init(_ ledger: PageLedger) {
        header = LedgerFile.header(of: ledger)
        checksums = ledger.checksums
    }

    var sizeInBytes: Int64 { Int64(header.count) + 8 * Int64(checksums.count) }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = Int(max(0, min(Int64(buffer.count), sizeInBytes - offset)))
        for index in 0..<count {
            let place = Int(offset) + index
            if place < header.count {
                buffer[index] = header[place]
            } else {
                let entry = (place - header.count) / 8
                let shift = UInt64((place - header.count) % 8 * 8)
                buffer[index] = UInt8(truncatingIfNeeded: checksums[entry] >> shift)
            }
        }
        return count
    }
}
