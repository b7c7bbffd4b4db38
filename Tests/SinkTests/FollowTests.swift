import Bucket
import LTXCodec
import Sink
import TestSupport
import Testing
import Wire

@Suite("Following a bucket")
struct FollowTests {
    struct Case: CustomTestStringConvertible {
        var what: String
        var next: UInt64
        var head: UInt64
        var files: [(UInt64, UInt64)]
        var expected: FollowStep

        var testDescription: String { what }
    }

    static func file(_ min: UInt64, _ max: UInt64) -> BucketFile {
        BucketFile(
            level: 0,
            name: LTXFileName(minTXID: TXID(min), maxTXID: TXID(max)),
            sizeInBytes: 1,
            timestamp: 0
        )
    }

    static let cases: [Case] = [
        Case(what: "an empty bucket", next: 1, head: 0, files: [], expected: .wait),
        Case(
            what: "a bucket that is being filled anew",
            next: 7,
            head: 0,
            files: [],
            expected: .wait
        ),
        Case(what: "nothing new", next: 6, head: 5, files: [], expected: .wait),
        Case(
            what: "what is due",
            next: 5,
            head: 6,
            files: [(5, 5), (6, 6)],
            expected: .send([file(5, 5), file(6, 6)])
        ),
        Case(
            what: "a file that overlaps",
            next: 5,
            head: 6,
            files: [(3, 6)],
            expected: .send([file(3, 6)])
        ),
        Case(
            what: "a file within another one is left out",
            next: 3,
            head: 8,
            files: [(3, 7), (4, 6), (8, 8)],
            expected: .send([file(3, 7), file(8, 8)])
        ),
        Case(
            what: "what is before a gap first",
            next: 2,
            head: 9,
            files: [(2, 2), (9, 9)],
            expected: .send([file(2, 2)])
        ),
        Case(
            what: "a gap",
            next: 3,
            head: 9,
            files: [(9, 9)],
            expected: .end(.gap(TXID(9)))
        ),
        Case(
            what: "there, but on a higher level only",
            next: 3,
            head: 9,
            files: [],
            expected: .end(.gap(TXID(10)))
        ),
        Case(what: "set back by one", next: 6, head: 4, files: [], expected: .end(.reset(TXID(4)))),
        Case(
            what: "the last TXID there is",
            next: .max,
            head: .max,
            files: [(.max, .max)],
            expected: .send([file(.max, .max)])
        ),
    ]

    @Test("sends what is due, and says when the client has to look for itself", arguments: cases)
    func step(_ test: Case) {
        let step = FollowStep(
            from: TXID(test.next),
            head: TXID(test.head),
            files: test.files.map { Self.file($0.0, $0.1) }
        )
        #expect(step == test.expected)
    }

    /// A file that ends too early after some bytes.
    private struct Short: RandomReader {
        var sizeInBytes: Int64 = 100
        var good = 100

        func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
            let count = max(0, min(buffer.count, good - Int(offset)))
            for index in 0..<count { buffer[index] = UInt8(Int(offset) + index) }
            return count
        }
    }

    private static func read(
        _ queue: FrameQueue,
        _ size: Int,
        wake: @escaping @Sendable () -> Void = {},
        sleeps: Bool = true
    ) -> (FrameQueue.Outcome, [UInt8]) {
        var bytes = [UInt8](repeating: 0xEE, count: size)
        let outcome = bytes.withUnsafeMutableBytes { buffer in
            queue.read(into: buffer, wake: wake, sleep: { sleeps })
        }
        guard case .bytes(let count) = outcome else { return (outcome, []) }
        return (outcome, Array(bytes[..<count]))
    }

    @Test("text and files come out in order, in pieces of any size", arguments: [1, 7, 64, 1000])
    func order(size: Int) {
        let queue = FrameQueue()
        queue.append([.text("one\n"), .file(Short()), .text("two\n")], end: true)
        var bytes: [UInt8] = []
        while true {
            let (outcome, more) = Self.read(queue, size)
            if outcome == .end { break }
            bytes += more
        }
        #expect(bytes == Array("one\n".utf8) + (0..<100) + Array("two\n".utf8))
    }

    @Test("a file that ends early breaks the connection, and is never a shorter one")
    func short() {
        let queue = FrameQueue()
        queue.append([.file(Short(good: 40))], end: true)
        #expect(Self.read(queue, 200).0 == .broken)
        #expect(Self.read(queue, 200).0 == .broken)
    }

    @Test("an empty queue sleeps, is woken once, and asks for more only when all is sent")
    func backPressure() {
        let queue = FrameQueue()
        let calls = Locked((hungry: 0, woken: 0, closed: 0))
        queue.whenHungry {
            calls.withLock { $0.hungry += 1 }
        } closed: {
            calls.withLock { $0.closed += 1 }
        }
        #expect(queue.isHungry)
        let wake: @Sendable () -> Void = { calls.withLock { $0.woken += 1 } }
        #expect(Self.read(queue, 10, wake: wake).0 == .wait)
        queue.append([.file(Short())])
        queue.append([.text("x")])
        #expect(calls.withLock { $0.woken } == 1)
        #expect(!queue.isHungry)
        #expect(Self.read(queue, 60).0 == .bytes(60))
        #expect(calls.withLock { $0.hungry } == 0, "half of it is still here")
        #expect(Self.read(queue, 60).0 == .bytes(41))
        #expect(calls.withLock { $0.hungry } == 1)
        #expect(queue.isHungry)
        queue.close()
        queue.close()
        #expect(calls.withLock { $0.closed } == 1)
        #expect(!queue.isHungry)
    }

    @Test("a connection that may not sleep any more ends")
    func stopping() {
        #expect(Self.read(FrameQueue(), 10, sleeps: false).0 == .end)
        let failed = FrameQueue()
        failed.append([.text("x")])
        failed.fail()
        #expect(Self.read(failed, 10).0 == .broken)
    }
}
