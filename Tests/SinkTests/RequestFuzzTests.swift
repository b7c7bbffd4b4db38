import DurableFiles
import Foundation
import LTXCodec
import Sink
import TestSupport
import Testing
import Wire

@Suite("Random requests", .timeLimit(.minutes(5)))
struct RequestFuzzTests {
    /// Requests that are nearly right, so that they get far.
    private struct Maker {
        var generator: SeededGenerator

        private static let methods = [
            "GET", "PUT", "POST", "DELETE", "HEAD", "PATCH", "OPTIONS", "BREW", "get", "",
        ]
        private static let names = [
            "a", "b", "..", ".spool", "%2e%2e", "", "a/b", "A-_9", "\u{e9}",
        ]
        private static let numbers = [
            "0", "1", "2", "5", "10", "-1", "x", "18446744073709551615", "99999999999999999999", "",
        ]
        private static let lineage = String(repeating: "a", count: 32)

        mutating func pick<T>(_ values: [T]) -> T {
            values[Int.random(in: 0..<values.count, using: &generator)]
        }

        mutating func chance(_ one: Int) -> Bool {
            Int.random(in: 0..<one, using: &generator) == 0
        }

        mutating func txid() -> UInt64 {
            chance(20)
                ? UInt64.random(in: 1...UInt64.max, using: &generator)
                : UInt64.random(in: 1...6, using: &generator)
        }

        private mutating func tail(_ min: UInt64, _ max: UInt64) -> String {
            let file =
                chance(10) ? "x\(min).ltx" : MadeLTX.name(Swift.min(min, max), Swift.max(min, max))
            switch Int.random(in: 0..<12, using: &generator) {
            case 0: return ""
            case 1: return "/ltx/\(pick(Self.numbers))?seek=\(pick(Self.numbers))"
            case 2...6: return "/ltx/\(chance(3) ? pick(Self.numbers) : "0")/\(file)"
            case 7: return "/ltx/0/\(file)?offset=\(pick(Self.numbers))&size=\(pick(Self.numbers))"
            case 8:
                return pick([
                    "/all", "/ingest", "/freshness", "/nothing", "/uploads/\(Self.lineage)",
                ])
            case 9: return "/ledger?txid=\(pick(Self.numbers))"
            case 10: return "/stream?seek=\(pick(Self.numbers))"
            default: return "/\(pick(Self.numbers))/\(pick(Self.numbers))"
            }
        }

        private mutating func file(_ min: UInt64, _ max: UInt64) -> [UInt8] {
            let (min, max) = (Swift.min(min, max), Swift.max(min, max))
            let byte = UInt8(truncatingIfNeeded: max) & 3
            var pages: [(Pgno, UInt8)] = [(2, byte)]
            if min == 1 { pages.insert((1, byte), at: 0) }
            var bytes = (try? MadeLTX.file(min, max, commit: 2, pages)) ?? []
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &generator)))
            case 1:
                for _ in 0..<3 where !bytes.isEmpty {
                    bytes[Int.random(in: 0..<bytes.count, using: &generator)] ^= 1
                }
            case 2:
                bytes = (0..<Int.random(in: 0...300, using: &generator)).map { _ in
                    UInt8.random(in: 0...255, using: &generator)
                }
            default: break
            }
            return bytes
        }

        private mutating func value(_ header: String) -> String {
            switch header {
            case WireHeader.lineage: chance(3) ? pick(Self.numbers) : Self.lineage
            case WireHeader.uploadComplete: pick(["?0", "?1", "1", ""])
            case "content-type": pick([WireHeader.partialUpload, "text/plain"])
            case "content-encoding": pick(["identity", "gzip"])
            case WireHeader.writerID: pick(["me", "you", "a b", ""])
            case "transfer-encoding": pick(["chunked", "gzip"])
            default: pick(Self.numbers)
            }
        }

        private static let headers = [
            WireHeader.lineage, WireHeader.uploadComplete, WireHeader.uploadOffset,
            WireHeader.uploadLength, WireHeader.uploadInterop, WireHeader.writerID,
            WireHeader.writerTakeover, WireHeader.checksum, WireHeader.baseTXID,
            WireHeader.timestamp, "content-type", "content-encoding", "transfer-encoding",
            "authorization",
        ]

        mutating func request() -> (RequestHead, [UInt8]) {
            let (min, max) = (txid(), txid())
            let method = chance(3) ? pick(Self.methods) : "PUT"
            let target =
                chance(30)
                ? pick(Self.names) : "/db/\(chance(4) ? pick(Self.names) : "a")" + tail(min, max)
            var head = RequestHead(method: method, target: target)
            while chance(2) {
                let header = pick(Self.headers)
                head.add(header, value(header))
            }
            let body = file(min, max)
            if !chance(10) {
                head.add("content-length", chance(20) ? pick(Self.numbers) : "\(body.count)")
            }
            return (head, body)
        }
    }

    @Test(
        "each gets an answer of the protocol, and nothing appears outside of its place",
        arguments: [1, 2, 3, 4] as [UInt64]
    )
    func service(seed: UInt64) async throws {
        try await withScene { scene in
            var maker = Maker(generator: SeededGenerator(seed: seed))
            var statuses: Set<Int> = []
            for number in 0..<1500 {
                let (head, body) = maker.request()
                let response = await scene.service.respond(to: head, body: body)
                statuses.insert(response.status)
                let what = "seed \(seed), request \(number): \(head.method) \(head.path)"
                #expect(
                    [200, 201, 204, 400, 401, 403, 404, 405, 409, 411, 413, 415, 429, 503]
                        .contains(response.status),
                    "\(what): \(response.status) \(response.text)"
                )
                #expect(response[WireHeader.protocolName] == "1", "\(what)")
                if response.status >= 400, head.method != "HEAD" {
                    #expect(
                        response.text.filter(\.isNewline).count == 1,
                        "\(what): \(response.text)"
                    )
                }
                if case .frames(let queue) = response.body { queue.close() }
            }
            #expect(statuses.isSuperset(of: [200, 400, 404, 405, 409]), "\(statuses)")
            let entries = Set(try DurableFiles.list("\(scene.directory.path)/data"))
            #expect(entries.isSubset(of: [".spool", "a", "b", "A-_9"]), "\(entries)")
            #expect(try DurableFiles.list("\(scene.directory.path)") == ["data"])
            // What is listed is whole, whatever was sent.
            for line in await scene.listing(of: "a").split(separator: "\n") {
                let name = try #require(ListingLine(line)?.name)
                let path = "\(scene.directory.path)/data/a/bucket/ltx/0/\(name)"
                let bytes = Array(try Data(contentsOf: URL(filePath: path)))
                let file = try VerifiedFile { offset, buffer in
                    let rest = bytes.dropFirst(Int(offset))
                    let count = min(rest.count, buffer.count)
                    buffer.copyBytes(from: rest.prefix(count))
                    return count
                }
                #expect(file.header.fileName == name)
            }
            #expect(try await scene.push(1, to: "fresh").status == 200)
        }
    }

    @Test("random bytes on the socket leave it serving others", arguments: [11, 12] as [UInt64])
    func socket(seed: UInt64) async throws {
        try await withRunningSink({
            $0.idleTimeout = .seconds(1)
            $0.bodyTimeout = .seconds(1)
        }) { sink in
            let port = sink.port
            let file = try MadeLTX.step(1)
            try await blocking {
                var generator = SeededGenerator(seed: seed)
                let good =
                    Array(
                        ("PUT /db/a/ltx/0/\(MadeLTX.name(1, 1)) HTTP/1.1\r\nhost: x\r\n"
                            + "content-length: \(file.count)\r\n\r\n").utf8
                    ) + file
                var clients: [RawClient] = []
                for _ in 0..<200 {
                    var bytes = good
                    for _ in 0..<Int.random(in: 1...5, using: &generator) {
                        bytes[Int.random(in: 0..<bytes.count, using: &generator)] =
                            UInt8.random(in: 0...255, using: &generator)
                    }
                    let client = try RawClient(port)
                    try? client.send(
                        Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &generator)))
                    )
                    // Some end, some stay.
                    if Bool.random(using: &generator) {
                        client.endSending()
                    } else {
                        clients.append(client)
                    }
                }
                #expect(try RawClient(port).request("GET", "/").status == 200)
                let put = try RawClient(port).request(
                    "PUT",
                    "/db/fresh/ltx/0/\(MadeLTX.name(1, 1))",
                    body: file
                )
                #expect(put.status == 200)
            }
        }
    }
}
