import Bucket
import Foundation
import LTXCodec
import SQLiteBridge
import Sink
import TestSupport
import Testing
import Wire

/// Requests that go through bucket, live copy and uploads together.
@Suite("A sink as a whole", .timeLimit(.minutes(5)))
struct WholeSinkTests {
    static let lineage = String(repeating: "5", count: 32)

    private static func database(_ directory: URL, rows: Int) throws -> [UInt8] {
        let path = directory.appending(path: "image-\(rows).db").path
        let connection = try Connection(path: path, mode: .create, checkpointing: .automatic)
        try connection.execute("PRAGMA journal_mode = DELETE")
        try connection.execute("CREATE TABLE t (x)")
        try connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows)) "
                + "INSERT INTO t SELECT randomblob(100) FROM n"
        )
        try connection.close()
        return Array(try Data(contentsOf: URL(filePath: path)))
    }

    /// A snapshot of a database, at a TXID.
    private static func snapshot(_ image: [UInt8], _ txid: UInt64) throws -> [UInt8] {
        var bytes: [UInt8] = []
        let pageSize = UInt32(image[16]) << 8 | UInt32(image[17])
        let commit = UInt32(image.count) / pageSize
        let output = Collected()
        var encoder = try LTXEncoder(
            header: LTXHeader(
                pageSize: pageSize,
                commit: commit,
                minTXID: TXID(1),
                maxTXID: TXID(txid),
                timestamp: 1_796_027_908_351
            )
        ) { output.bytes += $0 }
        for pgno in 1...commit {
            let start = Int(pgno - 1) * Int(pageSize)
            try image[start..<start + Int(pageSize)].withUnsafeBytes {
                try encoder.append(pgno: pgno, page: $0)
            }
        }
        _ = try encoder.finish()
        bytes = output.bytes
        return bytes
    }

    private final class Collected {
        var bytes: [UInt8] = []
    }

    private static func checksum(_ image: [UInt8]) -> Checksum {
        var checksum = DatabaseChecksum()
        let size = Int(image[16]) << 8 | Int(image[17])
        for index in 0..<image.count / size {
            image[index * size..<(index + 1) * size].withUnsafeBytes {
                checksum.toggle(pgno: Pgno(index + 1), page: $0)
            }
        }
        return checksum.value
    }

    /// Asks again until the live copy has a TXID.
    private static func applied(_ port: UInt16, _ txid: String) async throws -> String {
        while true {
            let answer = try await RawClient.once(port, "GET", "/db/a/freshness")
            if answer.text.contains("\"applied_txid\":\"\(txid)\"") { return answer.text }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    @Test("a pushed snapshot is applied, its ledger served, and a false checksum asks for a rebase")
    func pushed() async throws {
        try await withRunningSink { sink in
            let port = sink.port
            let directory = URL(filePath: sink.options.data)
            let image = try Self.database(directory, rows: 100)
            let file = try Self.snapshot(image, 1)
            let put = try await RawClient.once(
                port,
                "PUT",
                "/db/a/ltx/0/\(MadeLTX.name(1, 1))",
                [
                    "dormouse-lineage: \(Self.lineage)",
                    "dormouse-checksum: \(Self.checksum(image))",
                ],
                body: file
            )
            #expect(put.status == 200)
            let fresh = try await Self.applied(port, "0000000000000001")
            #expect(fresh.contains("\"lag_txids\":0"))
            #expect(fresh.contains("\"diverged\":false"))
            #expect(fresh.contains("\"applied_timestamp_ms\":1796027908351"))

            let ledger = try await RawClient.once(port, "GET", "/db/a/ledger?txid=1")
            #expect(ledger.status == 200)
            #expect(ledger.headers["dormouse-txid"] == "0000000000000001")
            let path = directory.appending(path: "ledger")
            try Data(ledger.body).write(to: path)
            let read = try #require(try LedgerFile(path: path.path).load())
            #expect(read.ledger.txid == TXID(1))
            #expect(read.checksum == Self.checksum(image))
            #expect(read.ledger.checksum == Self.checksum(image))
            let other = try await RawClient.once(port, "GET", "/db/a/ledger?txid=7")
            #expect(other.status == 404)

            let wrong = try await RawClient.once(
                port,
                "PUT",
                "/db/a/ltx/0/\(MadeLTX.name(2, 2))",
                ["dormouse-checksum: ffffffffffffffff"],
                body: try MadeLTX.file(
                    2,
                    2,
                    commit: UInt32(image.count / 4096),
                    [(2, 1)],
                    pageSize: 4096
                )
            )
            #expect(wrong.status == 200, "the bucket takes it; the copy finds out")
            var root = try await RawClient.once(port, "GET", "/db/a")
            while root.headers["dormouse-rebase"] == nil {
                try await Task.sleep(for: .milliseconds(20))
                root = try await RawClient.once(port, "GET", "/db/a")
            }
            let metrics = try await RawClient.once(port, "GET", "/metrics")
            #expect(metrics.text.contains("dormouse_mirror_diverged{db=\"a\"} 1"))
        }
    }

    @Test(
        "somebody's file begins a lineage, an image with its base goes on in it, a bad one changes nothing"
    )
    func ingest() async throws {
        try await withRunningSink { sink in
            let port = sink.port
            let directory = URL(filePath: sink.options.data)
            let image = try Self.database(directory, rows: 300)
            let posted = try await RawClient.once(port, "POST", "/db/a/ingest", body: image)
            #expect(posted.status == 200, "\(posted.text)")
            let first = try #require(posted.headers["dormouse-lineage"])
            _ = try await Self.applied(port, "0000000000000001")
            let again = try await RawClient.once(port, "POST", "/db/a/ingest", body: image)
            #expect(again.status == 200)
            let second = try #require(again.headers["dormouse-lineage"])
            #expect(first != second)
            let fresh = try await Self.applied(port, "0000000000000002")
            #expect(fresh.contains("\"applied_by\":\"ingest\""))

            let larger = try Self.database(directory, rows: 500)
            let based = try await RawClient.once(
                port,
                "POST",
                "/db/a/ingest",
                [
                    "dormouse-lineage: \(second)", "dormouse-base-txid: 0000000000000009",
                    "dormouse-checksum: \(Self.checksum(larger))", "dormouse-timestamp: 5000",
                ],
                body: larger
            )
            #expect(based.status == 200, "\(based.text)")
            #expect(based.headers["dormouse-lineage"] == second)
            #expect(based.text.hasPrefix("\(MadeLTX.name(1, 9)) "))
            #expect(based.text.hasSuffix(" 5000\n"))
            _ = try await Self.applied(port, "0000000000000009")

            var damaged = image
            damaged[20_000] ^= 0xFF
            damaged[9_000] ^= 0xFF
            let bad: [([String], [UInt8], Int)] = [
                ([], Array("no database at all".utf8), 400), ([], Array(image.dropLast(100)), 400),
                ([], [0x28, 0xB5, 0x2F, 0xFD] + [UInt8](repeating: 7, count: 500), 400),
                (["dormouse-base-txid: 3", "dormouse-lineage: \(second)"], image, 409),
                (["dormouse-base-txid: 99", "dormouse-lineage: \(first)"], image, 409),
                (["dormouse-base-txid: 99", "dormouse-checksum: ffffffffffffffff"], image, 400),
            ]
            for (headers, body, status) in bad {
                let refused = try await RawClient.once(
                    port,
                    "POST",
                    "/db/a/ingest",
                    headers,
                    body: body
                )
                #expect(refused.status == status, "\(refused.text)")
                #expect(refused.headers["dormouse-txid"] == "0000000000000009")
                #expect(refused.headers["dormouse-lineage"] == second)
            }
        }
    }

    @Test("an upload goes on where it broke, on another connection and in another sink")
    func resumed() async throws {
        try await withTemporaryDirectory { directory in
            var options = SinkOptions(
                data: directory.appending(path: "data").path,
                listen: SinkAddress(host: "127.0.0.1", port: 0)
            )
            options.bodyTimeout = .seconds(2)
            options.idleTimeout = .seconds(2)
            let pages = (UInt32(1)...60).map { ($0, UInt8(truncatingIfNeeded: $0)) }
            let file = try MadeLTX.file(1, 1, commit: 60, pages, pageSize: 65536)
            let target = "/db/a/ltx/0/\(MadeLTX.name(1, 1))"
            let interop = "upload-draft-interop-version: 8"
            let half = file.count / 2

            var server = try await SinkServer.start(options)
            let created = try await RawClient.once(
                server.address.port,
                "PUT",
                target,
                [interop, "upload-complete: ?0", "upload-length: \(file.count)"],
                body: []
            )
            #expect(created.status == 201, "\(created.text)")
            let place = try #require(created.headers["location"])
            #expect(place.hasPrefix("/db/a/uploads/"))

            // Half of it, and the connection breaks.
            let port = server.address.port
            try await blocking {
                let client = try RawClient(port)
                try client.send(
                    "PATCH \(place) HTTP/1.1\r\nhost: x\r\n\(interop)\r\n"
                        + "content-type: application/partial-upload\r\nupload-offset: 0\r\n"
                        + "upload-complete: ?1\r\ncontent-length: \(file.count)\r\n"
                        + "expect: 100-continue\r\n\r\n"
                )
                #expect(try client.line() == "HTTP/1.1 100 Continue")
                try client.send(Array(file[..<half]))
            }
            var state = try await RawClient.once(port, "HEAD", place, [interop])
            #expect(state.status == 204)
            #expect(state.headers["upload-complete"] == "?0")
            await server.shutDown(within: .seconds(5))

            server = try await SinkServer.start(options)
            let second = server.address.port
            state = try await RawClient.once(second, "HEAD", place, [interop])
            let offset = try #require(state.headers["upload-offset"].flatMap { Int($0) })
            #expect(offset <= half)
            let elsewhere = try await RawClient.once(
                second,
                "PATCH",
                place,
                [
                    interop, "content-type: application/partial-upload",
                    "upload-offset: \(offset + 1)", "upload-complete: ?1",
                ],
                body: [1]
            )
            #expect(elsewhere.status == 409)
            #expect(elsewhere.headers["upload-offset"] == "\(offset)")
            let rest = try await RawClient.once(
                second,
                "PATCH",
                place,
                [
                    interop, "content-type: application/partial-upload", "upload-offset: \(offset)",
                    "upload-complete: ?1",
                ],
                body: Array(file[offset...])
            )
            #expect(rest.status == 200, "\(rest.text)")
            #expect(rest.text == "\(MadeLTX.name(1, 1)) \(file.count) 1000\n")
            #expect(rest.headers["upload-complete"] == "?1")
            let got = try await RawClient.once(second, "GET", target)
            #expect(got.body == file)
            let gone = try await RawClient.once(second, "DELETE", place)
            #expect(gone.status == 204)
            let none = try await RawClient.once(second, "HEAD", place, [interop])
            #expect(none.status == 404)
            await server.shutDown(within: .seconds(5))
        }
    }

    @Test("an upload that begins a lineage begins no second one, wherever the sink was killed")
    func onceOnly() async throws {
        try await withTemporaryDirectory { directory in
            let image = try Self.database(directory, rows: 300)
            // Killed before the answer was noted; and before the snapshot was there.
            for isStored in [true, false] {
                let data = directory.appending(path: "data-\(isStored)")
                var options = SinkOptions(
                    data: data.path,
                    listen: SinkAddress(host: "127.0.0.1", port: 0)
                )
                options.bodyTimeout = .seconds(2)
                let interop = "upload-draft-interop-version: 8"
                let finish: (UInt16, String) async throws -> RawResponse = { port, place in
                    try await RawClient.once(
                        port,
                        "PATCH",
                        place,
                        [
                            interop, "content-type: application/partial-upload",
                            "upload-offset: \(image.count)", "upload-complete: ?1",
                        ],
                        body: []
                    )
                }
                var server = try await SinkServer.start(options)
                let port = server.address.port
                let created = try await RawClient.once(
                    port,
                    "POST",
                    "/db/a/ingest",
                    [interop, "upload-complete: ?0", "upload-length: \(image.count)"],
                    body: image
                )
                #expect(created.status == 201, "\(created.text)")
                let place = try #require(created.headers["location"])
                let uploads = data.appending(path: "a/uploads")
                let kept = directory.appending(path: "kept-\(isStored)")
                try FileManager.default.copyItem(at: uploads, to: kept)
                let first = try await finish(port, place)
                #expect(first.status == 200, "\(first.text)")
                let lineage = try #require(first.headers["dormouse-lineage"])
                await server.shutDown(within: .seconds(5))

                try FileManager.default.removeItem(at: uploads)
                try FileManager.default.moveItem(at: kept, to: uploads)
                if !isStored {
                    for name in try FileManager.default.contentsOfDirectory(
                        atPath: data.path + "/a"
                    )
                    where name.hasPrefix("mirror") || name == "bucket" {
                        try FileManager.default.removeItem(atPath: data.path + "/a/" + name)
                    }
                }
                server = try await SinkServer.start(options)
                let second = try await finish(server.address.port, place)
                #expect(second.status == 200, "\(second.text)")
                #expect(second.headers["dormouse-lineage"] == lineage)
                #expect(second.headers["dormouse-txid"] == "0000000000000001")
                #expect(second.text.hasPrefix(MadeLTX.name(1, 1)))
                _ = try await Self.applied(server.address.port, "0000000000000001")
                // Another upload of the same bytes is another lineage.
                let other = try await RawClient.once(
                    server.address.port,
                    "POST",
                    "/db/a/ingest",
                    body: image
                )
                #expect(other.headers["dormouse-lineage"] != lineage)
                await server.shutDown(within: .seconds(5))
            }
        }
    }

    @Test("a copy that differs from its source is told of at once")
    func divergence() async throws {
        let (events, event) = AsyncStream.makeStream(of: SinkEvent.self)
        try await withRunningSink {
            $0.report = { event.yield($0) }
        } _: { sink in
            let put = try await RawClient.once(
                sink.port,
                "PUT",
                "/db/a/ltx/0/\(MadeLTX.name(1, 1))",
                ["dormouse-checksum: ffffffffffffffff"],
                body: try MadeLTX.step(1)
            )
            #expect(put.status == 200)
            // Nobody looks after this sink by the clock.
            for await found in events {
                guard case .diverged(let database, let txid, _, _) = found else { continue }
                #expect(database == "a")
                #expect(txid == TXID(1))
                break
            }
        }
    }

    @Test("TLS by certificate and key; a pair that is none is said at the start")
    func tls() async throws {
        try await withTemporaryDirectory { directory in
            let (key, certificate) = (
                directory.appending(path: "k"), directory.appending(path: "c")
            )
            let made = try await runProcess(
                URL(filePath: "/usr/bin/openssl"),
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                    "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", key.path, "-out", certificate.path,
                ]
            )
            #expect(made.stderr.contains("error") == false, "\(made.stderr)")
            var options = SinkOptions(
                data: directory.appending(path: "data").path,
                listen: SinkAddress(host: "127.0.0.1", port: 0)
            )
            options.tls = SinkOptions.TLS(certificate: "nonsense", key: "nonsense")
            await #expect(throws: SinkError.self) { try await SinkServer.start(options) }
            options.tls = SinkOptions.TLS(
                certificate: try String(contentsOf: certificate, encoding: .utf8),
                key: try String(contentsOf: key, encoding: .utf8)
            )
            let server = try await SinkServer.start(options)
            let file = directory.appending(path: "file")
            try Data(MadeLTX.step(1)).write(to: file)
            let base = "https://127.0.0.1:\(server.address.port)/db/a/ltx/0"
            let curl = URL(filePath: "/usr/bin/curl")
            let trust = ["--silent", "--show-error", "--cacert", certificate.path]
            let put = try await runProcess(
                curl,
                trust + ["-T", file.path, "\(base)/\(MadeLTX.name(1, 1))"]
            )
            #expect(put.stdout.hasPrefix(MadeLTX.name(1, 1)), "\(put.stdout) \(put.stderr)")
            let listing = try await runProcess(curl, trust + [base])
            #expect(listing.stdout == put.stdout)
            let refused = try await runProcess(
                curl,
                trust + ["-T", file.path, "-w", "%{http_code}", "\(base)/\(MadeLTX.name(9, 9))"]
            )
            #expect(refused.stdout.hasSuffix("400"), "\(refused.stdout)")

            let other = SinkOptions.TLS(certificate: "nonsense", key: "nonsense")
            await #expect(throws: SinkError.self) { try await server.renew(other) }
            let still = try await runProcess(curl, trust + [base])
            #expect(still.stdout == put.stdout)
            await server.shutDown(within: .seconds(5))
        }
    }
}
