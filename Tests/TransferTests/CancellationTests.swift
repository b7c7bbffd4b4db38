import Foundation
import TestSupport
import Testing
import Transfer

@Suite("requests end when they are told to")
struct CancellationTests {
    /// Starts a request in a task, waits for an event of the server, and cancels.
    private func cancel(
        _ request: @escaping @Sendable (RawServer) -> HTTPRequest,
        serving serve: @escaping @Sendable (RawConnection, _ reached: () -> Void) -> Void
    ) async throws -> TransferFailure? {
        let (events, event) = AsyncStream.makeStream(of: Void.self)
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        return try await withRawServer { connection in
            serve(connection) { event.yield() }
            connection.waitForClose()
            end.yield()
        } _: { server in
            let client = HTTPClient()
            let task = Task { await trouble { try await client.send(request(server)) } }
            for await _ in events { break }
            task.cancel()
            let failure = await task.value
            // The connection is gone, too.
            for await _ in ends { break }
            return failure
        }
    }

    @Test("before the answer")
    func waiting() async throws {
        let failure = try await cancel {
            HTTPRequest(.get, $0.origin)
        } serving: { connection, reached in
            guard connection.readHead() != nil else { return }
            reached()
        }
        #expect(failure?.kind == .cancelled)
    }

    @Test("in the middle of a download")
    func download() async throws {
        let failure = try await cancel {
            HTTPRequest(.get, $0.origin)
        } serving: { connection, reached in
            guard connection.readHead() != nil else { return }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
            reached()
        }
        #expect(failure?.kind == .cancelled)
    }

    @Test("in the middle of an upload")
    func upload() async throws {
        let failure = try await cancel {
            HTTPRequest(.put, $0.origin, body: .bytes([UInt8](repeating: 0, count: 64 << 20)))
        } serving: { connection, reached in
            guard connection.readHead() != nil else { return }
            connection.discard(1 << 20)
            reached()
        }
        #expect(failure?.kind == .cancelled)
    }

    @Test("a task that was cancelled before sends nothing")
    func beforehand() async throws {
        try await withRawServer { connection in
            connection.waitForClose()
        } _: { server in
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await trouble {
                    try await HTTPClient().send(HTTPRequest(.get, server.origin))
                }
            }
            #expect(await task.value?.kind == .cancelled)
        }
    }

    @Test("many at once, each exactly once")
    func many() async throws {
        try await withRawServer { connection in
            while connection.readHead() != nil { connection.answer(200, [:], [1]) }
        } _: { server in
            let client = HTTPClient()
            let outcomes = await withTaskGroup(of: Bool.self) { group in
                for index in 0..<100 {
                    group.addTask {
                        let task = Task {
                            await trouble {
                                try await client.send(HTTPRequest(.get, server.origin))
                            }
                        }
                        if index % 2 == 0 { task.cancel() }
                        let kind = await task.value?.kind
                        return kind == nil || kind == .cancelled
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count == 100)
            #expect(outcomes.allSatisfy { $0 })
        }
    }

    @Test(
        "a server that says nothing any more is left after the idle deadline",
        arguments: ["head", "body", "upload"]
    )
    func idle(phase: String) async throws {
        try await withRawServer { connection in
            guard connection.readHead() != nil else { return }
            if phase == "body" {
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
            }
            if phase == "upload" { connection.read(1) }
            // Reads nothing: an upload stalls once the buffers between are full.
            connection.waitUntilClosed()
        } _: { server in
            let deadlines = Deadlines(idle: .milliseconds(200), answer: .seconds(60))
            let client = HTTPClient(HTTPClientOptions(deadlines: deadlines))
            let request =
                phase == "upload"
                ? HTTPRequest(
                    .put,
                    server.origin,
                    body: .bytes([UInt8](repeating: 0, count: 64 << 20))
                ) : HTTPRequest(.get, server.origin)
            let failure = await trouble { try await client.send(request) }
            #expect(failure?.kind == .timeout)
            #expect(failure?.detail.contains("no byte moved") == true)
        }
    }

    @Test("a server that thinks has its own deadline")
    func answer() async throws {
        try await withRawServer { connection in
            guard let request = connection.readHead() else { return }
            _ = connection.readBody(request)
            connection.waitForClose()
        } _: { server in
            let deadlines = Deadlines(idle: .seconds(60), answer: .milliseconds(100))
            let client = HTTPClient(HTTPClientOptions(deadlines: deadlines))
            let request = HTTPRequest(.put, server.origin, body: .bytes([1]))
            let failure = await trouble { try await client.send(request) }
            #expect(failure?.kind == .timeout)
            #expect(failure?.detail.contains("no answer") == true)
        }
    }

    @Test("a whole request has a deadline, however much moves")
    func whole() async throws {
        try await withRawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n")
            while connection.send([0]) { usleep(1000) }
        } _: { server in
            let deadlines = Deadlines(whole: .milliseconds(300))
            let client = HTTPClient(HTTPClientOptions(deadlines: deadlines))
            let failure = await trouble {
                try await client.send(HTTPRequest(.get, server.origin), limit: .max)
            }
            #expect(failure?.kind == .timeout)
        }
    }

    @Test("a reader that is behind holds the server up, and is not timed out")
    func backPressure() async throws {
        let sent = Locked(0)
        try await withRawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(64 << 20)\r\n\r\n")
            let chunk = [UInt8](repeating: 1, count: 1 << 20)
            for _ in 0..<64 {
                guard connection.send(chunk) else { return }
                sent.withLock { $0 += chunk.count }
            }
        } _: { server in
            let deadlines = Deadlines(idle: .milliseconds(300))
            let client = HTTPClient(HTTPClientOptions(deadlines: deadlines))
            let stream = BodyStream(client, HTTPRequest(.get, server.origin), highWater: 1 << 20)
            let response = try await stream.response()
            #expect(response.status == 200)
            // Longer than the idle deadline: only a paused transfer survives it.
            try await Task.sleep(for: .milliseconds(900))
            #expect(sent.withLock { $0 } < 32 << 20)
            var received = 0
            while let chunk = try await stream.next() { received += chunk.count }
            #expect(received == 64 << 20)
        }
    }
}
