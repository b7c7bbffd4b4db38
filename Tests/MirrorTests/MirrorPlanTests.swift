import Bucket
import LTXCodec
import Replica
import TestSupport
import Testing

private func file(_ level: Int, _ min: UInt64, _ max: UInt64, bytes: Int64 = 1000) -> BucketFile {
    BucketFile(
        level: level,
        name: LTXFileName(minTXID: TXID(min), maxTXID: TXID(max)),
        sizeInBytes: bytes,
        timestamp: 0
    )
}

private func facts(
    _ position: UInt64,
    mustRestart: Bool = false,
    isDiverged: Bool = false,
    rebase: UInt64 = 0
) -> MirrorPlan.Facts {
    MirrorPlan.Facts(
        position: TXID(position),
        mustRestart: mustRestart,
        isDiverged: isDiverged,
        rebase: TXID(rebase)
    )
}

@Suite("What a mirror does next")
struct MirrorPlanTests {
    private static let deltas = (1...5).map { file(0, $0, $0) }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let facts: MirrorPlan.Facts
        let listing: [BucketFile]
        let expected: MirrorPlan
    }

    @Test(
        "each state of a bucket has one answer",
        arguments: [
            Row(
                testDescription: "nothing anywhere",
                facts: facts(0),
                listing: [],
                expected: .empty
            ),
            Row(
                testDescription: "a wiped bucket leaves the mirror alone",
                facts: facts(5),
                listing: [],
                expected: .empty
            ),
            Row(
                testDescription: "at the head",
                facts: facts(5),
                listing: deltas,
                expected: .upToDate
            ),
            Row(
                testDescription: "level 0, one after the other",
                facts: facts(2),
                listing: deltas + [file(1, 1, 5), file(9, 1, 5)],
                expected: .advance(Array(deltas[2...]))
            ),
            Row(
                testDescription: "from nothing",
                facts: facts(0),
                listing: deltas,
                expected: .advance(deltas)
            ),
            Row(
                testDescription: "pruned deltas are bridged by a higher level that begins earlier",
                facts: facts(2),
                listing: [file(0, 5, 5), file(1, 1, 3), file(2, 1, 4)],
                expected: .advance([file(2, 1, 4), file(0, 5, 5)])
            ),
            Row(
                testDescription: "a snapshot where nothing else leads on",
                facts: facts(2),
                listing: [file(0, 5, 5), file(9, 1, 3), file(9, 1, 4)],
                expected: .restart([file(9, 1, 4)])
            ),
            Row(
                testDescription: "a gap without a snapshot ahead",
                facts: facts(2),
                listing: [file(0, 5, 5), file(9, 1, 2)],
                expected: .gap(next: TXID(5))
            ),
            Row(
                testDescription: "a bucket that was rolled back is taken as a whole",
                facts: facts(9),
                listing: deltas,
                expected: .restart(deltas)
            ),
            Row(
                testDescription: "so is one of another history",
                facts: facts(5, mustRestart: true),
                listing: [file(9, 1, 4)] + deltas,
                expected: .restart([file(9, 1, 4), deltas[4]])
            ),
            Row(
                testDescription: "which has to have a beginning",
                facts: facts(9, mustRestart: true),
                listing: [file(0, 5, 5)],
                expected: .unreachable(.noBase(first: file(0, 5, 5)))
            ),
            Row(
                testDescription: "a mirror that differs takes no deltas",
                facts: facts(3, isDiverged: true),
                listing: deltas + [file(9, 1, 3)],
                expected: .held
            ),
            Row(
                testDescription: "but a newer snapshot",
                facts: facts(3, isDiverged: true),
                listing: deltas + [file(9, 1, 3), file(9, 1, 7)],
                expected: .restart([file(9, 1, 7)])
            ),
            Row(
                testDescription: "an ingest at the mirror's own TXID",
                facts: facts(5, isDiverged: true, rebase: 5),
                listing: deltas + [file(9, 1, 5)],
                expected: .restart([file(9, 1, 5)])
            ),
        ]
    )
    func table(row: Row) {
        #expect(MirrorPlan(row.facts, listing: row.listing) == row.expected)
        #expect(MirrorPlan(row.facts, listing: row.listing.reversed()) == row.expected)
    }

    @Test("one apply takes no more than its share, and at least one file")
    func limits() {
        let listing = (1...100).map { file(0, $0, $0, bytes: 10) }
        let some = MirrorPlan.Limits(files: 64, bytes: 55)
        #expect(
            MirrorPlan(facts(0), listing: listing, limits: some) == .advance(Array(listing[..<5]))
        )
        let few = MirrorPlan.Limits(files: 3, bytes: 1000)
        #expect(
            MirrorPlan(facts(0), listing: listing, limits: few) == .advance(Array(listing[..<3]))
        )
        let none = MirrorPlan.Limits(files: 1, bytes: 1)
        #expect(MirrorPlan(facts(7), listing: listing, limits: none) == .advance([listing[7]]))
    }
}
