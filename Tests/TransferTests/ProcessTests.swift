import Foundation
import TestSupport
import Testing
import Transfer

/// What belongs to a whole process is tried in one of its own.
@Suite("the client and its process")
struct ProcessTests {
    @Test("the proxy of the environment is used, and only where it is meant")
    func proxy() async {
        await #expect(processExitsWith: .success) {
            try await withRawServer { connection in
                while let request = connection.readHead() {
                    connection.answer(200, ["Target": request.target])
                }
            } _: { server in
                setenv("http_proxy", server.origin, 1)
                setenv("no_proxy", "127.0.0.1", 1)
                let request = HTTPRequest(.get, "http://sink.invalid/db/x")
                let response = try await HTTPClient().send(request)
                #expect(response.headers["target"] == "http://sink.invalid/db/x")
                let direct = try await HTTPClient().send(HTTPRequest(.get, server.origin + "/y"))
                #expect(direct.headers["target"] == "/y")
                let options = HTTPClientOptions(proxy: .none)
                let failure = await trouble { try await HTTPClient(options).send(request) }
                #expect(failure?.kind == .resolve)
            }
        }
    }

    @Test("a proxy that lets nobody through to a TLS server")
    func tunnels() async {
        await #expect(processExitsWith: .success) {
            try await withRawServer { connection in
                guard let request = connection.readHead() else { return }
                let status = request.target.hasPrefix("locked") ? 407 : 403
                connection.answer(status, ["X-Liters-Protocol": "1", "Connection": "close"])
            } _: { server in
                setenv("https_proxy", server.origin, 1)
                let client = HTTPClient()
                let locked = await trouble {
                    try await client.send(HTTPRequest(.get, "https://locked.invalid/"))
                }
                #expect(locked?.kind == .unauthorized)
                let closed = await trouble {
                    try await client.send(HTTPRequest(.get, "https://closed.invalid/"))
                }
                #expect(closed?.kind == .connect)
            }
        }
    }

    @Test("no signal comes of a connection that breaks under an upload")
    func brokenPipe() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_DFL)
            try await withRawServer { connection in
                guard connection.readHead() != nil else { return }
                connection.discard(10_000)
            } _: { server in
                let client = HTTPClient()
                for _ in 0..<20 {
                    let body = RequestBody.bytes([UInt8](repeating: 0, count: 4 << 20))
                    let failure = await trouble {
                        try await client.send(HTTPRequest(.put, server.origin, body: body))
                    }
                    #expect(failure?.kind == .reset)
                }
            }
        }
    }

    @Test("memory does not grow with the file that is sent")
    func memory() async {
        await #expect(processExitsWith: .success) {
            try await withTemporaryDirectory { directory in
                let path = directory.appending(path: "f").path
                try Data().write(to: URL(filePath: path))
                try #require(truncate(path, 200 << 20) == 0)
                try await withRawServer { connection in
                    while let request = connection.readHead() {
                        let size = Int(request.headers["content-length"] ?? "") ?? 0
                        guard connection.discard(size) == size else { return }
                        connection.answer(200)
                    }
                } _: { server in
                    let client = HTTPClient()
                    let source = try FileSource(path)
                    // The library, the connection and the buffers are there after the first.
                    for (size, limit) in [(1 << 20 as Int64, Int.max), (200 << 20, 8 << 10)] {
                        let before = peakMemory()
                        let request = HTTPRequest(
                            .put,
                            server.origin,
                            body: .file(source, 0..<size)
                        )
                        let response = try await client.send(request)
                        #expect(response.status == 200)
                        #expect(peakMemory() - before < limit, "KiB more at the peak")
                    }
                }
            }
        }
    }

    @Test("a process at rest between requests is not woken")
    func rest() async {
        await #expect(processExitsWith: .success) {
            try await withRawServer { connection in
                while connection.readHead() != nil { connection.answer(200) }
            } _: { server in
                let client = HTTPClient()
                _ = try await client.send(HTTPRequest(.get, server.origin))
                let before = try #require(switches(of: TransferLoop.threadName))
                try await Task.sleep(for: .seconds(1))
                let after = try #require(switches(of: TransferLoop.threadName))
                // On its way to rest it may wait once or twice; who polls waits on and on.
                #expect(after - before < 3)
                let response = try await client.send(HTTPRequest(.get, server.origin))
                #expect(response.status == 200)
            }
        }
    }
}

/// KiB that the process has had at its peak.
///
/// Not `getrusage`, whose peak counts what the process was before `exec`.
private func peakMemory() -> Int {
    fact("VmHWM:") ?? 0
}

/// How often a thread of the process, known by its name, gave up the processor to wait.
private func switches(of name: String) -> Int? {
    let tasks = "/proc/self/task"
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []
    for thread in threads.map({ "\(tasks)/\($0)/" }) {
        guard let text = FileManager.default.contents(atPath: thread + "comm"),
            String(decoding: text, as: UTF8.self) == name + "\n"
        else { continue }
        return fact("voluntary_ctxt_switches:", thread + "status")
    }
    return nil
}

/// A number in one of the kernel's pages about this process.
private func fact(_ name: String, _ path: String = "/proc/self/status") -> Int? {
    guard let data = FileManager.default.contents(atPath: path) else { return nil }
    let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
    return lines.first { $0.hasPrefix(name) }?.split(whereSeparator: \.isWhitespace)
        .dropFirst().first.flatMap { Int($0) }
}
