import DurableFiles
import Foundation
import LTXCodec
import Sink
import TestSupport
import Testing
import Wire

@Suite("A file that is read while it arrives", .timeLimit(.minutes(5)))
struct IntakeTests {
    private static let interop = "upload-draft-interop-version: 8"
    private static let pages = 60

    /// A snapshot whose pages do not pack, of some 4 MB.
    private static func snapshot(seed: UInt64 = 4) throws -> (file: [UInt8], database: [UInt8]) {
        var generator = SeededGenerator(seed: seed)
        let size = 65_536
        let database = (0..<pages * size / 8).flatMap { _ in
            withUnsafeBytes(of: UInt64.random(in: .min ... .max, using: &generator)) { Array($0) }
        }
        let output = Locked<[UInt8]>([])
        var encoder = try LTXEncoder(
            header: LTXHeader(
                pageSize: UInt32(size),
                commit: UInt32(pages),
                minTXID: TXID(1),
                maxTXID: TXID(1),
                timestamp: 1000
            )
        ) { bytes in output.withLock { $0 += bytes } }
        for index in 0..<pages {
            try database[index * size..<(index + 1) * size].withUnsafeBytes {
                try encoder.append(pgno: Pgno(index + 1), page: $0)
            }
        }
        _ = try encoder.finish()
        return (output.withLock { $0 }, database)
    }

    private static let target = "/db/a/ltx/0/\(MadeLTX.name(1, 1))"

    private static func create(_ port: UInt16, _ length: Int) async throws -> String {
        let created = try await RawClient.once(
            port,
            "PUT",
            target,
            [interop, "upload-complete: ?0", "upload-length: \(length)"],
            body: []
        )
        #expect(created.status == 201, "\(created.text)")
        return try #require(created.headers["location"])
    }

    private static func send(
        _ port: UInt16,
        _ place: String,
        _ file: [UInt8],
        _ range: Range<Int>
    ) async throws -> RawResponse {
        try await RawClient.once(
            port,
            "PATCH",
            place,
            [
                interop, "content-type: application/partial-upload",
                "upload-offset: \(range.lowerBound)",
                "upload-complete: \(range.upperBound == file.count ? "?1" : "?0")",
            ],
            body: Array(file[range])
        )
    }

    /// The files in which live copies are made, once there are so many.
    private static func staged(_ options: SinkOptions, count: Int) async throws -> [String] {
        let spool = options.data + "/.spool"
        while true {
            let names = try FileManager.default.contentsOfDirectory(atPath: spool)
            if names.count == count { return names.map { "\(spool)/\($0)" } }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    @Test("a first snapshot becomes the live copy on its way, also when it comes in two parts")
    func parts() async throws {
        try await withRunningSink { sink in
            let (file, database) = try Self.snapshot()
            let place = try await Self.create(sink.port, file.count)
            let half = file.count / 2
            let first = try await Self.send(sink.port, place, file, 0..<half)
            #expect(first.headers["upload-offset"] == "\(half)")
            let made = try #require(try await Self.staged(sink.options, count: 1).first)
            let identity = try #require(try FileStatus.of(made)).identity
            let last = try await Self.send(sink.port, place, file, half..<file.count)
            #expect(last.status == 200, "\(last.text)")
            let mirror = sink.options.data + "/a/mirror.sqlite"
            while try FileStatus.of(mirror) == nil {
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(try FileStatus.of(mirror)?.identity == identity)
            // These pages are no SQLite database, and stay as they came.
            let found = try Data(contentsOf: URL(filePath: mirror))
            #expect(Array(found) == database)
            _ = try await Self.staged(sink.options, count: 0)
            // The live copy goes on from it.
            let delta = try MadeLTX.file(2, 2, commit: 60, [(2, 9)], pageSize: 65_536)
            let pushed = try await RawClient.once(
                sink.port,
                "PUT",
                "/db/a/ltx/0/\(MadeLTX.name(2, 2))",
                [],
                body: delta
            )
            #expect(pushed.status == 200)
            var fresh = ""
            while !fresh.contains("\"applied_txid\":\"0000000000000002\"") {
                fresh = try await RawClient.once(sink.port, "GET", "/db/a/freshness").text
            }
            #expect(try FileStatus.of(mirror)?.identity == identity)
        }
    }

    @Test("a damaged one is refused, and nothing of it is left")
    func damaged() async throws {
        try await withRunningSink { sink in
            var (file, _) = try Self.snapshot()
            file[file.count - 100_000] ^= 1
            let place = try await Self.create(sink.port, file.count)
            let answer = try await Self.send(sink.port, place, file, 0..<file.count)
            #expect(answer.status == 400)
            #expect(answer.text.contains("LTX file"), "\(answer.text)")
            _ = try await Self.staged(sink.options, count: 0)
            #expect(try FileStatus.of(sink.options.data + "/a/mirror.sqlite") == nil)
            // The same name is free for the true one.
            let (good, _) = try Self.snapshot()
            let again = try await Self.create(sink.port, good.count)
            #expect(try await Self.send(sink.port, again, good, 0..<good.count).status == 200)
        }
    }

    @Test("an upload that is given up takes what was made of it along")
    func cancelled() async throws {
        try await withRunningSink { sink in
            let (file, _) = try Self.snapshot()
            let place = try await Self.create(sink.port, file.count)
            _ = try await Self.send(sink.port, place, file, 0..<file.count / 2)
            _ = try await Self.staged(sink.options, count: 1)
            let gone = try await RawClient.once(sink.port, "DELETE", place)
            #expect(gone.status == 204)
            _ = try await Self.staged(sink.options, count: 0)
        }
    }

    @Test("uploads beyond the threads there are are read when they are whole")
    func crowd() async throws {
        try await withRunningSink { sink in
            let (file, _) = try Self.snapshot()
            var places: [String] = []
            for _ in 0..<6 {
                places.append(try await Self.create(sink.port, file.count))
                let half = 0..<file.count / 2
                _ = try await Self.send(sink.port, try #require(places.last), file, half)
            }
            // The last one, which has no thread; then one that has.
            for place in [places[5], places[0]] {
                let rest = file.count / 2..<file.count
                let answer = try await Self.send(sink.port, place, file, rest)
                #expect(answer.status == 200, "the same bytes again are a success: \(answer.text)")
            }
        }
    }
}

@Suite("Who reads an upload while it arrives")
struct UploadFollowerTests {
    private final class Listener: UploadFollower {
        let heard = Locked<[String]>([])
        func advance(to offset: Int64) { heard.withLock { $0.append("\(offset)") } }
        func complete() { heard.withLock { $0.append("complete") } }
        func cancel() { heard.withLock { $0.append("cancel") } }
        var all: [String] { heard.withLock { $0 } }
    }

    @Test("hears of bytes that are durable, of the end, and of an upload that is gone")
    func told() throws {
        try withTemporaryDirectory { directory in
            let store = try UploadStore(directory.appending(path: "uploads").path) { 1 }
            let order = UploadOrder(method: "PUT", target: "/x", length: 6, dialect: .newest)
            let id = try store.create(order)
            let (first, second) = (Listener(), Listener())
            try store.follow(id) { _ in first }
            #expect(first.all == ["0"])
            try Self.send([1, 2], to: store, id, at: 0)
            #expect(first.all == ["0", "2"])
            // A later one hears what is there, and takes its place.
            try store.follow(id) { _ in second }
            #expect(first.all == ["0", "2", "cancel"])
            let broken = try Self.begin(store, id, at: 2)
            try [UInt8](arrayLiteral: 3).withUnsafeBytes { try broken.write($0) }
            #expect(second.all == ["2"], "not durable yet")
            broken.abandon()
            #expect(second.all == ["2", "3"])
            try Self.send([4, 5, 6], to: store, id, at: 3, last: true)
            #expect(second.all == ["2", "3", "6", "complete"])
            try store.settle(id, UploadAnswer(status: 500, body: "later"))
            try store.cancel(id)
            #expect(second.all == ["2", "3", "6", "complete", "cancel"])
            #expect(throws: UploadRefusal.self) { try store.follower(of: id) }
        }
    }

    private static func begin(
        _ store: UploadStore,
        _ id: UploadID,
        at offset: Int,
        last: Bool = false
    ) throws -> UploadAppend {
        let part = try UploadPart(
            UploadHeaders {
                [
                    "upload-offset": "\(offset)", "upload-complete": last ? "?1" : "?0",
                    "upload-draft-interop-version": "8",
                ][$0]
            },
            mediaType: "application/partial-upload",
            contentLength: nil
        )
        guard case .append(let append) = try store.append(part, to: id) else {
            throw CancellationError()
        }
        return append
    }

    private static func send(
        _ bytes: [UInt8],
        to store: UploadStore,
        _ id: UploadID,
        at offset: Int,
        last: Bool = false
    ) throws {
        let append = try begin(store, id, at: offset, last: last)
        try bytes.withUnsafeBytes { try append.write($0) }
        _ = try append.end()
    }
}
