import Bucket
import Foundation
import LTXCodec
import TestSupport
import Testing
import Transfer

@Suite("uploads that go on after a break")
struct ResumableUploadTests {
    private typealias Part = UploadServer.Part

    /// A file of 1,000,000 bytes, a server, and a bucket that sends it in parts of 300,000.
    private func withUpload(
        _ body: (UploadServer, RawServer, _ push: Push) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let content = bytes(1_000_000)
            let path = directory.appending(path: "source").path
            try Data(content).write(to: URL(filePath: path))
            let server = UploadServer()
            try await withRawServer(serving: server.serve) { raw in
                try await body(server, raw, Push(raw: raw, path: path, content: content))
            }
        }
    }

    /// One push, by a bucket of its own, as another process would.
    struct Push: Sendable {
        let raw: RawServer
        let path: String
        let content: [UInt8]

        func callAsFunction(partSize: Int64 = 300_000, facts: WriteFacts = WriteFacts())
            async throws
        {
            let options = HTTPBucketOptions(plainLimit: 1000, partSize: partSize)
            let file = BucketFile(
                level: 0,
                name: name(1, 1),
                sizeInBytes: Int64(content.count),
                timestamp: 5
            )
            try await httpBucket(raw, options).put(path, as: file, facts: facts)
        }

        func failure(partSize: Int64 = 300_000) async -> TransferFailure? {
            do {
                try await self(partSize: partSize)
                return nil
            } catch BucketError.transfer(let failure) {
                return failure
            } catch {
                Issue.record("\(error)")
                return nil
            }
        }

        /// The records of uploads under way.
        var records: [String] {
            let directory = URL(filePath: path).deletingLastPathComponent()
                .appending(path: "uploads")
            return (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        }
    }

    @Test("without trouble: one resource, parts in order, and nothing left")
    func plainSailing() async throws {
        try await withUpload { server, _, push in
            try await push(facts: WriteFacts(lineage: "aa"))
            let state = server.state.withLock { $0 }
            #expect(state.stored == push.content)
            #expect(state.creations == 1)
            #expect(state.plain == 0)
            #expect(state.creationHeaders["dormouse-lineage"] == "aa")
            #expect(state.creationHeaders["upload-length"] == "1000000")
            #expect(state.creationHeaders["content-length"] == "0")
            #expect(
                state.parts == [
                    Part(offset: 0, size: 300_000, isLast: false),
                    Part(offset: 300_000, size: 300_000, isLast: false),
                    Part(offset: 600_000, size: 300_000, isLast: false),
                    Part(offset: 900_000, size: 100_000, isLast: true),
                ]
            )
            #expect(push.records.isEmpty)
        }
    }

    // The proxy of an issue from the field: 408 after N bytes of any request.
    @Test("a proxy that cuts each request costs pushes, never bytes twice")
    func cutByProxy() async throws {
        try await withUpload { server, _, push in
            server.fault { _ in .status(408, after: 350_000) }
            for reached in [350_000, 700_000] {
                let failure = await push.failure(partSize: 8 << 20)
                #expect(failure?.kind == .requestTimeout)
                #expect(failure?.advanced == true)
                #expect(server.state.withLock { $0.uploads.values.first?.count } == reached)
            }
            try await push(partSize: 8 << 20)
            let state = server.state.withLock { $0 }
            #expect(state.stored == push.content)
            #expect(state.creations == 1)
            #expect(state.parts.map(\.offset).prefix(3) == [0, 350_000, 700_000])
            #expect(push.records.isEmpty)
        }
    }

    @Test("a reset keeps what arrived", arguments: [0, 1, 123_456, 299_999])
    func resets(kept: Int) async throws {
        try await withUpload { server, _, push in
            server.fault { $0 == 1 ? .reset(after: kept) : .none }
            let failure = await push.failure()
            #expect(failure?.kind == .reset)
            #expect(failure?.advanced == true)
            try await push()
            let state = server.state.withLock { $0 }
            #expect(state.stored == push.content)
            #expect(state.creations == 1)
            #expect(state.parts[2].offset == 300_000 + kept)
        }
    }

    @Test("an attempt that moved nothing says so, and the next one sends smaller parts")
    func stuck() async throws {
        try await withUpload { server, _, push in
            server.fault { $0 < 2 ? .status(503, after: 0) : .none }
            #expect(await push.failure(partSize: 900_000)?.advanced == false)
            #expect(await push.failure(partSize: 900_000)?.kind == .server)
            try await push(partSize: 900_000)
            let state = server.state.withLock { $0 }
            #expect(state.stored == push.content)
            #expect(state.parts.map(\.size).prefix(3) == [900_000, 450_000, 262_144])
        }
    }

    @Test("a part that is too large for the way is made smaller at once")
    func tooLarge() async throws {
        try await withUpload { server, _, push in
            server.fault { $0 == 0 ? .status(413, after: 0) : .none }
            try await push(partSize: 900_000)
            #expect(server.state.withLock { $0.parts.map(\.size).prefix(2) } == [900_000, 450_000])
            #expect(server.state.withLock { $0.stored } == push.content)
        }
    }

    @Test("a resource that is gone is made anew", arguments: [0, 2])
    func gone(part: Int) async throws {
        try await withUpload { server, _, push in
            server.fault { $0 == part ? .gone : .none }
            try await push()
            let state = server.state.withLock { $0 }
            #expect(state.stored == push.content)
            #expect(state.creations == 2)
        }
    }

    @Test("a server that forgot everything between two attempts gets everything")
    func forgotten() async throws {
        try await withUpload { server, _, push in
            server.fault { $0 == 2 ? .reset(after: 0) : .none }
            #expect(await push.failure()?.advanced == true)
            server.state.withLock { $0.uploads = [:] }
            try await push()
            let state = server.state.withLock { $0 }
            #expect(state.creations == 2)
            #expect(state.stored == push.content)
        }
    }

    @Test("a resource that always goes away ends in one plain request")
    func alwaysGone() async throws {
        try await withUpload { server, _, push in
            server.fault { _ in .gone }
            try await push()
            let state = server.state.withLock { $0 }
            #expect(state.creations == 3)
            #expect(state.plain == 1)
            #expect(state.stored == push.content)
        }
    }

    @Test("an answer that is lost after the last byte is asked for again")
    func lostAnswer() async throws {
        try await withUpload { server, _, push in
            server.fault { $0 == 3 ? .lostAnswer : .none }
            #expect(await push.failure()?.kind == .reset)
            try await push()
            let state = server.state.withLock { $0 }
            #expect(state.creations == 1)
            #expect(state.parts.last == Part(offset: 1_000_000, size: 0, isLast: true))
            #expect(state.stored == push.content)
            #expect(push.records.isEmpty)
        }
    }

    @Test("a file that was replaced under its name begins anew")
    func replaced() async throws {
        try await withUpload { server, raw, push in
            server.fault { $0 == 2 ? .reset(after: 0) : .none }
            _ = await push.failure()
            let other = bytes(1_000_000, seed: 2)
            try Data(other).write(to: URL(filePath: push.path), options: .atomic)
            try await Push(raw: raw, path: push.path, content: other)()
            let state = server.state.withLock { $0 }
            #expect(state.stored == other)
            #expect(state.creations == 2)
            #expect(state.deletions == 1)
        }
    }

    @Test("a damaged record is no record")
    func damagedRecord() async throws {
        try await withUpload { server, _, push in
            server.fault { $0 == 2 ? .reset(after: 0) : .none }
            _ = await push.failure()
            let record = try #require(push.records.first)
            let path = URL(filePath: push.path).deletingLastPathComponent()
                .appending(path: "uploads/\(record)")
            var text = try Data(contentsOf: path)
            text[20] ^= 1
            try text.write(to: path)
            try await push()
            #expect(server.state.withLock { $0.creations } == 2)
            #expect(server.state.withLock { $0.stored } == push.content)
        }
    }

    @Test("an offset other than ours is taken from the server")
    func mismatch() async throws {
        try await withUpload { server, _, push in
            server.fault { $0 == 1 ? .reset(after: 100_000) : .none }
            _ = await push.failure()
            // Another process has sent something meanwhile.
            server.state.withLock { state in
                for (key, held) in state.uploads {
                    state.uploads[key] = Array(push.content[..<(held.count + 50_000)])
                }
            }
            try await push()
            let state = server.state.withLock { $0 }
            #expect(state.parts[2].offset == 450_000)
            #expect(state.stored == push.content)
        }
    }

    @Test("the target's refusal is the answer", arguments: [400, 507])
    func refused(status: Int) async throws {
        try await withUpload { server, _, push in
            server.fault { $0 == 3 ? .refused(status, "because") : .none }
            let failure = await push.failure()
            #expect(failure?.status == status)
            #expect(failure?.detail == "because")
            #expect(push.records.isEmpty)
        }
    }

    @Test("a target that does not want the file is fenced")
    func fenced() async throws {
        try await withUpload { server, _, push in
            server.fault { $0 == 3 ? .refused(409, "another lineage") : .none }
            await #expect(throws: BucketError.fenced(reason: "another lineage")) {
                try await push()
            }
        }
    }

    @Test("a server of the older draft is spoken to in its dialect")
    func olderDraft() async throws {
        try await withUpload { server, _, push in
            server.state.withLock { $0.interop = "6" }
            try await push()
            let state = server.state.withLock { $0 }
            #expect(state.creationHeaders["upload-draft-interop-version"] == "6")
            #expect(state.stored == push.content)
            #expect(state.plain == 0)
        }
    }

    @Test("a token is never carried to the server that a Location names")
    func foreignLocation() async throws {
        try await withUpload { server, _, push in
            server.state.withLock { $0.answersAbsoluteLocations = true }
            try await push()
            #expect(server.state.withLock { $0.stored } == push.content)
        }
    }

    @Test("an image is ingested in the same way, with its base")
    func ingest() async throws {
        try await withUpload { server, raw, push in
            server.fault { $0 == 1 ? .reset(after: 10) : .none }
            let options = HTTPBucketOptions(plainLimit: 1000, partSize: 300_000)
            let facts = WriteFacts(lineage: "aa", checksum: Checksum(crc: 1))
            for round in 0..<2 {
                let bucket = try httpBucket(raw, options)
                do {
                    try await bucket.ingest(push.path, at: TXID(9), timestamp: 77, facts: facts)
                    #expect(round == 1)
                } catch BucketError.transfer(let failure) {
                    #expect(round == 0)
                    #expect(failure.advanced)
                }
            }
            let state = server.state.withLock { $0 }
            #expect(state.stored == push.content)
            #expect(state.creations == 1)
            #expect(state.creationHeaders["dormouse-base-txid"] == "0000000000000009")
            #expect(state.creationHeaders["dormouse-timestamp"] == "77")
            #expect(state.creationHeaders["dormouse-checksum"] == "8000000000000001")
        }
    }
}
