import Foundation
import Sink
import TestSupport
import Testing

@Suite("Connections to a sink", .timeLimit(.minutes(5)))
struct ConnectionTests {
    @Test("a thousand idle connections leave it serving others")
    func thousandIdle() async throws {
        try await withRunningSink { sink in
            let port = sink.port
            let after = try await blocking {
                // Half of them amidst of a head, half without a byte.
                let idle = try (0..<1000).map { number in
                    let client = try RawClient(port)
                    if number.isMultiple(of: 2) { try client.send("GET /db/a HT") }
                    return client
                }
                let answer = try RawClient(port).request("GET", "/")
                return (answer.status, idle.count)
            }
            #expect(after == (200, 1000))
        }
    }

    @Test("a head that never ends and a body that stands still are given up")
    func slowLoris() async throws {
        try await withRunningSink({
            $0.idleTimeout = .seconds(1)
            $0.bodyTimeout = .seconds(1)
        }) { sink in
            let port = sink.port
            async let head = blocking {
                let client = try RawClient(port)
                try client.send("GET / HTTP/1.1\r\n")
                // A byte now and then: it is never silent for long.
                for _ in 0..<600 {
                    do { try client.send("x: y\r\n") } catch { return true }
                    Thread.sleep(forTimeInterval: 0.1)
                }
                return false
            }
            async let body = blocking {
                let client = try RawClient(port)
                try client.send(
                    "PUT /db/a/ltx/0/\(MadeLTX.name(1, 1)) HTTP/1.1\r\nhost: x\r\n"
                        + "content-length: 9000\r\n\r\nx"
                )
                while try client.fill() {}
                return client.isAtEnd
            }
            #expect(try await head)
            #expect(try await body)
            let after = try await RawClient.once(port, "GET", "/")
            #expect(after.status == 200)
        }
    }

    @Test("one connection carries many requests, also after a refusal")
    func keepsAlive() async throws {
        try await withRunningSink { sink in
            let port = sink.port
            let statuses = try await blocking {
                let client = try RawClient(port)
                var statuses: [Int] = []
                for txid in [UInt64(1), 5, 2] {
                    let target = "/db/a/ltx/0/\(MadeLTX.name(txid, txid))"
                    statuses.append(
                        try client.request("PUT", target, body: try MadeLTX.step(txid)).status
                    )
                    statuses.append(try client.request("GET", target).status)
                }
                statuses.append(try client.request("GET", "/nowhere").status)
                statuses.append(
                    try client.request("PUT", "/nowhere", body: [UInt8](repeating: 1, count: 9999))
                        .status
                )
                statuses.append(try client.request("GET", "/db/a").status)
                return statuses
            }
            #expect(statuses == [200, 200, 409, 404, 200, 200, 404, 404, 200])
        }
    }

    @Test(
        "a large file comes in, is refused before its body where it is doomed, and goes out again"
    )
    func large() async throws {
        try await withRunningSink { sink in
            let port = sink.port
            let pages = (UInt32(1)...600).map { ($0, UInt8(truncatingIfNeeded: $0)) }
            let file = try MadeLTX.file(1, 1, commit: 600, pages, pageSize: 65536)
            try await blocking {
                let client = try RawClient(port)
                let target = "/db/a/ltx/0/\(MadeLTX.name(1, 1))"
                let put = try client.request("PUT", target, body: file)
                #expect(put.status == 200, "\(put.text)")
                let get = try client.request("GET", target)
                #expect(get.body == file)
                // Told before it sends, a client that asks keeps its body.
                try client.send(
                    "PUT /db/a/ltx/0/\(MadeLTX.name(7, 7)) HTTP/1.1\r\nhost: x\r\n"
                        + "content-length: 9000000\r\nexpect: 100-continue\r\n\r\n"
                )
                let told = try client.response()
                #expect(told?.status == 409)
                #expect(told?.headers["dormouse-txid"] == "0000000000000001")
            }
        }
    }

    @Test("a stopped sink finishes what is at work and refuses what comes")
    func drain() async throws {
        try await withTemporaryDirectory { directory in
            let options = SinkOptions(
                data: directory.path,
                listen: SinkAddress(host: "127.0.0.1", port: 0)
            )
            let server = try await SinkServer.start(options)
            let port = server.address.port
            let file = try MadeLTX.step(1)
            let client = try await blocking {
                let client = try RawClient(port)
                try client.send(
                    "PUT /db/a/ltx/0/\(MadeLTX.name(1, 1)) HTTP/1.1\r\nhost: x\r\n"
                        + "content-length: \(file.count)\r\nexpect: 100-continue\r\n\r\n"
                )
                // Now it is at work.
                #expect(try client.line() == "HTTP/1.1 100 Continue")
                #expect(try client.line() == "")
                return Handed(client)
            }
            async let done: Void = server.shutDown(within: .seconds(60))
            try await blocking {
                // Wait until nobody listens any more.
                while (try? RawClient(port)) != nil {}
                try client.value.send(file)
                #expect(try client.value.response()?.status == 200)
            }
            await done
        }
    }

    /// A value that one thread at a time uses.
    private struct Handed<Value>: @unchecked Sendable {
        let value: Value

        init(_ value: Value) {
            self.value = value
        }
    }
}
