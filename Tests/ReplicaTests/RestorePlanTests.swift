import Bucket
public import LTXCodec
import Replica
import Testing

@Suite("the plan of a restore")
struct RestorePlanTests {
    /// Files as `level:min-max@time`; TXIDs in decimal, the time is the last TXID if left out.
    struct Choice: Sendable, CustomTestStringConvertible {
        let name: String
        let files: String
        let target: RestoreTarget
        let plan: String

        init(_ name: String, _ files: String, _ target: RestoreTarget, _ plan: String) {
            self.name = name
            self.files = files
            self.target = target
            self.plan = plan
        }

        var testDescription: String { name }
    }

    static let choices = [
        Choice("one file", "0:1-1", .newest, "0:1-1"),
        Choice("level 0 only", "0:1-1 0:2-2 0:3-3", .newest, "0:1-1 0:2-2 0:3-3"),
        Choice("an earlier TXID", "0:1-1 0:2-2 0:3-3", .txid(2), "0:1-1 0:2-2"),
        Choice("the newest snapshot first", "9:1-1 9:1-3 0:4-4", .newest, "9:1-3 0:4-4"),
        Choice("a snapshot alone", "0:1-1 0:2-2 9:1-2", .newest, "9:1-2"),
        Choice("a snapshot above the target", "9:1-4 0:1-1 0:2-2", .txid(2), "0:1-1 0:2-2"),
        Choice("of two levels the higher", "0:1-1 1:1-1 2:1-1", .newest, "2:1-1"),
        Choice("the furthest reach", "1:1-4 2:1-3 0:5-5", .newest, "1:1-4 0:5-5"),
        Choice("a range that overlaps", "1:1-5 1:4-8", .newest, "1:1-5 1:4-8"),
        Choice("a range that is covered", "1:1-5 0:2-2 0:3-3", .newest, "1:1-5"),
        Choice("the longer of a tie", "0:1-1 1:1-4 0:5-5", .newest, "1:1-4 0:5-5"),
        Choice("the shorter of equal reach", "9:1-2 1:2-4 1:3-4", .newest, "9:1-2 1:3-4"),
        Choice("a compacted file up to the target", "1:1-5 0:6-6", .txid(5), "1:1-5"),
        Choice("a compacted file beyond the target", "0:1-1 0:2-2 1:1-5", .txid(1), "0:1-1"),
        Choice("level 0 pruned away", "9:1-1 9:1-5 1:6-12 0:12-12", .newest, "9:1-5 1:6-12"),
        Choice("a hole under a snapshot", "0:1-1 0:3-3 9:1-3 0:4-4", .newest, "9:1-3 0:4-4"),
        Choice("a hole above the target", "0:1-1 0:2-2 0:5-5", .txid(2), "0:1-1 0:2-2"),
        Choice("no snapshot on level 9", "9:3-9 0:1-1 0:2-2", .newest, "0:1-1 0:2-2"),
        Choice(
            "the highest TXIDs",
            "1:1-18446744073709551614 0:18446744073709551615-18446744073709551615",
            .newest,
            "1:1-18446744073709551614 0:18446744073709551615-18446744073709551615"
        ),
        Choice("a time is exclusive", "0:1-1 0:2-2 0:3-3", .timestamp(3), "0:1-1 0:2-2"),
        Choice("a time between", "0:1-1@10 0:2-2@20", .timestamp(11), "0:1-1@10"),
        Choice("a time after the newest", "0:1-1 0:2-2", .timestamp(3), "0:1-1 0:2-2"),
        Choice("a far future", "0:1-1 0:2-2", .timestamp(.max), "0:1-1 0:2-2"),
        Choice("a time before 1970", "0:1-1@-20 0:2-2@-10", .timestamp(-15), "0:1-1@-20"),
        Choice("a late snapshot", "0:1-1 0:2-2 9:1-2@9", .timestamp(5), "0:1-1 0:2-2"),
        Choice("inside a compacted file", "9:1-5 1:6-12 0:7-7", .timestamp(8), "9:1-5"),
    ]

    @Test("files are chosen in the right order, whatever the listing's", arguments: choices)
    func chooses(row: Choice) throws {
        let listing = files(row.files)
        for listing in [listing, listing.reversed(), listing.sorted()] {
            let plan = try RestorePlan(for: row.target, in: listing)
            #expect(plan.files == files(row.plan))
            #expect(plan.txid == files(row.plan).last?.maxTXID)
        }
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        let files: String
        let target: RestoreTarget
        let error: RestorePlanError
        let says: String

        init(
            _ files: String,
            _ target: RestoreTarget,
            _ error: RestorePlanError,
            _ says: String
        ) {
            self.files = files
            self.target = target
            self.error = error
            self.says = says
        }

        var testDescription: String { "\(target) of [\(files)]" }
    }

    static let refusals = [
        Refusal("", .newest, .empty, "nothing was backed up"),
        Refusal("", .txid(1), .empty, "nothing was backed up"),
        Refusal("", .timestamp(1), .empty, "nothing was backed up"),
        Refusal("0:2-2 0:3-3", .newest, .noBase(first: file("0:2-2")), "beginning is missing"),
        Refusal("0:2-2 0:3-3", .txid(3), .noBase(first: file("0:2-2")), "beginning is missing"),
        Refusal("0:2-2 0:3-3", .timestamp(3), .noBase(first: file("0:2-2")), "beginning"),
        Refusal("9:2-3", .newest, .noBase(first: file("9:2-3")), "beginning is missing"),
        Refusal(
            "0:1-1 0:2-2 0:3-3 0:5-5 0:6-6",
            .newest,
            .gap(after: 3, next: 5),
            "TXID 0000000000000004 is missing"
        ),
        Refusal(
            "0:1-1 0:20-20",
            .newest,
            .gap(after: 1, next: 20),
            "TXIDs 0000000000000002 to 0000000000000013 are missing"
        ),
        Refusal("1:1-5 0:7-7", .newest, .gap(after: 5, next: 7), "push the missing files"),
        Refusal("0:1-1", .txid(.zero), .zero, "count from 1"),
        Refusal("0:1-1 9:1-4", .txid(5), .beyondNewest(5, newest: 4), "not there yet"),
        Refusal(
            "9:1-5 1:6-12 0:13-13",
            .txid(8),
            .notRestorable(8, inside: file("1:6-12"), below: 5, above: 12),
            "is inside 1/0000000000000006-000000000000000c.ltx"
        ),
        Refusal(
            "9:1-9 2:4-9 1:8-9",
            .txid(8),
            .notRestorable(8, inside: file("1:8-9"), below: nil, above: 9),
            "is inside 1/"
        ),
        Refusal(
            "0:1-1 0:3-3 9:1-4",
            .txid(3),
            .notRestorable(3, inside: file("9:1-4"), below: 1, above: 4),
            "0000000000000001 and 0000000000000004"
        ),
        Refusal(
            "0:1-1 0:5-5",
            .txid(3),
            .notRestorable(3, inside: nil, below: 1, above: nil),
            "files before it are missing"
        ),
        Refusal("0:1-1@10 0:2-2@20", .timestamp(10), .beforeFirst(10, first: 10), "1970-01-01"),
        Refusal("0:1-1@10 0:2-2@20", .timestamp(.min), .beforeFirst(.min, first: 10), "first"),
        Refusal(
            "9:1-3@30 0:2-2@20",
            .timestamp(25),
            .beforeFirst(25, first: 30),
            "modification times"
        ),
        // Litestream restores TXID 1 in these two without a word.
        Refusal("0:1-1 0:3-3 0:4-4 0:5-5", .timestamp(5), .gap(after: 1, next: 3), "is missing"),
        Refusal("0:1-1 0:3-3 9:1-4", .timestamp(4), .gap(after: 1, next: 3), "is missing"),
    ]

    @Test("what cannot be had is refused, naming what can", arguments: refusals)
    func refuses(row: Refusal) {
        #expect(throws: row.error) { try RestorePlan(for: row.target, in: files(row.files)) }
        #expect("\(row.error)".contains(row.says), "\(row.error)")
    }

    @Test("a plan of a very long history is made at once")
    func longHistory() throws {
        let count: UInt64 = 200_000
        var listing = (1...count).reversed().map { file(0, $0, $0) }
        listing += stride(from: 1, to: count / 2, by: 100).map { file(1, $0, $0 + 99) }
        let plan = try RestorePlan(for: .newest, in: listing)
        #expect(plan.txid == TXID(count))
        #expect(plan.files.count == 1000 + 100_000)
        let holed = listing.filter { $0.minTXID != TXID(150_000) }
        #expect(
            throws: RestorePlanError.notRestorable(
                150_000,
                inside: nil,
                below: 149_999,
                above: nil
            )
        ) {
            try RestorePlan(for: .txid(150_000), in: holed)
        }
    }
}

private func files(_ text: String) -> [BucketFile] {
    text.split(separator: " ").map { file(String($0)) }
}

private func file(_ text: String) -> BucketFile {
    let parts = text.split { ":@".contains($0) }
    let range = parts[1].split(separator: "-").compactMap { UInt64($0) }
    let time = parts.count > 2 ? Int64(parts[2]) : nil
    return file(Int(parts[0]) ?? 0, range[0], range[1], time: time)
}

private func file(
    _ level: Int,
    _ min: UInt64,
    _ max: UInt64,
    time: Int64? = nil
) -> BucketFile {
    BucketFile(
        level: level,
        name: LTXFileName(minTXID: TXID(min), maxTXID: TXID(max)),
        sizeInBytes: 1000,
        timestamp: time ?? Int64(clamping: max)
    )
}

extension TXID: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: UInt64) {
        self.init(value)
    }
}
