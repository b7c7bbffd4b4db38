import Bucket
import Foundation
import LTXCodec
import TestSupport

/// A minimal server of the liters protocol v1, written from its specification: one database in
/// memory, one request a connection, and none of our additions.
final class V1Server: Sendable {
    struct Stored: Sendable {
        var bytes: [UInt8]
        var timestamp: Int64?
    }

    private struct Key: Hashable, Comparable {
        var level: Int
        var name: LTXFileName

        static func < (one: Key, other: Key) -> Bool {
            (one.level, one.name) < (other.level, other.name)
        }
    }

    private struct Contents {
        var files: [Key: Stored] = [:]
        var requests: [RawRequest] = []
    }

    private let contents = Locked(Contents())
    /// Accepts only LTX files that continue the head, as the protocol wants it.
    ///
    /// What stores any bytes under any name is a bucket, too, and what every backend must do is
    /// tried with such.
    private let fences: Bool
    let token: String?

    init(fences: Bool, token: String? = nil) {
        self.fences = fences
        self.token = token
    }

    var requests: [RawRequest] { contents.withLock { $0.requests } }

    func withBucket<R>(
        options: HTTPBucketOptions = HTTPBucketOptions(),
        isolation: isolated (any Actor)? = #isolation,
        _ body: (HTTPBucket, RawServer) async throws -> R
    ) async throws -> R {
        try await withRawServer(serving: serve) { server in
            try await body(try httpBucket(server, options), server)
        }
    }

    func serve(_ connection: RawConnection) {
        guard let request = connection.readHead() else { return }
        contents.withLock { $0.requests.append(request) }
        if let token, request.headers["authorization"] != "Bearer \(token)" {
            refuse(connection, 401, "authorization required")
            return connection.waitForClose()
        }
        let parts = request.path.split(separator: "/")
        guard parts.count >= 4, parts[0] == "db", parts[2] == "ltx", let level = Int(parts[3])
        else {
            if request.method == "GET", parts.count == 2 { return ok(connection, "liters 1\n") }
            if request.method != "GET" {
                refuse(connection, 405, "method not allowed")
                return connection.waitForClose()
            }
            return refuse(connection, 404, "not found")
        }
        let name = parts.count == 5 ? LTXFileName(String(parts[4])) : nil
        switch (request.method, name) {
        case ("GET", nil): list(request, level, connection)
        case ("GET", let name?): get(request, Key(level: level, name: name), connection)
        case ("PUT", let name?): put(request, Key(level: level, name: name), connection)
        case ("DELETE", let name?):
            contents.withLock { $0.files[Key(level: level, name: name)] = nil }
            ok(connection, "")
        default: refuse(connection, 405, "method not allowed")
        }
    }

    private func list(_ request: RawRequest, _ level: Int, _ connection: RawConnection) {
        let seek = request.query("seek").flatMap { TXID($0) } ?? .zero
        let lines = contents.withLock { contents in
            contents.files.filter { $0.key.level == level && $0.key.name.minTXID >= seek }
                .sorted { $0.key < $1.key }.map { Self.line($0.key, $0.value) }
        }
        ok(connection, lines.joined())
    }

    private static func line(_ key: Key, _ file: Stored) -> String {
        "\(key.name) \(file.bytes.count) \(file.timestamp.map { "\($0)" } ?? "-")\n"
    }

    private func get(_ request: RawRequest, _ key: Key, _ connection: RawConnection) {
        guard let file = contents.withLock({ $0.files[key] }) else {
            return refuse(connection, 404, "not found")
        }
        let offset = min(Int(request.query("offset") ?? "0") ?? 0, file.bytes.count)
        let size = Int(request.query("size") ?? "0") ?? 0
        let end = size == 0 ? file.bytes.count : min(file.bytes.count, offset + size)
        connection.send(
            "HTTP/1.1 200 OK\r\nx-liters-protocol: 1\r\nTransfer-Encoding: chunked\r\n"
                + "Connection: close\r\n\r\n"
        )
        var rest = file.bytes[offset..<end]
        while !rest.isEmpty {
            let chunk = rest.prefix(50_000)
            connection.send("\(String(chunk.count, radix: 16))\r\n")
            connection.send(Array(chunk) + [13, 10])
            rest = rest.dropFirst(chunk.count)
        }
        connection.send("0\r\n\r\n")
    }

    private func put(_ request: RawRequest, _ key: Key, _ connection: RawConnection) {
        guard let body = connection.readBody(request) else { return }
        let header = body.withUnsafeBytes { try? LTXHeader(decoding: $0) }
        // A body without an LTX header; an empty one is what an upload's creation looks like here.
        guard header != nil || (!fences && !body.isEmpty) || request.headers["upload-length"] == nil
        else { return refuse(connection, 400, "no LTX header") }
        if fences, header == nil { return refuse(connection, 400, "no LTX header") }
        let stored = Stored(
            bytes: body,
            timestamp: header?.timestamp
                ?? request.headers["dormouse-timestamp"].flatMap { Int64($0) }
        )
        let refusal = contents.withLock { contents -> String? in
            if let there = contents.files[key] {
                return there.bytes == body ? nil : "\(key.name) exists with other content"
            }
            let head = contents.files.keys.map(\.name.maxTXID).max() ?? .zero
            let logHead = contents.files.keys.filter { $0.level == 0 }.map(\.name.maxTXID).max()
            if fences, key.level == 0, let logHead, key.name.minTXID != logHead.next {
                return "non-monotonic L0 push: \(key.name) offered, bucket at \(logHead)"
            }
            if fences, key.level > 0, key.name.maxTXID > head { return "beyond the bucket" }
            contents.files[key] = stored
            return nil
        }
        if let refusal { return refuse(connection, 409, refusal) }
        ok(connection, Self.line(key, stored))
    }

    private func ok(_ connection: RawConnection, _ text: String) {
        connection.answer(200, ["Connection": "close"], Array(text.utf8))
    }

    private func refuse(_ connection: RawConnection, _ status: Int, _ reason: String) {
        connection.answer(status, ["Connection": "close"], Array("\(reason)\n".utf8))
    }
}

/// A bucket at a raw server.
func httpBucket(
    _ server: RawServer,
    _ options: HTTPBucketOptions = HTTPBucketOptions()
) throws -> HTTPBucket {
    let address = try BucketAddress(parsing: "\(server.origin)/db/x")
    guard case .http(let http) = address else { throw BucketError.unsupported(address) }
    return HTTPBucket(http, options: options)
}
