import Bucket
import LTXCodec
import Sink
import Testing

@Suite("The fence")
struct FenceTests {
    struct Case: CustomTestStringConvertible {
        var what: String
        var fence: Fence
        var level = 0
        var range: (UInt64, UInt64)
        var isTaken = false
        var claim = WriteClaim()
        /// `accept`, `same`, `replace`, or the beginning of a reason.
        var expected: String

        var testDescription: String { what }
    }

    static let at5 = Fence(head: TXID(5), isEmpty: false)
    static let empty = Fence(head: .zero, isEmpty: true)
    static let one = String(repeating: "1", count: 32)
    static let two = String(repeating: "2", count: 32)

    static func claim(
        writer: String? = nil,
        takesOver: Bool = false,
        lineage: String? = nil,
        base: UInt64? = nil
    ) -> WriteClaim {
        var claim = WriteClaim()
        claim.writer = writer
        claim.takesOver = takesOver
        claim.lineage = lineage
        claim.baseTXID = base.map { TXID($0) }
        return claim
    }

    static func leased(_ writer: String, at time: Int64, now: Int64) -> Fence {
        Fence(
            head: TXID(5),
            isEmpty: false,
            lease: WriterLease(writer: writer, writtenAt: time),
            now: now,
            leaseDuration: 1000
        )
    }

    static let ofOne = Fence(head: TXID(5), isEmpty: false, lineage: one)
    static let last = Fence(head: TXID(.max), isEmpty: false)

    static let cases: [Case] = [
        Case(
            what: "an empty bucket takes the first file",
            fence: empty,
            range: (1, 1),
            expected: "accept"
        ),
        Case(
            what: "an empty bucket takes any beginning",
            fence: empty,
            range: (7, 9),
            expected: "accept"
        ),
        Case(what: "the next file", fence: at5, range: (6, 6), expected: "accept"),
        Case(what: "the next file of several TXIDs", fence: at5, range: (6, 9), expected: "accept"),
        Case(
            what: "a file that leaves a gap",
            fence: at5,
            range: (7, 7),
            expected: "non-monotonic"
        ),
        Case(what: "a file that overlaps", fence: at5, range: (5, 6), expected: "non-monotonic"),
        Case(what: "an old file again", fence: at5, range: (3, 3), isTaken: true, expected: "same"),
        Case(
            what: "an old file that is gone",
            fence: at5,
            range: (3, 3),
            expected: "non-monotonic"
        ),
        Case(
            what: "behind the last TXID there is none",
            fence: last,
            range: (.max, .max),
            expected: "non-monotonic"
        ),
        Case(
            what: "a summary of what is there",
            fence: at5,
            level: 1,
            range: (1, 5),
            expected: "accept"
        ),
        Case(
            what: "a summary made anew",
            fence: at5,
            level: 1,
            range: (1, 5),
            isTaken: true,
            expected: "replace"
        ),
        Case(
            what: "a summary ahead of the log",
            fence: at5,
            level: 1,
            range: (1, 6),
            expected: "level 1 push ahead"
        ),
        Case(
            what: "a snapshot ahead of the log",
            fence: at5,
            level: 9,
            range: (1, 6),
            expected: "level 9 push ahead"
        ),
        Case(
            what: "a new base",
            fence: at5,
            level: 9,
            range: (1, 6),
            claim: claim(base: 6),
            expected: "accept"
        ),
        Case(
            what: "a new base that is no snapshot",
            fence: at5,
            level: 9,
            range: (2, 6),
            claim: claim(base: 6),
            expected: "level 9 push ahead"
        ),
        Case(
            what: "a new base on another level",
            fence: at5,
            level: 8,
            range: (1, 6),
            claim: claim(base: 6),
            expected: "level 8 push ahead"
        ),
        Case(
            what: "a new base of another TXID",
            fence: at5,
            level: 9,
            range: (1, 6),
            claim: claim(base: 7),
            expected: "level 9 push ahead"
        ),
        Case(
            what: "a summary into an empty bucket",
            fence: empty,
            level: 2,
            range: (1, 2),
            expected: "level 2 push ahead"
        ),
        Case(
            what: "the lineage's own writer",
            fence: ofOne,
            range: (6, 6),
            claim: claim(lineage: one),
            expected: "accept"
        ),
        Case(
            what: "another lineage",
            fence: ofOne,
            range: (6, 6),
            claim: claim(lineage: two),
            expected: "the database has another lineage"
        ),
        Case(
            what: "a writer that names no lineage",
            fence: ofOne,
            range: (6, 6),
            expected: "accept"
        ),
        Case(
            what: "another lineage into an emptied bucket",
            fence: Fence(head: .zero, isEmpty: true, lineage: one),
            range: (1, 1),
            claim: claim(lineage: two),
            expected: "accept"
        ),
        Case(
            what: "a first lineage for files of nobody",
            fence: at5,
            range: (6, 6),
            claim: claim(lineage: two),
            expected: "accept"
        ),
        Case(
            what: "the holder of the lease",
            fence: leased("a", at: 0, now: 10),
            range: (6, 6),
            claim: claim(writer: "a"),
            expected: "accept"
        ),
        Case(
            what: "another writer",
            fence: leased("a", at: 0, now: 999),
            range: (6, 6),
            claim: claim(writer: "b"),
            expected: "bucket is owned by writer a"
        ),
        Case(
            what: "another writer when the lease has run out",
            fence: leased("a", at: 0, now: 1000),
            range: (6, 6),
            claim: claim(writer: "b"),
            expected: "accept"
        ),
        Case(
            what: "another writer that takes over",
            fence: leased("a", at: 0, now: 10),
            range: (6, 6),
            claim: claim(writer: "b", takesOver: true),
            expected: "accept"
        ),
        Case(
            what: "a take-over does not excuse a gap",
            fence: leased("a", at: 0, now: 10),
            range: (8, 8),
            claim: claim(writer: "b", takesOver: true),
            expected: "non-monotonic"
        ),
        Case(
            what: "a writer without a name",
            fence: leased("a", at: 0, now: 10),
            range: (6, 6),
            expected: "accept"
        ),
        Case(
            what: "the lease comes before the identical file",
            fence: leased("a", at: 0, now: 10),
            range: (5, 5),
            isTaken: true,
            claim: claim(writer: "b"),
            expected: "bucket is owned"
        ),
    ]

    @Test("judges each offer by the head, the lineage and the lease", arguments: cases)
    func judges(_ test: Case) {
        let name = LTXFileName(minTXID: TXID(test.range.0), maxTXID: TXID(test.range.1))
        let verdict = test.fence.judge(
            OfferedFile(level: test.level, name: name),
            by: test.claim,
            isTaken: test.isTaken
        )
        switch verdict {
        case .accept: #expect(test.expected == "accept")
        case .mustBeIdentical: #expect(test.expected == "same")
        case .replace: #expect(test.expected == "replace")
        case .reject(let reason):
            #expect(reason.hasPrefix(test.expected), "\(reason)")
            #expect(!reason.contains("\n"))
        }
    }

    @Test("a deletion faces the lease only")
    func deletion() {
        let fence = Self.leased("a", at: 0, now: 10)
        #expect(fence.judgeDeletion(by: Self.claim(writer: "a")) == .accept)
        #expect(fence.judgeDeletion(by: WriteClaim()) == .accept)
        #expect(
            fence.judgeDeletion(by: Self.claim(writer: "b"))
                == .reject("bucket is owned by writer a")
        )
    }

    @Test("what it remembers is read back as it was written, and nothing else is")
    func state() {
        let states = [
            DatabaseState(), DatabaseState(lineage: Self.one),
            DatabaseState(lease: WriterLease(writer: "me", writtenAt: 12)),
            DatabaseState(lineage: Self.two, lease: WriterLease(writer: "!~", writtenAt: 0)),
        ]
        for state in states {
            #expect(DatabaseState(state.text) == state)
            #expect(DatabaseState(String(state.text.dropLast())) == nil, "a torn file")
        }
        #expect(DatabaseState("") == nil)
        #expect(DatabaseState("dormouse-sink 2\n") == nil)
        #expect(DatabaseState("dormouse-sink 1\nlineage 12\n") == nil)
        #expect(DatabaseState("dormouse-sink 1\nlease a\n") == nil)
    }
}
