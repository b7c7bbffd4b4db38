import Foundation
import TestSupport
import Testing
import Transfer

/// The server is nghttp2's proxy; behind it rclone, where WebDAV's methods write files.
@Suite(
    "HTTP/2 is spoken with a server that offers it",
    .enabled(if: Peers.areInstalled && OpenSSL.isInstalled && Proxy.isInstalled, Proxy.missing),
    .timeLimit(.minutes(2))
)
struct HTTP2Tests {
    /// Runs a body beside a proxy that speaks HTTP/2 to us and HTTP/1.1 to a server.
    private func withProxy(
        of server: UInt16,
        in directory: URL,
        _ body: (HTTPClient, String) async throws -> Void
    ) async throws {
        let openssl = try await OpenSSL(directory)
        let port = try Self.freePort()
        let proxy = try Child(
            Proxy.program,
            [
                "--frontend=127.0.0.1,\(port)", "--backend=127.0.0.1,\(server)",
                "--conf=/dev/null", "--no-ocsp", "--workers=1", openssl.key,
                openssl.certificate,
            ]
        )
        try await withChild(proxy) { _ in
            while !RawServer.isListening(on: port) {
                try await Task.sleep(for: .milliseconds(10))
            }
            let client = HTTPClient(HTTPClientOptions(authorities: openssl.authority))
            try await body(client, "https://localhost:\(port)")
        }
    }

    /// Runs a body beside a server of files, behind the proxy.
    private func withFiles(_ body: (HTTPClient, String, URL) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let root = directory.appending(path: "root")
            try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
            let port = try Self.freePort()
            let files = try Child(
                Peers.directory.appending(path: "rclone"),
                [
                    "serve", "webdav", root.path, "--addr", "127.0.0.1:\(port)",
                    "--config", directory.appending(path: "rclone.conf").path,
                ]
            )
            try await withChild(files) { _ in
                while !RawServer.isListening(on: port) {
                    try await Task.sleep(for: .milliseconds(10))
                }
                try await withProxy(of: port, in: directory) { try await body($0, $1, root) }
            }
        }
    }

    private static func freePort() throws -> UInt16 {
        let probe = try RawServer { _ in }
        defer { probe.stop() }
        return probe.port
    }

    private static let size = 3 << 20

    private static func source(_ directory: URL) throws -> (FileSource, [UInt8]) {
        var generator = SeededGenerator(seed: 2)
        let bytes = (0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let path = directory.appending(path: "source")
        try Data(bytes).write(to: path)
        return (try FileSource(path.path), bytes)
    }

    @Test("bodies go out and come back whole, many at once")
    func bodies() async throws {
        try await withFiles { client, origin, root in
            let (source, bytes) = try Self.source(root)
            let range = 0..<source.sizeInBytes
            let put = try await client.send(
                HTTPRequest(.put, "\(origin)/copy", body: .file(source, range))
            )
            #expect(put.majorVersion == 2)
            #expect(put.status == 201)
            #expect(try Array(Data(contentsOf: root.appending(path: "copy"))) == bytes)
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await client.send(
                            HTTPRequest(.get, "\(origin)/copy"),
                            limit: Self.size
                        )
                    }
                }
                for try await got in group {
                    #expect(got.majorVersion == 2)
                    #expect(got.body == bytes)
                    #expect(got.hasMarkedEnd)
                }
            }
            let gone = try await client.send(HTTPRequest(.delete, "\(origin)/copy"))
            #expect(gone.isSuccess)
            let missing = try await client.send(HTTPRequest(.head, "\(origin)/copy"))
            #expect(missing.status == 404)
            #expect(missing.majorVersion == 2)
        }
    }

    /// libcurl 7.88 (Debian 12) forgets an answer whose stream is reset behind it, as RFC 9113 lets a
    /// server do (8.1) that wants no more of the body; later ones do not.
    @Test("an answer that comes while the body is sent is read, or the request can be tried again")
    func early() async throws {
        try await withTemporaryDirectory { directory in
            let large = directory.appending(path: "large")
            try Data(count: 64 << 20).write(to: large)
            let source = try FileSource(large.path)
            try await withRawServer { connection in
                guard connection.readHead() != nil else { return }
                connection.send("HTTP/1.1 409 Conflict\r\ncontent-length: 4\r\n\r\nlate")
                connection.discard(1 << 20)
            } _: { server in
                try await withProxy(of: server.port, in: directory) { client, origin in
                    let body = RequestBody.file(source, 0..<source.sizeInBytes)
                    do {
                        let refused = try await client.send(
                            HTTPRequest(.put, "\(origin)/x", body: body)
                        )
                        #expect(refused.majorVersion == 2)
                        #expect(refused.status == 409)
                        #expect(refused.reason == "late")
                    } catch let failure as TransferFailure {
                        #expect(failure.kind == .reset)
                        #expect(failure.kind.isRetryable)
                    }
                    // The connection and what else goes by it are not harmed.
                    let next = try await client.send(HTTPRequest(.get, "\(origin)/x"))
                    #expect(next.majorVersion == 2)
                    #expect(next.status == 409)
                }
            }
        }
    }

    @Test("a request that is cancelled in its body takes no other along")
    func cancelled() async throws {
        try await withFiles { client, origin, root in
            let (source, bytes) = try Self.source(root)
            let (starts, start) = AsyncStream.makeStream(of: Void.self)
            let endless = BodyProducer { buffer in
                start.yield()
                buffer.initializeMemory(as: UInt8.self, repeating: 7)
                return .bytes(buffer.count)
            }
            let task = Task {
                await trouble {
                    try await client.send(
                        HTTPRequest(.put, "\(origin)/endless", body: .producer(endless))
                    )
                }
            }
            for await _ in starts { break }
            let other = Task {
                try await client.send(
                    HTTPRequest(
                        .put,
                        "\(origin)/copy",
                        body: .file(source, 0..<source.sizeInBytes)
                    )
                )
            }
            task.cancel()
            #expect(await task.value?.kind == .cancelled)
            #expect(try await other.value.status == 201)
            let got = try await client.send(
                HTTPRequest(.get, "\(origin)/copy"),
                limit: Self.size
            )
            #expect(got.body == bytes)
        }
    }
}

private enum Proxy {
    static let program = URL(filePath: "/usr/sbin/nghttpx")
    static let isInstalled = FileManager.default.isExecutableFile(atPath: program.path)
    static let missing: Comment =
        "there is no /usr/sbin/nghttpx: install the package nghttp2-proxy"
}
