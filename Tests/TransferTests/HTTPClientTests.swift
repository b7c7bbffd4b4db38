import DurableFiles
import Foundation
import TestSupport
import Testing
import Transfer

@Suite("the HTTP client")
struct HTTPClientTests {
    @Test("a request goes out whole, and the answer comes back whole")
    func roundTrip() async throws {
        let seen = Locked<RawRequest?>(nil)
        try await withRawServer { connection in
            guard let request = connection.readHead(), let body = connection.readBody(request)
            else { return }
            seen.withLock { $0 = request }
            connection.answer(200, ["A": "b"], body.reversed())
        } _: { server in
            let client = HTTPClient()
            let request = HTTPRequest(
                .put,
                server.origin + "/db/x?a=b",
                headers: ["authorization": "Bearer t"],
                body: .bytes([1, 2, 3])
            )
            let response = try await client.send(request)
            #expect(response.status == 200)
            #expect(response.headers["a"] == "b")
            #expect(response.body == [3, 2, 1])
        }
        let request = try #require(seen.withLock { $0 })
        #expect(request.method == "PUT")
        #expect(request.target == "/db/x?a=b")
        #expect(request.headers["authorization"] == "Bearer t")
        #expect(request.headers["content-length"] == "3")
        #expect(request.headers["expect"] == nil)
    }

    @Test(
        "each method is sent as it is",
        arguments: ["GET", "HEAD", "PUT", "POST", "PATCH", "DELETE"]
    )
    func methods(name: String) async throws {
        try await withRawServer { connection in
            guard let request = connection.readHead() else { return }
            connection.answer(
                200,
                ["M": request.method, "L": request.headers["content-length"] ?? "none"],
                isHead: request.method == "HEAD"
            )
        } _: { server in
            let method = try #require(HTTPRequest.Method(rawValue: name))
            let response = try await HTTPClient().send(HTTPRequest(method, server.origin))
            #expect(response.headers["m"] == name)
            let hasBody = ["PUT", "POST", "PATCH"].contains(name)
            #expect(response.headers["l"] == (hasBody ? "0" : "none"))
        }
    }

    @Test("many requests take one connection")
    func reusesConnections() async throws {
        try await withRawServer { connection in
            while let request = connection.readHead(), connection.readBody(request) != nil {
                connection.answer(request.method == "GET" ? 200 : 409, [:], [1])
            }
        } _: { server in
            let client = HTTPClient()
            for round in 0..<20 {
                let request = HTTPRequest(
                    round % 2 == 0 ? .get : .put,
                    server.origin,
                    body: .bytes([UInt8](repeating: 0, count: 100_000))
                )
                let response = try await client.send(request)
                #expect(response.status == (round % 2 == 0 ? 200 : 409))
            }
            #expect(server.accepted == 1)
        }
    }

    @Test("a connection that the server closed meanwhile costs no failure")
    func closedConnection() async throws {
        try await withRawServer { connection in
            guard let request = connection.readHead() else { return }
            _ = connection.readBody(request)
            connection.answer(200)
        } _: { server in
            let client = HTTPClient()
            for _ in 0..<5 {
                let request = HTTPRequest(.put, server.origin, body: .bytes([1]))
                let response = try await client.send(request)
                #expect(response.status == 200)
            }
            #expect(server.accepted == 5)
        }
    }

    @Test("interim answers are skipped")
    func interim() async throws {
        try await withRawServer { connection in
            guard let request = connection.readHead() else { return }
            connection.send("HTTP/1.1 100 Continue\r\n\r\n")
            connection.send("HTTP/1.1 104 Upload Resumption Supported\r\nLocation: /u\r\n\r\n")
            _ = connection.readBody(request)
            connection.answer(201, [:], [7])
        } _: { server in
            let request = HTTPRequest(.put, server.origin, body: .bytes([1]))
            let response = try await HTTPClient().send(request)
            #expect(response.status == 201)
            #expect(response.headers["location"] == nil)
            #expect(response.body == [7])
        }
    }

    @Test("a file's range is sent, whatever is around it")
    func sendsRanges() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "f").path
            let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
            try Data(content).write(to: URL(filePath: path))
            try await withRawServer { connection in
                guard let request = connection.readHead() else { return }
                connection.answer(200, [:], connection.readBody(request) ?? [])
            } _: { server in
                let source = try FileSource(path)
                let request = HTTPRequest(
                    .patch,
                    server.origin,
                    body: .file(source, 1000..<299_000)
                )
                let response = try await HTTPClient().send(request)
                #expect(response.body == Array(content[1000..<299_000]))
            }
        }
    }

    @Test("a file that is cut while it is sent fails the request, and is named")
    func cutSource() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "f").path
            try Data(count: 1000).write(to: URL(filePath: path))
            try await withRawServer { connection in
                connection.waitForClose()
            } _: { server in
                let source = try FileSource(path)
                let request = HTTPRequest(.put, server.origin, body: .file(source, 0..<2000))
                let failure = await trouble { try await HTTPClient().send(request) }
                #expect(failure?.detail.contains("was cut") == true)
            }
        }
    }

    @Test("a body of unknown length goes out in chunks, and may come late")
    func producer() async throws {
        try await withRawServer { connection in
            guard let request = connection.readHead() else { return }
            connection.answer(200, [:], connection.readBody(request) ?? [])
        } _: { server in
            let steps = Locked(0)
            let transfer = Locked<HTTPTransfer?>(nil)
            let producer = BodyProducer { buffer in
                let step = steps.withLock { step in
                    defer { step += 1 }
                    return step
                }
                if step == 1 {
                    // Resumed from another thread, once the transfer is known.
                    Thread.detachNewThread {
                        while transfer.withLock({ $0?.resume() }) == nil { sched_yield() }
                    }
                    return .later
                }
                guard step < 4 else { return .end }
                buffer[0] = UInt8(step)
                return .bytes(1)
            }
            let client = HTTPClient()
            let request = HTTPRequest(.post, server.origin, body: .producer(producer))
            let response = try await withCheckedContinuation { continuation in
                let collector = BodyCollector(limit: 10) { continuation.resume(returning: $0) }
                let started = client.start(request, handler: collector)
                transfer.withLock { $0 = started }
            }.get()
            #expect(response.body == [0, 2, 3])
        }
    }

    @Test("a larger answer than the limit is refused, announced or not", arguments: [true, false])
    func limitsBodies(isAnnounced: Bool) async throws {
        try await withRawServer { connection in
            guard connection.readHead() != nil else { return }
            if isAnnounced {
                connection.answer(200, [:], [UInt8](repeating: 0, count: 101))
            } else {
                connection.send("HTTP/1.1 200 OK\r\n\r\n")
                while connection.send([UInt8](repeating: 0, count: 10)) {}
            }
        } _: { server in
            let request = HTTPRequest(.get, server.origin)
            let failure = await trouble { try await HTTPClient().send(request, limit: 100) }
            #expect(failure?.kind == .badAnswer)
        }
    }

    @Test("an endless reason is not read for ever")
    func endlessReason() async throws {
        try await withRawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.send("HTTP/1.1 500 No\r\n\r\nbecause\n")
            while connection.send([UInt8](repeating: 0x20, count: 10_000)) {}
        } _: { server in
            let response = try await HTTPClient().send(HTTPRequest(.get, server.origin))
            #expect(response.status == 500)
            #expect(response.reason == "because")
            #expect(response.body.count <= 4096)
        }
    }

    @Test("a cut body is a failure", arguments: ["length", "chunks"])
    func shortBody(framing: String) async throws {
        try await withRawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.send(
                framing == "length"
                    ? "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"
                    : "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n"
            )
        } _: { server in
            let failure = await trouble {
                try await HTTPClient().send(HTTPRequest(.get, server.origin))
            }
            #expect(failure?.kind == .shortBody)
        }
    }

    @Test("a reset in the middle of a body is a failure")
    func reset() async throws {
        try await withRawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
            connection.reset()
        } _: { server in
            let failure = await trouble {
                try await HTTPClient().send(HTTPRequest(.get, server.origin))
            }
            #expect(failure.map { [.reset, .shortBody].contains($0.kind) } == true)
        }
    }

    @Test("nobody there, and no such name")
    func unreachable() async throws {
        let server = try RawServer { _ in }
        server.stop()
        let refused = await trouble {
            try await HTTPClient().send(HTTPRequest(.get, server.origin))
        }
        #expect(refused?.kind == .connect)
        let unknown = await trouble {
            try await HTTPClient().send(HTTPRequest(.get, "http://nobody.invalid/db/x"))
        }
        #expect(unknown?.kind == .resolve)
    }

    @Test(
        "what does not speak HTTP is no sink",
        arguments: ["SSH-2.0-OpenSSH_9.2\r\n", "\0\u{1}\u{2}\r\n"]
    )
    func garbage(text: String) async throws {
        try await withRawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.send(text)
        } _: { server in
            let failure = await trouble {
                try await HTTPClient().send(HTTPRequest(.get, server.origin))
            }
            #expect(failure?.kind == .notASink)
        }
    }

    @Test("a server that closes without a word has reset the connection")
    func emptyReply() async throws {
        try await withRawServer { connection in
            _ = connection.readHead()
        } _: { server in
            let failure = await trouble {
                try await HTTPClient().send(HTTPRequest(.get, server.origin))
            }
            #expect(failure?.kind == .reset)
        }
    }

    @Test("headers that would break out of their line are not sent")
    func headerInjection() async throws {
        let request = HTTPRequest(.get, "http://127.0.0.1:1/", headers: ["a": "b\r\nc: d"])
        let failure = await trouble { try await HTTPClient().send(request) }
        #expect(failure?.kind == .refused)
    }

    @Test("redirects are not followed: a token stays with its server")
    func redirects() async throws {
        try await withRawServer { connection in
            while connection.readHead() != nil {
                connection.answer(301, ["Location": "http://127.0.0.1:1/"])
            }
        } _: { server in
            let response = try await HTTPClient().send(HTTPRequest(.get, server.origin))
            #expect(response.status == 301)
            #expect(server.accepted == 1)
        }
    }

    @Test("a dropped client cancels what runs")
    func drops() async throws {
        try await withRawServer { connection in
            connection.waitForClose()
        } _: { server in
            let result = await withCheckedContinuation { continuation in
                var client: HTTPClient? = HTTPClient()
                let collector = BodyCollector(limit: 10) { continuation.resume(returning: $0) }
                client?.start(HTTPRequest(.get, server.origin), handler: collector)
                client = nil
            }
            #expect(throws: TransferFailure.self) { try result.get() }
        }
    }
}

/// What a request failed with; `nil` when it did not.
func trouble(_ body: () async throws -> HTTPResponse) async -> TransferFailure? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? TransferFailure
    }
}
