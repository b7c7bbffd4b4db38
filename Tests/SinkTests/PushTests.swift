import Bucket
import DurableFiles
import Foundation
import LTXCodec
import Sink
import TestSupport
import Testing
import Wire

/// A service without a socket, and requests to it.
struct ServiceScene {
    let service: SinkService
    let directory: URL

    init(_ directory: URL, _ change: (inout SinkOptions) -> Void = { _ in }) throws {
        self.directory = directory
        var options = SinkOptions(
            data: directory.appending(path: "data").path,
            listen: SinkAddress(host: "127.0.0.1", port: 0)
        )
        change(&options)
        service = try SinkService(options)
    }

    func ask(
        _ method: String,
        _ target: String,
        _ headers: [String: String] = [:],
        body: [UInt8]? = nil
    ) async -> HTTPResponse {
        var head = RequestHead(method: method, target: target)
        for (name, value) in headers { head.add(name, value) }
        if let body { head.add("content-length", "\(body.count)") }
        return await service.respond(to: head, body: body ?? [])
    }

    func push(
        _ txid: UInt64,
        _ byte: UInt8 = 7,
        level: Int = 0,
        headers: [String: String] = [:],
        to name: String = "app"
    ) async throws -> HTTPResponse {
        await ask(
            "PUT",
            "/db/\(name)/ltx/\(level)/\(MadeLTX.name(txid, txid))",
            headers,
            body: try MadeLTX.step(txid, byte)
        )
    }

    func listing(_ level: Int = 0, of name: String = "app") async -> String {
        let response = await ask("GET", "/db/\(name)/ltx/\(level)")
        return String(decoding: response.bytes, as: UTF8.self)
    }
}

func withScene<R>(
    isolation: isolated (any Actor)? = #isolation,
    _ change: (inout SinkOptions) -> Void = { _ in },
    _ body: (ServiceScene) async throws -> R
) async throws -> R {
    try await withTemporaryDirectory { directory in
        let scene = try ServiceScene(directory, change)
        let result = try await body(scene)
        await scene.service.shutDown()
        return result
    }
}

extension HTTPResponse {
    var text: String { String(decoding: bytes, as: UTF8.self) }
}

@Suite("Pushes to a sink")
struct PushTests {
    static let one = String(repeating: "1", count: 32)
    static let two = String(repeating: "2", count: 32)

    @Test("a file is stored as its listing says, with the time of its header")
    func stored() async throws {
        try await withScene { scene in
            let bytes = try MadeLTX.file(
                1,
                1,
                commit: 2,
                [(1, 1), (2, 2)],
                timestamp: 1_796_027_908_351
            )
            let name = MadeLTX.name(1, 1)
            let put = await scene.ask("PUT", "/db/app/ltx/0/\(name)", body: bytes)
            #expect(put.status == 200)
            #expect(put.text == "\(name) \(bytes.count) 1796027908351\n")
            #expect(put[WireHeader.protocolName] == "1")
            #expect(put[WireHeader.txid] == "0000000000000001")
            #expect(await scene.listing() == put.text)
            let path = "\(scene.directory.path)/data/app/bucket/ltx/0/\(name)"
            #expect(try Data(contentsOf: URL(filePath: path)) == Data(bytes))
            #expect(try FileStatus.of(path)?.modifiedAt == 1_796_027_908_351)
            let spool = "\(scene.directory.path)/data/.spool"
            #expect(try DurableFiles.list(spool) == [], "nothing is left in the spool")
        }
    }

    @Test("each answer about a database names its head, its lineage and its newest file")
    func condition() async throws {
        try await withScene { scene in
            _ = try await scene.push(1, headers: [WireHeader.lineage: Self.one])
            let second = try await scene.push(2, headers: [WireHeader.lineage: Self.one])
            let checksum = try MadeLTX.step(2).suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let root = await scene.ask("GET", "/db/app")
            for answer in [second, root] {
                #expect(answer[WireHeader.txid] == "0000000000000002")
                #expect(answer[WireHeader.lineage] == Self.one)
                #expect(answer[WireHeader.headChecksum] == "\(TXID(checksum))")
                #expect(answer[WireHeader.rebase] == nil)
            }
        }
    }

    @Test("the same bytes again are a success, others under the same name a conflict")
    func again() async throws {
        try await withScene { scene in
            _ = try await scene.push(1)
            let second = try await scene.push(2)
            let again = try await scene.push(2)
            #expect(again.status == 200)
            #expect(again.text == second.text)
            let other = try await scene.push(2, 8)
            #expect(other.status == 409)
            #expect(other.text.hasSuffix("\n") && other.text.filter(\.isNewline).count == 1)
            let old = try await scene.push(1)
            #expect(old.status == 200, "also behind the head")
            let gap = try await scene.push(4)
            #expect(gap.status == 409)
            #expect(gap.text.hasPrefix("non-monotonic L0 push: "))
            #expect(await scene.listing().split(separator: "\n").count == 2)
        }
    }

    @Test("the fence stands after a restart: head, lineage and lease")
    func restart() async throws {
        try await withTemporaryDirectory { directory in
            let first = try ServiceScene(directory)
            let headers = [WireHeader.lineage: Self.one, WireHeader.writerID: "a"]
            #expect(try await first.push(1, headers: headers).status == 200)
            await first.service.shutDown()
            let second = try ServiceScene(directory)
            #expect(try await second.push(3).status == 409)
            #expect(try await second.push(1, 9).status == 409)
            #expect(try await second.push(2, headers: [WireHeader.lineage: Self.two]).status == 409)
            let other = try await second.push(2, headers: [WireHeader.writerID: "b"])
            #expect(other.status == 409)
            #expect(other.text == "bucket is owned by writer a\n")
            let taken = [WireHeader.writerID: "b", WireHeader.writerTakeover: "1"]
            #expect(try await second.push(2, headers: taken).status == 200)
            #expect(try await second.push(3, headers: headers).status == 409, "now it is b's")
            await second.service.shutDown()
        }
    }

    @Test("a lease ends by time alone, and a refused write does not make one longer")
    func lease() async throws {
        let clock = HandClock()
        let change: (inout SinkOptions) -> Void = {
            $0.now = { clock.now }
            $0.leaseDuration = .seconds(10)
        }
        try await withScene(change) { scene in
            let a = [WireHeader.writerID: "a"]
            let b = [WireHeader.writerID: "b"]
            let first = try await scene.push(1, headers: a)
            #expect(first.status == 200)
            clock.advance(9_999)
            #expect(try await scene.push(2, headers: b).status == 409)
            #expect(try await scene.push(5, headers: a).status == 409, "a gap")
            clock.advance(1)
            #expect(try await scene.push(2, headers: b).status == 200)
            #expect(try await scene.push(3, headers: a).status == 409)
        }
    }

    @Test("a snapshot with a base goes on in the lineage; without one it is ahead of the log")
    func newBase() async throws {
        try await withScene { scene in
            _ = try await scene.push(1)
            let snapshot = try MadeLTX.file(1, 9, commit: 2, [(1, 3), (2, 3)])
            let target = "/db/app/ltx/9/\(MadeLTX.name(1, 9))"
            #expect(await scene.ask("PUT", target, body: snapshot).status == 409)
            let wrong = await scene.ask(
                "PUT",
                target,
                [WireHeader.baseTXID: "8"],
                body: snapshot
            )
            #expect(wrong.status == 400)
            let based = await scene.ask(
                "PUT",
                target,
                [WireHeader.baseTXID: "9"],
                body: snapshot
            )
            #expect(based.status == 200, "\(based.text)")
            #expect(based[WireHeader.txid] == "0000000000000009")
            #expect(try await scene.push(10).status == 200)
            #expect(try await scene.push(2).status == 409)
        }
    }

    @Test("a summary may be made anew, and is never ahead of the log")
    func summaries() async throws {
        try await withScene { scene in
            for txid in UInt64(1)...3 { _ = try await scene.push(txid) }
            let target = "/db/app/ltx/1/\(MadeLTX.name(2, 3))"
            for byte in [UInt8(1), 2] {
                let file = try MadeLTX.file(2, 3, commit: 2, [(2, byte)])
                let put = await scene.ask("PUT", target, body: file)
                #expect(put.status == 200, "\(put.text)")
                let path = "\(scene.directory.path)/data/app/bucket/ltx/1/\(MadeLTX.name(2, 3))"
                #expect(try Data(contentsOf: URL(filePath: path)) == Data(file))
            }
            let ahead = try MadeLTX.file(2, 4, commit: 2, [(2, 1)])
            let refused = await scene.ask(
                "PUT",
                "/db/app/ltx/1/\(MadeLTX.name(2, 4))",
                body: ahead
            )
            #expect(refused.status == 409)
        }
    }

    @Test("a file that is no whole LTX file of that name is refused with the reason")
    func damaged() async throws {
        try await withScene { scene in
            _ = try await scene.push(1)
            let good = try MadeLTX.step(2)
            var flipped = good
            flipped[120] ^= 1
            let target = "/db/app/ltx/0/\(MadeLTX.name(2, 2))"
            for bytes in [[], [1, 2, 3], Array(good.dropLast()), good + [0], flipped] {
                let response = await scene.ask("PUT", target, body: bytes)
                #expect(response.status == 400, "\(bytes.count) bytes: \(response.text)")
                #expect(response.text.filter(\.isNewline).count == 1)
            }
            let renamed = await scene.ask(
                "PUT",
                target,
                body: try MadeLTX.file(2, 3, commit: 2, [(2, 1)])
            )
            #expect(renamed.status == 400)
            #expect(await scene.listing().split(separator: "\n").count == 1)
            #expect(await scene.ask("PUT", target, body: good).status == 200)
        }
    }

    @Test("a file that makes the database larger has every new page in it")
    func growth() async throws {
        try await withScene { scene in
            _ = try await scene.push(1)
            let target = "/db/app/ltx/0/\(MadeLTX.name(2, 2))"
            let hole = try MadeLTX.file(2, 2, commit: 5, [(3, 1), (5, 1)])
            let refused = await scene.ask("PUT", target, body: hole)
            #expect(refused.status == 400)
            #expect(refused.text.contains("grows from 2 to 5 pages"))
            let short = try MadeLTX.file(2, 2, commit: 5, [(1, 1)])
            #expect(await scene.ask("PUT", target, body: short).status == 400)
            let other = try MadeLTX.file(2, 2, commit: 2, [(2, 1)], pageSize: 1024)
            #expect(await scene.ask("PUT", target, body: other).status == 400)
            let whole = try MadeLTX.file(2, 2, commit: 5, [(1, 1), (3, 1), (4, 1), (5, 1)])
            #expect(await scene.ask("PUT", target, body: whole).status == 200)
            let shrunk = try MadeLTX.file(3, 3, commit: 1, [(1, 4)])
            let next = "/db/app/ltx/0/\(MadeLTX.name(3, 3))"
            #expect(await scene.ask("PUT", next, body: shrunk).status == 200)
        }
    }

    @Test("of two writers that push the same TXID at once, one is told so", .timeLimit(.minutes(2)))
    func race() async throws {
        try await withScene { scene in
            _ = try await scene.push(1)
            for txid in UInt64(2)...51 {
                async let one = scene.push(txid, 1)
                async let other = scene.push(txid, 2)
                let statuses = [try await one.status, try await other.status].sorted()
                #expect(statuses == [200, 409], "TXID \(txid)")
            }
            #expect(await scene.listing().split(separator: "\n").count == 51)
        }
    }

    @Test("a wipe forgets the lineage, and a directory set back by hand is seen at once")
    func wipe() async throws {
        try await withScene { scene in
            for txid in UInt64(1)...3 {
                _ = try await scene.push(txid, headers: [WireHeader.lineage: Self.one])
            }
            let bucket = "\(scene.directory.path)/data/app/bucket/ltx/0"
            try FileManager.default.removeItem(atPath: "\(bucket)/\(MadeLTX.name(3, 3))")
            let back = await scene.ask("GET", "/db/app")
            #expect(back[WireHeader.txid] == "0000000000000002")
            #expect(
                try await scene.push(3, 9, headers: [WireHeader.lineage: Self.one]).status == 200
            )
            #expect(await scene.ask("DELETE", "/db/app/all").status == 200)
            #expect(await scene.listing() == "")
            let empty = await scene.ask("GET", "/db/app")
            #expect(empty[WireHeader.txid] == "0000000000000000")
            #expect(empty[WireHeader.lineage] == nil)
            #expect(try await scene.push(1, headers: [WireHeader.lineage: Self.two]).status == 200)
        }
    }

    @Test("a deletion of what is not there is a success")
    func deletion() async throws {
        try await withScene { scene in
            let target = "/db/app/ltx/0/\(MadeLTX.name(1, 1))"
            #expect(await scene.ask("DELETE", target).status == 200, "no such database")
            _ = try await scene.push(1)
            _ = try await scene.push(2)
            #expect(await scene.ask("DELETE", target).status == 200)
            #expect(await scene.ask("DELETE", target).status == 200)
            #expect(await scene.ask("GET", target).status == 404)
            #expect(await scene.listing().hasPrefix(MadeLTX.name(2, 2)))
        }
    }

    @Test("reading makes no database; a level of none is an empty listing")
    func unknown() async throws {
        try await withScene { scene in
            for path in [
                "", "/freshness", "/ledger", "/stream?seek=1", "/ltx/0/\(MadeLTX.name(1, 1))",
            ] {
                let response = await scene.ask("GET", "/db/app" + path)
                #expect(response.status == 404, "\(path)")
                #expect(response[WireHeader.protocolName] == "1")
            }
            let listing = await scene.ask("GET", "/db/app/ltx/0")
            #expect(listing.status == 200)
            #expect(listing.bytes == [])
            let entries = try DurableFiles.list("\(scene.directory.path)/data")
            #expect(entries == [".spool"])
        }
    }
}
