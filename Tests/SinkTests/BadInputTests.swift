import Foundation
import LTXCodec
import Sink
import TestSupport
import Testing
import Wire

@Suite("Bad input over HTTP")
struct BadInputTests {
    struct Case: CustomTestStringConvertible {
        var what: String
        var method = "GET"
        var target: String
        var headers: [String] = []
        var body: [UInt8]?
        var status: Int
        var header: (String, String)?

        var testDescription: String { what }
    }

    static let name = MadeLTX.name(1, 1)
    static let file = "/db/app/ltx/0/\(name)"
    static let read = "authorization: Bearer reader"
    static let write = "authorization: bearer writer"

    static let seventh = (try? MadeLTX.step(7)) ?? []

    static let cases: [Case] = [
        Case(what: "no token", target: "/db/app", status: 401),
        Case(what: "no token at a path that is none", target: "/nowhere", status: 401),
        Case(
            what: "a wrong token",
            target: "/db/app",
            headers: ["authorization: Bearer wrong"],
            status: 401
        ),
        Case(
            what: "another scheme",
            target: "/db/app",
            headers: ["authorization: Basic writer"],
            status: 401
        ),
        Case(
            what: "a wrong token and a body",
            method: "PUT",
            target: file,
            headers: ["authorization: Bearer wrong"],
            body: [UInt8](repeating: 1, count: 300_000),
            status: 401
        ),
        Case(
            what: "a body that is far too long to be read",
            method: "PUT",
            target: file,
            headers: ["authorization: Bearer wrong"],
            body: [UInt8](repeating: 1, count: 9 << 20),
            status: 401
        ),
        Case(
            what: "a reader that writes",
            method: "PUT",
            target: file,
            headers: [read],
            body: [1],
            status: 403
        ),
        Case(
            what: "a reader that deletes",
            method: "DELETE",
            target: "/db/app/all",
            headers: [read],
            status: 403
        ),
        Case(what: "an unknown route", target: "/nowhere", headers: [read], status: 404),
        Case(
            what: "a target that is too long",
            target: "/db/app?" + String(repeating: "x", count: 9000),
            headers: [read],
            status: 414
        ),
        Case(
            what: "a header that is too long",
            target: "/db/app",
            headers: [read, "x-long: " + String(repeating: "x", count: 9000)],
            status: 431
        ),
        Case(
            what: "too many headers",
            target: "/db/app",
            headers: [read]
                + (0..<40).map { "x-\($0): " + String(repeating: "x", count: 690) },
            status: 431
        ),
        Case(
            what: "an unknown route below a database",
            target: "/db/app/nothing",
            headers: [read],
            status: 404
        ),
        Case(
            what: "a database that is not there",
            target: "/db/nobody",
            headers: [read],
            status: 404
        ),
        Case(
            what: "a file that is not there",
            target: "/db/app/ltx/1/\(name)",
            headers: [read],
            status: 404
        ),
        Case(what: "a name that is a path", target: "/db/../x", headers: [read], status: 400),
        Case(
            what: "a name that is an encoded path",
            target: "/db/%2e%2e",
            headers: [read],
            status: 400
        ),
        Case(what: "a name that hides", target: "/db/.spool", headers: [read], status: 400),
        Case(
            what: "a name that is too long",
            target: "/db/\(String(repeating: "a", count: 65))",
            headers: [read],
            status: 400
        ),
        Case(what: "a level that is none", target: "/db/app/ltx/10", headers: [read], status: 400),
        Case(
            what: "a file name that is none",
            target: "/db/app/ltx/0/x.ltx",
            headers: [read],
            status: 400
        ),
        Case(
            what: "a seek that is none",
            target: "/db/app/ltx/0?seek=xyz",
            headers: [read],
            status: 400
        ),
        Case(
            what: "a stream from nowhere",
            target: "/db/app/stream?seek=0",
            headers: [read],
            status: 400
        ),
        Case(
            what: "an offset that is none",
            target: "\(file)?offset=-1",
            headers: [read],
            status: 400
        ),
        Case(
            what: "an offset beyond all numbers",
            target: "\(file)?offset=99999999999999999999",
            headers: [read],
            status: 400
        ),
        Case(
            what: "an offset behind the end",
            target: "\(file)?offset=99999999",
            headers: [read],
            status: 400
        ),
        Case(
            what: "a wrong method",
            method: "POST",
            target: "/db/app",
            headers: [write],
            body: [1],
            status: 405,
            header: ("allow", "GET")
        ),
        Case(
            what: "an unheard-of method",
            method: "BREW",
            target: file,
            headers: [write],
            status: 405,
            header: ("allow", "GET, PUT, POST, DELETE, OPTIONS")
        ),
        Case(
            what: "a wrong method with a body",
            method: "PUT",
            target: "/db/app/all",
            headers: [write],
            body: [UInt8](repeating: 1, count: 100_000),
            status: 405,
            header: ("allow", "DELETE")
        ),
        Case(what: "no length", method: "PUT", target: file, headers: [write], status: 411),
        Case(
            what: "a length beyond the limit",
            method: "PUT",
            target: file,
            headers: [write, "content-length: 99999999999"],
            status: 413
        ),
        Case(
            what: "a length beyond the limit of a patient client",
            method: "PUT",
            target: file,
            headers: [write, "content-length: 99999999999", "expect: 100-continue"],
            status: 413
        ),
        Case(
            what: "a compressed body",
            method: "PUT",
            target: file,
            headers: [write, "content-encoding: gzip"],
            body: [1],
            status: 415
        ),
        Case(
            what: "another transfer coding",
            method: "PUT",
            target: file,
            headers: [write, "transfer-encoding: gzip"],
            status: 400
        ),
        Case(
            what: "two lengths",
            method: "PUT",
            target: file,
            headers: [write, "content-length: 1", "transfer-encoding: chunked"],
            status: 400
        ),
        Case(
            what: "a writer that has no name",
            method: "PUT",
            target: file,
            headers: [write, "x-liters-writer-id: a b"],
            body: [1],
            status: 400
        ),
        Case(
            what: "a lineage that is none",
            method: "PUT",
            target: file,
            headers: [write, "dormouse-lineage: xyz"],
            body: [1],
            status: 400
        ),
        Case(
            what: "a checksum that is none",
            method: "PUT",
            target: file,
            headers: [write, "dormouse-checksum: 0000000000000001"],
            body: [1],
            status: 400
        ),
        Case(
            what: "a body that is no LTX file",
            method: "PUT",
            target: "/db/app/ltx/0/\(MadeLTX.name(2, 2))",
            headers: [write],
            body: [UInt8](repeating: 1, count: 5_000),
            status: 400
        ),
        Case(
            what: "a file that does not follow",
            method: "PUT",
            target: "/db/app/ltx/0/\(MadeLTX.name(7, 7))",
            headers: [write],
            body: seventh,
            status: 409
        ),
        Case(
            what: "a large file that does not follow",
            method: "PUT",
            target: "/db/app/ltx/0/\(MadeLTX.name(7, 7))",
            headers: [write],
            body: [UInt8](repeating: 1, count: 4 << 20),
            status: 409
        ),
        Case(
            what: "a part for an upload that is none",
            method: "PATCH",
            target: "/db/app/uploads/\(String(repeating: "0", count: 32))",
            headers: [
                write, "content-type: application/partial-upload", "upload-offset: 0",
                "upload-complete: ?1", "upload-draft-interop-version: 6",
            ],
            body: [1],
            status: 404
        ),
    ]

    @Test("each gets its status, the protocol's header and a line that says why", arguments: cases)
    func answers(_ test: Case) async throws {
        try await withRunningSink({
            $0.tokens = Tokens(
                readWrite: try? BearerToken("writer"),
                readOnly: try? BearerToken("reader")
            )
            $0.maxUpload = 64 << 20
        }) { sink in
            let first = try await RawClient.once(
                sink.port,
                "PUT",
                Self.file,
                [Self.write],
                body: try MadeLTX.step(1)
            )
            #expect(first.status == 200)
            let response = try await RawClient.once(
                sink.port,
                test.method,
                test.target,
                test.headers,
                body: test.body
            )
            #expect(response.status == test.status, "\(response.text)")
            #expect(response.headers["x-liters-protocol"] == "1")
            #expect(response.isWhole)
            #expect(response.text.hasSuffix("\n"))
            #expect(response.text.filter(\.isNewline).count == 1, "\(response.text)")
            if let (name, value) = test.header { #expect(response.headers[name] == value) }
            // Whatever it was, the next one is served.
            let after = try await RawClient.once(sink.port, "GET", "/db/app", [Self.read])
            #expect(after.status == 200)
            #expect(after.headers["dormouse-txid"] == "0000000000000001")
        }
    }

    @Test("the health check needs no token and tells none")
    func health() async throws {
        try await withRunningSink({ $0.tokens = Tokens(readWrite: try? BearerToken("writer")) }) {
            let response = try await RawClient.once($0.port, "GET", "/")
            #expect(response.status == 200)
            #expect(response.headers["x-liters-protocol"] == "1")
        }
    }

    @Test("a disk that is too full refuses writes, says when to come again, and serves reads")
    func fullDisk() async throws {
        try await withRunningSink({ $0.diskGuard = DiskGuard(reserve: .share(10_000)) }) { sink in
            let small = try MadeLTX.step(1)
            let large = [UInt8](repeating: 1, count: 4 << 20)
            for body in [small, large] {
                let put = try await RawClient.once(sink.port, "PUT", Self.file, body: body)
                #expect(put.status == 507)
                #expect(put.headers["retry-after"] == "60")
            }
            let listing = try await RawClient.once(sink.port, "GET", "/db/app/ltx/0")
            #expect(listing.status == 200)
            #expect(listing.body == [])
        }
    }

    @Test("a body that ends before its length is refused, and leaves nothing behind")
    func shortBody() async throws {
        try await withRunningSink { sink in
            let response = try await blocking {
                let client = try RawClient(sink.port)
                try client.send(
                    "PUT \(Self.file) HTTP/1.1\r\nhost: x\r\ncontent-length: 5000\r\n\r\n"
                )
                try client.send([UInt8](repeating: 1, count: 4999))
                client.endSending()
                return try client.response()
            }
            #expect(response?.status == 400)
            #expect(response?.headers["x-liters-protocol"] == "1")
            let listing = try await RawClient.once(sink.port, "GET", "/db/app/ltx/0")
            #expect(listing.body == [])
        }
    }

    @Test("chunks without end are cut off at the limit, and the client is told")
    func chunkBomb() async throws {
        try await withRunningSink({ $0.maxUpload = 1 << 20 }) { sink in
            let response = try await blocking {
                let client = try RawClient(sink.port)
                try client.send(
                    "PUT \(Self.file) HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
                )
                let chunk =
                    Array("10000\r\n".utf8) + [UInt8](repeating: 1, count: 65_536)
                    + Array("\r\n".utf8)
                // It is let go on for a while, but not for ever.
                for _ in 0..<4096 {
                    do { try client.send(chunk) } catch { break }
                }
                return try client.response()
            }
            #expect(response?.status == 413)
            #expect(response?.headers["x-liters-protocol"] == "1")
        }
    }

    @Test("garbage, huge heads and broken chunks leave it serving others")
    func garbage() async throws {
        try await withRunningSink({
            $0.idleTimeout = .seconds(1)
            $0.bodyTimeout = .seconds(1)
        }) { sink in
            let huge =
                "GET /db/app HTTP/1.1\r\nhost: x\r\nx: " + String(repeating: "a", count: 1 << 20)
            let messages: [[UInt8]] = [
                Array(huge.utf8), Array("GET ".utf8), Array("\r\n\r\n\r\n".utf8),
                Array("GET / HTTP/9.9\r\n\r\n".utf8), [UInt8](repeating: 0, count: 5000),
                Array("PUT \(Self.file) HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n".utf8),
                Array("PUT \(Self.file) HTTP/1.1\r\ncontent-length: -5\r\n\r\n".utf8),
                Array("PUT \(Self.file) HTTP/1.1\r\ncontent-length: 1e3\r\n\r\n".utf8),
                Array("GET /\(String(repeating: "a", count: 200_000)) HTTP/1.1\r\n\r\n".utf8),
            ]
            for message in messages {
                try await blocking {
                    let client = try RawClient(sink.port)
                    try? client.send(message)
                    client.endSending()
                    while (try? client.fill()) == true {}
                }
                let after = try await RawClient.once(sink.port, "GET", "/")
                #expect(after.status == 200)
            }
        }
    }

    @Test("an address that others can reach is not bound without a token")
    func reachable() async throws {
        try await withTemporaryDirectory { directory in
            var options = SinkOptions(
                data: directory.path,
                listen: SinkAddress(host: "0.0.0.0", port: 0)
            )
            await #expect(throws: SinkError.self) { try await SinkServer.start(options) }
            options.tokens = Tokens(readOnly: try BearerToken("reader"))
            let server = try await SinkServer.start(options)
            await server.shutDown(within: .seconds(1))
        }
    }
}
