import Bucket
import DurableFiles
import Foundation
import LTXCodec
import TestSupport
import Testing
import Transfer
import Wire

@Suite("a bucket behind a server")
struct HTTPBucketTests {
    @Test("writes, reads and fences of a minimal v1 server work")
    func story11() async throws {
        let options = HTTPBucketOptions(
            token: try BearerToken("secret"),
            writerID: "me",
            plainLimit: 1000
        )
        let server = V1Server(fences: true, token: "secret")
        try await withTemporaryDirectory { directory in
            try await server.withBucket(options: options) { bucket, _ in
                #expect(try await bucket.condition() == LiveCondition(head: .zero, lineage: nil))
                let first = ltx(1, 1, timestamp: 77, payload: 200)
                let large = ltx(2, 2, timestamp: 78, payload: 3_000_000)
                let one = try await put(bucket, directory, level: 0, 1, 1, first, at: 77)
                let two = try await put(bucket, directory, level: 0, 2, 2, large, at: 78)
                #expect(try await bucket.list(level: 0) == [one, two])
                #expect(try await bucket.head() == TXID(2))
                #expect(try await contents(bucket, two) == large)
                #expect(try await contents(bucket, one) == first)
                // The same again is a success.
                try await put(bucket, directory, level: 0, 2, 2, large, at: 78)

                await #expect(throws: BucketError.conflict(level: 0, name: two.name)) {
                    try await put(bucket, directory, level: 0, 2, 2, ltx(2, 2), at: 78)
                }
                let gap = "non-monotonic L0 push: \(name(5, 5)) offered, bucket at \(TXID(2))"
                await #expect(throws: BucketError.fenced(reason: gap)) {
                    try await put(bucket, directory, level: 0, 5, 5, ltx(5, 5), at: 79)
                }
                #expect(try await bucket.ledger(at: TXID(2)) == nil)
                let image = directory.appending(path: "image").path
                try Data(bytes(500)).write(to: URL(filePath: image))
                await #expect(throws: BucketError.unsupported(bucket.address)) {
                    try await bucket.ingest(image, at: TXID(2), timestamp: 1, facts: WriteFacts())
                }
            }
        }
        // Resumption was asked for once, and then left alone.
        let creations = server.requests.filter { $0.headers["upload-complete"] == "?0" }
        #expect(creations.count == 1)
        #expect(server.requests.allSatisfy { $0.headers["expect"] == nil })
    }

    @Test("a wrong token is said to be that, and never shown")
    func wrongToken() async throws {
        let server = V1Server(fences: true, token: "right")
        let options = HTTPBucketOptions(token: try BearerToken("hunter2"))
        try await server.withBucket(options: options) { bucket, _ in
            let error = await #expect(throws: BucketError.self) { try await bucket.condition() }
            guard case .transfer(let failure)? = error else { return }
            #expect(failure.kind == .unauthorized)
            #expect(failure.detail == "authorization required")
            #expect(!"\(failure) \(String(reflecting: failure))".contains("hunter2"))
        }
        #expect(!String(reflecting: options).contains("hunter2"))
        var dumped = ""
        dump(options, to: &dumped)
        #expect(!dumped.contains("hunter2"))
    }

    @Test("our own server says what it holds in one request")
    func condition() async throws {
        let targets = Locked<[String]>([])
        try await withRawServer { connection in
            while let request = connection.readHead() {
                targets.withLock { $0.append(request.target) }
                connection.answer(
                    200,
                    [
                        "Dormouse-TXID": "00000000000000ff", "Dormouse-Lineage": "aa",
                        "Dormouse-Rebase": "1", "Dormouse-Head-Checksum": "8000000000000001",
                    ]
                )
            }
        } _: { server in
            let condition = try await httpBucket(server).condition()
            #expect(
                condition
                    == LiveCondition(
                        head: TXID(255),
                        lineage: "aa",
                        headChecksum: Checksum(rawValue: 1 << 63 | 1),
                        wantsRebase: true
                    )
            )
        }
        #expect(targets.withLock { $0 } == ["/db/x"])
    }

    @Test("what a writer knows goes with the file")
    func facts() async throws {
        let seen = Locked<[RawRequest]>([])
        try await withTemporaryDirectory { directory in
            try await withRawServer { connection in
                while let request = connection.readHead(), let body = connection.readBody(request) {
                    seen.withLock { $0.append(request) }
                    let file = request.path.split(separator: "/").last ?? ""
                    connection.answer(200, [:], Array("\(file) \(body.count) 5\n".utf8))
                }
            } _: { server in
                let bucket = try httpBucket(server, HTTPBucketOptions(writerID: "default"))
                let path = directory.appending(path: "f").path
                try Data(bytes(9)).write(to: URL(filePath: path))
                let facts = WriteFacts(
                    writer: "w",
                    lineage: "aa",
                    checksum: Checksum(crc: 5),
                    takesOver: true
                )
                for level in [0, 9] {
                    let file = BucketFile(
                        level: level,
                        name: name(1, 7),
                        sizeInBytes: 9,
                        timestamp: 5
                    )
                    try await bucket.put(path, as: file, facts: facts)
                    try await bucket.put(path, as: file)
                }
            }
        }
        let headers = seen.withLock { $0.map(\.headers) }
        try #require(headers.count == 4)
        #expect(headers[0]["x-liters-writer-id"] == "w")
        #expect(headers[0]["x-liters-writer-takeover"] == "1")
        #expect(headers[0]["dormouse-lineage"] == "aa")
        #expect(headers[0]["dormouse-checksum"] == "8000000000000005")
        #expect(headers[0]["dormouse-base-txid"] == nil)
        #expect(headers[2]["dormouse-base-txid"] == "0000000000000007")
        for plain in [headers[1], headers[3]] {
            #expect(plain["x-liters-writer-id"] == "default")
            #expect(plain.keys.filter { $0.hasPrefix("dormouse-") } == ["dormouse-timestamp"])
            #expect(plain["x-liters-writer-takeover"] == nil)
        }
    }

    @Test("a listing that may have been cut is not believed")
    func listings() async throws {
        let line = "\(name(1, 1)) 5 7\n"
        let answers = [
            "Content-Length: \(2 * line.utf8.count)\r\nX-Liters-Protocol: 1\r\n\r\n\(line)",
            "X-Liters-Protocol: 1\r\n\r\n\(line)",
            "Content-Length: \(line.utf8.count)\r\n\r\n\(line)",
            "Content-Length: \(line.utf8.count)\r\nX-Liters-Protocol: 9\r\n\r\n\(line)",
        ]
        let kinds: [TransferFailure.Kind] = [.shortBody, .badAnswer, .notASink, .wrongProtocol]
        for (answer, kind) in zip(answers, kinds) {
            try await withRawServer { connection in
                guard connection.readHead() != nil else { return }
                connection.send("HTTP/1.1 200 OK\r\n" + answer)
            } _: { server in
                let bucket = try httpBucket(server)
                let error = await #expect(throws: BucketError.self) {
                    try await bucket.list(level: 0)
                }
                guard case .transfer(let failure)? = error else { return }
                #expect(failure.kind == kind)
            }
        }
    }

    @Test("a time that the server does not know is read from the file")
    func unknownTimes() async throws {
        try await withTemporaryDirectory { directory in
            let file = ltx(1, 1, timestamp: 4711)
            try await withRawServer { connection in
                while let request = connection.readHead() {
                    let line = "\(name(1, 1)) \(file.count) -\n"
                    connection.answer(
                        200,
                        [:],
                        request.path.hasSuffix(".ltx")
                            ? Array(file.prefix(Int(request.query("size") ?? "0") ?? 0))
                            : Array(line.utf8)
                    )
                }
            } _: { server in
                let files = try await httpBucket(server).list(level: 0)
                #expect(files.map(\.timestamp) == [4711])
            }
        }
    }

    @Test("an answer that does not say what was stored is not success")
    func unconfirmed() async throws {
        for answer in ["", "ok\n", "\(name(1, 1)) 8 5\n", "\(name(1, 2)) 9 5\n"] {
            try await withTemporaryDirectory { directory in
                try await withRawServer { connection in
                    while let request = connection.readHead(),
                        connection.readBody(request) != nil
                    {
                        connection.answer(200, [:], Array(answer.utf8))
                    }
                } _: { server in
                    let bucket = try httpBucket(server)
                    let error = await #expect(throws: BucketError.self) {
                        try await put(bucket, directory, level: 0, 1, 1, bytes(9))
                    }
                    guard case .transfer(let failure)? = error else { return }
                    #expect(failure.kind == .badAnswer)
                }
            }
        }
    }
}

/// The bytes of an LTX file as far as a v1 server looks: a valid header, and anything behind it.
func ltx(_ min: UInt64, _ max: UInt64, timestamp: Int64 = 5, payload: Int = 100) -> [UInt8] {
    let header = LTXHeader(
        pageSize: 4096,
        commit: 1,
        minTXID: TXID(min),
        maxTXID: TXID(max),
        timestamp: timestamp
    )
    var file = [UInt8](repeating: 0, count: LTXHeader.size)
    file.withUnsafeMutableBytes { header.encode(into: $0) }
    return file + bytes(payload, seed: min)
}
