import Bucket
import DurableFiles
import Foundation
import LTXCodec
import TestSupport
import Testing
import Transfer

@Suite("files read from a server")
struct RemoteReaderTests {
    /// A server with one file of 12 MB, which it sends as a test allows.
    private func withFile(
        serving serve:
            @escaping @Sendable (
                _ request: RawRequest, _ content: [UInt8], _ connection: RawConnection
            ) -> Void,
        _ body: (HTTPBucket, BucketFile, _ content: [UInt8]) async throws -> Void
    ) async throws {
        let content = bytes(12_000_000)
        try await withRawServer { connection in
            while let request = connection.readHead() { serve(request, content, connection) }
        } _: { server in
            let file = BucketFile(
                level: 0,
                name: name(1, 1),
                sizeInBytes: Int64(content.count),
                timestamp: 0
            )
            try await body(try httpBucket(server), file, content)
        }
    }

    private static func answerRange(
        _ request: RawRequest,
        _ content: [UInt8],
        _ connection: RawConnection
    ) -> Bool {
        guard let offset = request.query("offset").flatMap({ Int($0) }),
            let size = request.query("size").flatMap({ Int($0) })
        else { return false }
        connection.answer(200, [:], Array(content[offset..<(offset + size)]))
        return true
    }

    @Test("a reader that jumps to the end does not wait for what is before")
    func jumps() async throws {
        let gate = DispatchSemaphore(value: 0)
        let ranges = Locked(0)
        try await withFile { request, content, connection in
            if request.query("size") != nil { ranges.withLock { $0 += 1 } }
            if Self.answerRange(request, content, connection) { return }
            connection.send(
                "HTTP/1.1 200 OK\r\nX-Liters-Protocol: 1\r\nContent-Length: \(content.count)\r\n\r\n"
            )
            connection.send(Array(content[..<1_000_000]))
            gate.wait()
            connection.send(Array(content[1_000_000...]))
        } _: { bucket, file, content in
            let reader = try await bucket.open(file)
            for offset in [content.count - 16, content.count - 5000, content.count - 900_000] {
                let count = min(3000, content.count - offset)
                let part = try read(reader, at: offset, count: count)
                #expect(part == Array(content[offset..<(offset + count)]))
            }
            #expect(ranges.withLock { $0 } == 1, "small reads share a request")
            gate.signal()
            #expect(try read(reader, at: 0, count: content.count) == content)
        }
    }

    @Test("a file that is pruned while it is read still comes whole")
    func pruned() async throws {
        let gate = DispatchSemaphore(value: 0)
        try await withFile { request, content, connection in
            if request.query("size") != nil {
                connection.answer(404)
                gate.signal()
                return
            }
            connection.send(
                "HTTP/1.1 200 OK\r\nX-Liters-Protocol: 1\r\nContent-Length: \(content.count)\r\n\r\n"
            )
            gate.wait()
            connection.send(content)
        } _: { bucket, file, content in
            let reader = try await bucket.open(file)
            let tail = try read(reader, at: content.count - 100, count: 200)
            #expect(tail == Array(content.suffix(100)))
        }
    }

    @Test(
        "a download that does not come whole is an error, never a shorter file",
        arguments: ["cut", "short"]
    )
    func incomplete(manner: String) async throws {
        try await withFile { request, content, connection in
            guard request.query("size") == nil else { return }
            switch manner {
            case "short":
                connection.answer(200, [:], Array(content.dropLast()))
            default:
                connection.send(
                    "HTTP/1.1 200 OK\r\nX-Liters-Protocol: 1\r\n"
                        + "Content-Length: \(content.count)\r\n\r\n"
                )
                connection.send(Array(content[..<9_000_000]))
                connection.hangUp()
            }
        } _: { bucket, file, content in
            let error = await #expect(throws: BucketError.self) {
                let reader = try await bucket.open(file)
                // Up to the break everything is there; behind it nothing is.
                _ = try read(reader, at: 0, count: content.count)
                _ = try read(reader, at: content.count - 10, count: 10)
            }
            guard case .transfer(let failure)? = error else { return }
            #expect(failure.kind == .shortBody)
        }
    }

    @Test(
        "a refusal comes when the file is opened",
        arguments: [(401, true), (404, false), (500, true)]
    )
    func refusals(status: Int, isTransfer: Bool) async throws {
        try await withFile { _, _, connection in
            connection.answer(status)
        } _: { bucket, file, _ in
            let error = await #expect(throws: BucketError.self) { try await bucket.open(file) }
            guard case .transfer(let failure)? = error else {
                #expect(error == .notFound(level: 0, name: file.name))
                #expect(!isTransfer)
                return
            }
            #expect(isTransfer)
            #expect(failure.status == status)
        }
    }

    @Test("a page of somebody else is no file")
    func foreign() async throws {
        try await withFile { _, content, connection in
            connection.answer(200, [:], content, isSink: false)
        } _: { bucket, file, _ in
            let error = await #expect(throws: BucketError.self) { try await bucket.open(file) }
            guard case .transfer(let failure)? = error else { return }
            #expect(failure.kind == .notASink)
        }
    }

    @Test("a reader that waits ends with its task")
    func cancels() async throws {
        try await withFile { _, content, connection in
            connection.send(
                "HTTP/1.1 200 OK\r\nX-Liters-Protocol: 1\r\nContent-Length: \(content.count)\r\n\r\n"
            )
            connection.waitForClose()
        } _: { bucket, file, _ in
            let reader = try await bucket.open(file)
            let (starts, start) = AsyncStream.makeStream(of: Void.self)
            let task = Task.detached {
                start.yield()
                return try read(reader, at: 0, count: 100)
            }
            for await _ in starts { break }
            task.cancel()
            let error = await #expect(throws: BucketError.self) { try await task.value }
            guard case .transfer(let failure)? = error else { return }
            #expect(failure.kind == .cancelled)
        }
    }
}

@Suite("following a bucket")
struct FollowTests {
    private func follow(
        _ options: HTTPBucketOptions = HTTPBucketOptions(),
        serving serve: @escaping @Sendable (RawConnection) -> Void,
        _ body: (FollowStream) async throws -> Void
    ) async throws {
        try await withRawServer { connection in
            guard let request = connection.readHead() else { return }
            guard request.target == "/db/x/stream?seek=0000000000000005" else {
                connection.answer(400)
                return
            }
            connection.send(
                "HTTP/1.1 200 OK\r\nX-Liters-Protocol: 1\r\nConnection: close\r\n\r\n"
            )
            serve(connection)
        } _: { server in
            try await body(try await httpBucket(server, options).follow(from: TXID(5)))
        }
    }

    @Test("files come whole, small and large, and then what ended the stream")
    func events() async throws {
        let large = bytes(3_000_000)
        try await follow { connection in
            connection.send("liters-stream 1\nping 0000000000000004\n")
            connection.send("ltx 0 0000000000000005 0000000000000005 3\nabc")
            connection.send("ltx 0 0000000000000006 0000000000000009 \(large.count)\n")
            connection.send(large)
            connection.send("gap 00000000000000ff\nping 0000000000000001\n")
        } _: { stream in
            guard case .ping(TXID(4))? = try await stream.next() else {
                _ = Issue.record("no ping")
                return
            }
            for (first, last, content) in [
                (5, 5, Array("abc".utf8)), (6, 9, large),
            ] as [(UInt64, UInt64, [UInt8])] {
                guard case .file(0, let file, let reader)? = try await stream.next() else {
                    _ = Issue.record("no file")
                    return
                }
                #expect(file == name(first, last))
                #expect(try read(reader, at: 0, count: content.count + 1) == content)
            }
            guard case .gap(TXID(255))? = try await stream.next() else {
                _ = Issue.record("no gap")
                return
            }
            #expect(try await stream.next() == nil)
        }
    }

    @Test("a stream that ends between frames ended well; within one it was cut")
    func ends() async throws {
        try await follow { connection in
            connection.send("liters-stream 1\nping 0000000000000004\n")
        } _: { stream in
            _ = try await stream.next()
            #expect(try await stream.next() == nil)
        }
        try await follow { connection in
            connection.send("liters-stream 1\nltx 0 0000000000000005 0000000000000005 3\nab")
        } _: { stream in
            let error = await #expect(throws: BucketError.self) { try await stream.next() }
            guard case .transfer(let failure)? = error else { return }
            #expect(failure.kind == .shortBody)
        }
    }

    @Test("a stream that is none is refused")
    func malformed() async throws {
        try await follow { connection in
            connection.send("liters-stream 2\n")
            connection.waitForClose()
        } _: { stream in
            let error = await #expect(throws: BucketError.self) { try await stream.next() }
            guard case .transfer(let failure)? = error else { return }
            #expect(failure.kind == .badAnswer)
        }
    }

    @Test("a silent stream is left after the dead man's time")
    func deadMan() async throws {
        try await follow(HTTPBucketOptions(deadMan: .milliseconds(200))) { connection in
            connection.send("liters-stream 1\n")
            connection.waitForClose()
        } _: { stream in
            let error = await #expect(throws: BucketError.self) { try await stream.next() }
            guard case .transfer(let failure)? = error else { return }
            #expect(failure.kind == .timeout)
        }
    }

    @Test("a server that refuses the stream says why")
    func refused() async throws {
        try await withRawServer { connection in
            while connection.readHead() != nil { connection.answer(401, [:], Array("no\n".utf8)) }
        } _: { server in
            let bucket = try httpBucket(server)
            let error = await #expect(throws: BucketError.self) {
                _ = try await bucket.follow(from: TXID(5))
            }
            guard case .transfer(let failure)? = error else { return }
            #expect(failure.kind == .unauthorized)
            #expect(failure.detail == "no")
        }
    }
}
