import DurableFiles
import Foundation
import Sink
import TestSupport
import Testing
import Wire

/// A store in a directory of its own, and a clock that is moved by hand.
private final class Bench: Sendable {
    let directory: String
    let now = Locked<Int64>(1_000_000)

    init(_ directory: URL) {
        self.directory = directory.appending(path: "uploads").path
    }

    func store(maxSize: Int64 = 1 << 30, maxCount: Int = 16) throws -> UploadStore {
        var limits = UploadStore.Limits()
        limits.maxSize = maxSize
        limits.maxCount = maxCount
        return try UploadStore(directory, limits: limits) { [self] in now.withLock { $0 } }
    }

    func advance(_ milliseconds: Int64) {
        now.withLock { $0 += milliseconds }
    }

    var files: [String] {
        get throws {
            try FileManager.default.fileExists(atPath: directory)
                ? FileManager.default.contentsOfDirectory(atPath: directory).sorted() : []
        }
    }

    func bytes(_ delivery: UploadDelivery) throws -> [UInt8] {
        try Array(Data(contentsOf: URL(filePath: delivery.path)))
    }
}

private func order(length: Int64? = nil, legacy: Bool = false) -> UploadOrder {
    UploadOrder(
        method: "PUT",
        target: "/db/x/ltx/0/0000000000000001-0000000000000001.ltx",
        headers: [.init(name: "dormouse-lineage", value: "a b")],
        length: length,
        dialect: legacy ? .oldest : .newest
    )
}

private func part(
    at offset: Int64,
    last: Bool = false,
    length: Int64? = nil,
    legacy: Bool = false
) throws -> UploadPart {
    var fields = [
        "upload-offset": "\(offset)", "upload-complete": last ? "?1" : "?0",
        "upload-draft-interop-version": legacy ? "6" : "8",
    ]
    fields["upload-length"] = length.map { "\($0)" }
    return try UploadPart(
        UploadHeaders { fields[$0] },
        mediaType: "application/partial-upload",
        contentLength: nil
    )
}

extension UploadStore {
    /// Begins an append that is known to be one.
    fileprivate func begin(_ part: UploadPart, to id: UploadID) throws -> UploadAppend {
        guard case .append(let append) = try append(part, to: id) else {
            throw CancellationError()
        }
        return append
    }

    /// A whole request's append.
    @discardableResult
    fileprivate func send(
        _ bytes: [UInt8],
        to id: UploadID,
        at offset: Int64,
        last: Bool = false
    ) throws -> UploadProgress {
        let append = try begin(try part(at: offset, last: last), to: id)
        try bytes.withUnsafeBytes { try append.write($0) }
        return try append.end()
    }
}

private func refusal(_ body: () throws -> Void) -> UploadRefusal? {
    #expect(throws: UploadRefusal.self, performing: body)
}

@Suite("Resumable uploads on the disk")
struct UploadStoreTests {
    @Test("an upload in parts is whole at its end, with what was ordered")
    func parts() throws {
        try withTemporaryDirectory { directory in
            let bench = Bench(directory)
            let store = try bench.store()
            #expect(try bench.files.isEmpty)
            let id = try store.create(order(length: 6))
            #expect(try store.send([1, 2], to: id, at: 0) == .partial(offset: 2))
            #expect(try store.send([], to: id, at: 2) == .partial(offset: 2))
            #expect(try store.send([3, 4, 5], to: id, at: 2) == .partial(offset: 5))
            let progress = try store.send([6], to: id, at: 5, last: true)
            guard case .whole(let delivery) = progress else {
                Issue.record("\(progress)")
                return
            }
            #expect(delivery.order == order(length: 6))
            #expect(delivery.order.header("dormouse-lineage") == "a b")
            #expect(try bench.bytes(delivery) == [1, 2, 3, 4, 5, 6])
            #expect(delivery.sizeInBytes == 6)
        }
    }

    @Test("a length that the last part tells is the whole's")
    func lengthOfLastPart() throws {
        try withTemporaryDirectory { directory in
            let store = try Bench(directory).store()
            let id = try store.create(order())
            let append = try store.begin(try part(at: 0, last: true, length: 3), to: id)
            try [1, 2].withUnsafeBytes {
                try append.write(UnsafeRawBufferPointer(rebasing: $0[..<2]))
            }
            #expect(refusal { _ = try append.end() } == .problem(.inconsistentLength))
            // What has arrived is kept: the client goes on.
            #expect(
                try store.status(id) == UploadStatus(offset: 2, length: 3, isComplete: false)
            )
        }
    }

    @Test("an offset is the one the server has, or is refused with it")
    func offsets() throws {
        try withTemporaryDirectory { directory in
            let store = try Bench(directory).store()
            let id = try store.create(order())
            try store.send([1, 2, 3], to: id, at: 0)
            for offset in [0, 2, 4] as [Int64] {
                let problem = UploadProblem.mismatchingOffset(expected: 3, provided: offset)
                let refused = refusal { try store.send([9], to: id, at: offset) }
                #expect(refused == .problem(problem))
                #expect(refused?.status == 409)
            }
            #expect(try store.send([4], to: id, at: 3) == .partial(offset: 4))
        }
    }

    @Test("parts go on after a restart, with the same order")
    func restart() throws {
        try withTemporaryDirectory { directory in
            let bench = Bench(directory)
            let id: UploadID
            do {
                let store = try bench.store()
                id = try store.create(order(length: 4))
                try store.send([1, 2, 3], to: id, at: 0)
            }
            let store = try bench.store()
            #expect(store.count == 1 && store.sweptAtStart == 0)
            #expect(
                try store.status(id) == UploadStatus(offset: 3, length: 4, isComplete: false)
            )
            guard case .whole(let delivery) = try store.send([4], to: id, at: 3, last: true) else {
                Issue.record("not whole")
                return
            }
            #expect(delivery.order == order(length: 4))
            #expect(try bench.bytes(delivery) == [1, 2, 3, 4])
        }
    }

    @Test("what was not synced before a kill is not promised, and is written again")
    func bytesBehindTheOffset() throws {
        try withTemporaryDirectory { directory in
            let bench = Bench(directory)
            let id: UploadID
            do {
                let store = try bench.store()
                id = try store.create(order())
                try store.send([1, 2, 3], to: id, at: 0)
            }
            let path = bench.directory + "/\(id).part"
            let file = try FileHandle(forWritingTo: URL(filePath: path))
            try file.seekToEnd()
            try file.write(contentsOf: Data([0, 0, 0, 0]))
            try file.close()
            let store = try bench.store()
            #expect(try store.status(id).offset == 3)
            guard case .whole(let delivery) = try store.send([4], to: id, at: 3, last: true) else {
                Issue.record("not whole")
                return
            }
            #expect(try bench.bytes(delivery) == [1, 2, 3, 4])
        }
    }

    @Test("a log that was torn counts up to its last whole line", arguments: 0..<80)
    func tornLog(cut: Int) throws {
        try withTemporaryDirectory { directory in
            let bench = Bench(directory)
            let id: UploadID
            let log: String
            var sizes: [Int] = []
            do {
                let store = try bench.store()
                id = try store.create(order())
                log = bench.directory + "/\(id).upload"
                for offset in 0..<3 as Range<Int64> {
                    sizes.append(try Data(contentsOf: URL(filePath: log)).count)
                    try store.send([UInt8(offset)], to: id, at: offset)
                }
                sizes.append(try Data(contentsOf: URL(filePath: log)).count)
            }
            let bytes = try Data(contentsOf: URL(filePath: log))
            let length = max(0, bytes.count - cut)
            try bytes.prefix(length).write(to: URL(filePath: log))
            let store = try bench.store()
            let expected = sizes.lastIndex { $0 <= length }
            guard let expected else {
                #expect(refusal { _ = try store.status(id) } == .missing)
                return
            }
            #expect(try store.status(id).offset == Int64(expected))
            try store.send([7], to: id, at: Int64(expected))
            #expect(try bench.store().status(id).offset == Int64(expected) + 1)
        }
    }

    @Test("the newest request takes the upload over; the older one's next write is refused")
    func takeOver() throws {
        try withTemporaryDirectory { directory in
            let store = try Bench(directory).store()
            let id = try store.create(order())
            let dead = try store.begin(try part(at: 0), to: id)
            try [1, 2].map(UInt8.init).withUnsafeBytes { try dead.write($0) }
            // What the dead connection brought is safe before the offset is told.
            #expect(try store.status(id).offset == 2)
            let bytes: [UInt8] = [9]
            #expect(refusal { try bytes.withUnsafeBytes { try dead.write($0) } } == .superseded)
            let older = try store.begin(try part(at: 2), to: id)
            let newer = try store.begin(try part(at: 2), to: id)
            #expect(refusal { try bytes.withUnsafeBytes { try older.write($0) } } == .superseded)
            #expect(refusal { _ = try older.end() } == .superseded)
            older.abandon()
            try [UInt8(3)].withUnsafeBytes { try newer.write($0) }
            #expect(try newer.end() == .partial(offset: 3))
        }
    }

    @Test("what a broken connection brought is kept")
    func abandoned() throws {
        try withTemporaryDirectory { directory in
            let bench = Bench(directory)
            let store = try bench.store()
            let id = try store.create(order())
            do {
                let append = try store.begin(try part(at: 0), to: id)
                try [UInt8](repeating: 5, count: 100).withUnsafeBytes { try append.write($0) }
                append.abandon()
            }
            #expect(try bench.store().status(id).offset == 100)
            do {
                let append = try store.begin(try part(at: 100), to: id)
                try [UInt8](repeating: 5, count: 10).withUnsafeBytes { try append.write($0) }
                // Nobody says anything: the append just goes away.
            }
            #expect(try bench.store().status(id).offset == 110)
        }
    }

    @Test("more bytes than announced end the upload")
    func tooLong() throws {
        try withTemporaryDirectory { directory in
            let bench = Bench(directory)
            let store = try bench.store()
            let id = try store.create(order(length: 2))
            let refused = refusal { try store.send([1, 2, 3], to: id, at: 0) }
            #expect(refused == .problem(.inconsistentLength))
            #expect(refusal { _ = try store.status(id) } == .missing)
            #expect(try bench.files.isEmpty)
        }
    }

    @Test("an upload above the limit is refused when it is announced and when it grows")
    func tooLarge() throws {
        try withTemporaryDirectory { directory in
            let store = try Bench(directory).store(maxSize: 4)
            let refused = refusal { _ = try store.create(order(length: 5)) }
            #expect(refused == .tooLarge(limit: 4) && refused?.status == 413)
            let id = try store.create(order())
            #expect(
                refusal { try store.send([1, 2, 3, 4, 5], to: id, at: 0) } == .tooLarge(limit: 4)
            )
            #expect(
                refusal { _ = try store.begin(try part(at: 0, length: 5), to: id) }
                    == .tooLarge(limit: 4)
            )
            try store.send([1, 2, 3, 4], to: id, at: 0)
        }
    }

    @Test("a final answer is kept and told again, and the bytes are gone")
    func answered() throws {
        try withTemporaryDirectory { directory in
            let bench = Bench(directory)
            let store = try bench.store()
            let id = try store.create(order())
            try store.send([1, 2], to: id, at: 0, last: true)
            #expect(refusal { try store.send([], to: id, at: 2, last: true) } == .delivering)
            #expect(refusal { try store.cancel(id) } == .delivering)
            #expect(try store.status(id).isComplete == false)
            let answer = UploadAnswer(status: 409, body: "another writer\n§")
            try store.settle(id, answer)
            for store in [store, try bench.store()] {
                #expect(
                    try store.status(id) == UploadStatus(offset: 2, length: nil, isComplete: true)
                )
                guard
                    case .answered(let again) = try store.append(
                        try part(at: 2, last: true),
                        to: id
                    )
                else {
                    Issue.record("the answer is lost")
                    return
                }
                #expect(again == answer)
                #expect(
                    refusal { _ = try store.append(try part(at: 2), to: id) }
                        == .problem(.completed)
                )
                let legacy = try part(at: 2, last: true, legacy: true)
                #expect(refusal { _ = try store.append(legacy, to: id) } == .problem(.completed))
            }
            #expect(try bench.files == ["\(id).upload"])
        }
    }

    @Test(
        "an answer that can pass leaves the upload whole, to be delivered again",
        arguments: [503, 507, 429, 401]
    )
    func deliveredAgain(status: Int) throws {
        try withTemporaryDirectory { directory in
            let bench = Bench(directory)
            let store = try bench.store()
            let id = try store.create(order())
            try store.send([1, 2], to: id, at: 0, last: true)
            try store.settle(id, UploadAnswer(status: status, body: "later"))
            #expect(
                refusal { try store.send([3], to: id, at: 2, last: true) } == .problem(.completed)
            )
            for store in [store, try bench.store()] {
                guard case .whole(let delivery) = try store.send([], to: id, at: 2, last: true)
                else {
                    Issue.record("not whole")
                    return
                }
                #expect(try bench.bytes(delivery) == [1, 2])
            }
        }
    }

    @Test("a cancelled upload is gone, and so is whoever appends to it")
    func cancelled() throws {
        try withTemporaryDirectory { directory in
            let bench = Bench(directory)
            let store = try bench.store()
            let id = try store.create(order())
            let append = try store.begin(try part(at: 0), to: id)
            try store.cancel(id)
            let bytes: [UInt8] = [1]
            #expect(refusal { try bytes.withUnsafeBytes { try append.write($0) } } == .missing)
            #expect(refusal { try store.cancel(id) } == .missing)
            #expect(try bench.files.isEmpty)
        }
    }

    @Test("an upload that nobody touches for a day is a corpse, one that is written to is not")
    func expiry() throws {
        try withTemporaryDirectory { directory in
            let bench = Bench(directory)
            let store = try bench.store()
            let (left, touched, open) = (
                try store.create(order()), try store.create(order()), try store.create(order())
            )
            let append = try store.begin(try part(at: 0), to: open)
            bench.advance(80_000_000)
            _ = try store.status(touched)
            bench.advance(6_400_000)
            #expect(store.sweep(now: bench.now.withLock { $0 }) == 0, "a day, not less")
            bench.advance(1)
            #expect(store.sweep(now: bench.now.withLock { $0 }) == 1)
            #expect(refusal { _ = try store.status(left) } == .missing)
            _ = try store.status(touched)
            #expect(try append.end() == .partial(offset: 0))
            bench.advance(86_400_001)
            #expect(store.sweep(now: bench.now.withLock { $0 }) == 2)
            #expect(try bench.files.isEmpty && store.count == 0)
        }
    }

    @Test("one upload too many takes the place of the one left alone the longest")
    func room() throws {
        try withTemporaryDirectory { directory in
            let bench = Bench(directory)
            let store = try bench.store(maxCount: 2)
            let first = try store.create(order())
            bench.advance(1)
            let second = try store.create(order())
            bench.advance(1)
            _ = try store.status(first)
            let third = try store.create(order())
            #expect(refusal { _ = try store.status(second) } == .missing)
            let one = try store.begin(try part(at: 0), to: first)
            let other = try store.begin(try part(at: 0), to: third)
            #expect(refusal { _ = try store.create(order()) } == .tooMany(limit: 2))
            #expect(try one.end() == .partial(offset: 0))
            _ = try store.create(order())
            #expect(try other.end() == .partial(offset: 0))
            #expect(store.count == 2)
        }
    }

    @Test("what a start finds that is no upload is swept")
    func corpses() throws {
        try withTemporaryDirectory { directory in
            let bench = Bench(directory)
            let (kept, headless, bare): (UploadID, UploadID, UploadID)
            do {
                let store = try bench.store()
                kept = try store.create(order())
                headless = try store.create(order())
                bare = try store.create(order())
                try store.send([1, 2], to: bare, at: 0)
            }
            try FileManager.default.removeItem(atPath: bench.directory + "/\(headless).upload")
            try Data([1]).write(to: URL(filePath: bench.directory + "/\(bare).part"))
            try Data().write(to: URL(filePath: bench.directory + "/\(kept).upload.tmp"))
            let store = try bench.store()
            #expect(store.sweptAtStart == 4)
            #expect(store.count == 1)
            #expect(try bench.files == ["\(kept).part", "\(kept).upload"])
        }
    }

    @Test(
        "a hundred random lives of one upload end with the same bytes",
        arguments: 0..<100 as Range<UInt64>
    )
    func lives(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var random = SeededGenerator(seed: seed)
            let bench = Bench(directory)
            let bytes = (0..<2_000).map { _ in UInt8.random(in: 0...255, using: &random) }
            var store = try bench.store()
            let id = try store.create(order(length: Int64(bytes.count)))
            while true {
                let offset = Int(try store.status(id).offset)
                let count = Int.random(in: 0...min(700, bytes.count - offset), using: &random)
                let isLast = offset + count == bytes.count
                let append = try store.begin(try part(at: Int64(offset), last: isLast), to: id)
                try bytes[offset..<offset + count].withUnsafeBytes { try append.write($0) }
                switch Int.random(in: 0..<4, using: &random) {
                case 0: append.abandon()
                case 1:
                    append.abandon()
                    store = try bench.store()
                case 2: _ = try store.status(id)
                default:
                    guard case .whole(let delivery) = try append.end() else { continue }
                    #expect(try bench.bytes(delivery) == bytes, "seed \(seed)")
                    return
                }
            }
        }
    }
}
