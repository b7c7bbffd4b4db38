import Chaos
import Testing

@Suite("The verdict on a run")
struct VerdictTests {
    /// One record as an agent writes it.
    static func record(_ at: Int, _ kind: String, _ fields: [String: String] = [:]) -> AgentRecord {
        AgentRecord(at: .seconds(at), fields: fields.merging(["kind": kind]) { $1 })
    }

    static func story(_ records: [AgentRecord], marks: [Story.Mark] = []) -> Story {
        var story = Story(name: "made")
        story.records = records
        story.marks = marks
        story.length = .seconds(100)
        return story
    }

    static let pushes: [AgentRecord] = [
        record(
            1,
            "snapshot",
            ["snapshot_reason": "first"]
        ),
        record(
            1,
            "push",
            [
                "outcome": "pushed", "sync_kind": "snapshot", "bytes": "1000", "wal_bytes": "50",
                "lineage": "a", "lock_usec": "900", "streak": "0",
            ]
        ),
        record(
            2,
            "push",
            [
                "outcome": "retryable", "reason": "network", "backlog_bytes": "77", "streak": "1",
                "lineage": "a",
            ]
        ),
        record(3, "push", ["outcome": "in-sync", "streak": "0"]),
        record(4, "push", ["outcome": "unavailable", "reason": "unauthorized"]),
    ]

    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let metric: Metric
        let value: Int64
        var records: [AgentRecord] = VerdictTests.pushes
        var marks: [Story.Mark] = []
        var testDescription: String { name }
    }

    static let counted: [Row] = [
        Row(name: "pushes are counted", metric: .pushes, value: 4),
        Row(name: "those that got through", metric: .pushed, value: 1),
        Row(name: "those with nothing to do", metric: .inSync, value: 1),
        Row(name: "those that will be tried again", metric: .retryable, value: 1),
        Row(name: "those that nobody but a person helps", metric: .unavailable, value: 1),
        Row(name: "the worst streak", metric: .worstStreak, value: 1),
        Row(name: "the worst backlog", metric: .worstBacklog, value: 77),
        Row(name: "the worst WAL, of pushes", metric: .worstWAL, value: 50),
        Row(name: "the longest stall", metric: .writerStall, value: 900),
        Row(name: "one lineage", metric: .lineages, value: 1),
        Row(
            name: "two lineages",
            metric: .lineages,
            value: 2,
            records: pushes + [record(9, "push", ["lineage": "b"])]
        ),
        Row(name: "the first snapshot is not forced", metric: .forcedSnapshots, value: 0),
        Row(
            name: "another one is",
            metric: .forcedSnapshots,
            value: 1,
            records: pushes + [record(9, "snapshot", ["snapshot_reason": "ledger-damaged"])]
        ),
        Row(
            name: "an end nobody asked for",
            metric: .exits,
            value: 1,
            marks: [.init(.exit, "", at: .zero), .init(.launch, "", at: .zero)]
        ),
        Row(
            name: "a rescan behind somebody's checkpoint is explained",
            metric: .unexplainedRescans,
            value: 0,
            records: pushes + [record(9, "custody-lost", ["reason": "wal-truncated"])],
            marks: [.init(.foreign, "", at: .seconds(8))]
        ),
        Row(
            name: "one without anybody is not",
            metric: .unexplainedRescans,
            value: 1,
            records: pushes + [record(9, "custody-lost", ["reason": "wal-truncated"])]
        ),
        Row(
            name: "a checkpoint before the push before explains nothing",
            metric: .unexplainedRescans,
            value: 1,
            records: pushes + [record(9, "custody-lost", ["reason": "wal-truncated"])],
            marks: [.init(.foreign, "", at: .seconds(2))]
        ),
        Row(
            name: "a rescan without a reason is never explained",
            metric: .unexplainedRescans,
            value: 1,
            records: pushes + [record(9, "custody-lost")],
            marks: [.init(.foreign, "", at: .seconds(8))]
        ),
        Row(
            name: "nor does a kill",
            metric: .unexplainedRescans,
            value: 1,
            records: pushes + [record(9, "custody-lost", ["reason": "wal-truncated"])],
            marks: [.init(.death, "", at: .seconds(8))]
        ),
        Row(
            name: "nor for a reason that a kill cannot have",
            metric: .unexplainedRescans,
            value: 1,
            records: pushes + [record(9, "custody-lost", ["reason": "growth-hole"])],
            marks: [.init(.death, "", at: .seconds(8))]
        ),
        Row(
            name: "a lost place out of nowhere is unexplained",
            metric: .unexplainedRescans,
            value: 1,
            records: pushes + [record(10, "custody-lost", ["reason": "no-place"])],
            marks: [.init(.death, "", at: .seconds(8))]
        ),
        Row(
            name: "so is one behind another that was unexplained",
            metric: .unexplainedRescans,
            value: 2,
            records: pushes + [
                record(9, "custody-lost", ["reason": "wal-truncated"]),
                record(9, "push", ["outcome": "pushed"]),
                record(10, "custody-lost", ["reason": "no-place"]),
            ],
            marks: [.init(.death, "", at: .seconds(8))]
        ),
        Row(
            name: "a bucket that changed behind a push that got through is not explained",
            metric: .unexplainedRescans,
            value: 1,
            records: [
                record(1, "push", ["outcome": "pushed"]),
                record(9, "custody-lost", ["reason": "bucket-changed"]),
            ]
        ),
        Row(
            name: "nor one that changed behind a push that broke off",
            metric: .unexplainedRescans,
            value: 1,
            records: [
                record(1, "push", ["outcome": "retryable"]),
                record(9, "custody-lost", ["reason": "bucket-changed"]),
            ]
        ),
        Row(
            name: "nor one beside a checkpoint",
            metric: .unexplainedRescans,
            value: 1,
            records: pushes + [record(9, "custody-lost", ["reason": "bucket-changed"])],
            marks: [.init(.foreign, "", at: .seconds(8))]
        ),
        Row(
            name: "rescans are counted in either case",
            metric: .rescans,
            value: 1,
            records: pushes + [record(9, "custody-lost")]
        ),
    ]

    @Test("counts what the records say", arguments: counted)
    func metrics(row: Row) {
        let verdict = Verdict(
            Self.story(row.records, marks: row.marks),
            Closing(),
            expectations: []
        )
        #expect(verdict.values[row.metric] == row.value)
    }

    @Test("has a value for every metric", arguments: Metric.allCases)
    func complete(metric: Metric) {
        let verdict = Verdict(Self.story(Self.pushes), Closing(), expectations: [])
        #expect(verdict.values[metric] != nil)
    }

    @Test("knows the size of the WAL between pushes")
    func wal() {
        var story = Self.story(Self.pushes)
        story.wal = [.init(at: .zero, bytes: 10), .init(at: .seconds(1), bytes: 4_000)]
        #expect(Verdict(story, Closing(), expectations: []).values[.worstWAL] == 4_000)
    }

    struct Rows: Sendable {
        let acknowledged: Int64?
        let source: Int64
        let mirror: Int64?
        let restored: Int64
        let lost: Int64
    }

    @Test(
        "a row is lost that was acknowledged and is missing anywhere",
        arguments: [
            Rows(acknowledged: 10, source: 10, mirror: 10, restored: 10, lost: 0),
            // Committed by a process that was killed before it could say so.
            Rows(acknowledged: 10, source: 12, mirror: 12, restored: 12, lost: 0),
            Rows(acknowledged: 10, source: 9, mirror: 10, restored: 10, lost: 1),
            Rows(acknowledged: 10, source: 10, mirror: 7, restored: 10, lost: 3),
            Rows(acknowledged: 10, source: 10, mirror: nil, restored: 8, lost: 2),
            // Of a unit nothing is known but what is in its database.
            Rows(acknowledged: nil, source: 10, mirror: nil, restored: 8, lost: 2),
        ]
    )
    func lostRows(rows: Rows) {
        var closing = Closing()
        closing.rowsAcknowledged = rows.acknowledged
        closing.rowsInSource = rows.source
        closing.rowsInMirror = rows.mirror
        closing.rowsRestored = rows.restored
        #expect(closing.rowsLost == rows.lost)
        let verdict = Verdict(Self.story([]), closing, expectations: [])
        #expect(verdict.holds == (rows.lost == 0))
    }

    @Test("what was shipped is told in thousandths of the ideal")
    func overhead() {
        var closing = Closing()
        closing.bytesShipped = 1_500
        closing.idealBytes = 1_000
        let expected = Allowance(.overhead, nil, 1_400)
        let verdict = Verdict(Self.story([]), closing, expectations: [expected])
        #expect(verdict.values[.overhead] == 1_500)
        #expect(verdict.failures.map(\.expectation) == [expected])
    }

    struct Range: Sendable {
        let low: Int64?
        let high: Int64?
        let inside: [Int64]
        let outside: [Int64]
    }

    @Test(
        "a range holds at its ends",
        arguments: [
            Range(low: 1, high: 3, inside: [1, 2, 3], outside: [0, 4]),
            Range(low: 2, high: nil, inside: [2, 9_999], outside: [0, 1]),
            Range(low: nil, high: 2, inside: [0, 2], outside: [3]),
        ]
    )
    func range(range: Range) {
        let allowance = Allowance(.pushes, range.low, range.high)
        #expect(range.inside.allSatisfy { allowance.holds(for: $0) })
        #expect(!range.outside.contains { allowance.holds(for: $0) })
    }

    @Test("a scenario's expectation takes the place of the one that holds always")
    func replaced() {
        let story = Self.story([], marks: [.init(.exit, "", at: .zero)])
        #expect(!Verdict(story, Closing(), expectations: []).holds)
        #expect(Verdict(story, Closing(), expectations: [.init(.exits, nil, 2)]).holds)
    }

    @Test("a window is late when it is over its budget by more than a machine needs")
    func windows() {
        var window = Story.Window(from: .seconds(10), budget: .seconds(30))
        #expect(window.isLate)
        window.wasCutShort = true
        #expect(!window.isLate)
        window.wasCutShort = false
        window.acknowledged = .seconds(40)
        #expect(!window.isLate)
        window.acknowledged = .seconds(44)
        #expect(window.isLate)
    }
}
