/// The numbers of a run against what was expected of them.
public struct Verdict: Hashable, Sendable {
    public struct Check: Hashable, Sendable {
        public var expectation: Allowance
        public var value: Int64
        public var holds: Bool { expectation.holds(for: value) }
    }

    /// Every metric there is.
    public let values: [Metric: Int64]
    /// What was expected, in the order of the metrics.
    public let checks: [Check]

    public var holds: Bool { checks.allSatisfy(\.holds) }

    public var failures: [Check] { checks.filter { !$0.holds } }

    /// - Parameters:
    ///   - story: What happened.
    ///   - closing: What was found at the end.
    ///   - expectations: Of the scenario; they take the place of those that hold always.
    public init(_ story: Story, _ closing: Closing, expectations: [Allowance]) {
        values = Self.values(of: story, closing)
        var expected: [Metric: Allowance] = [:]
        for expectation in Metric.always + expectations {
            expected[expectation.metric] = expectation
        }
        let values = values
        checks = Metric.allCases.compactMap { metric in
            expected[metric].map { Check(expectation: $0, value: values[metric] ?? 0) }
        }
    }

    private static func values(of story: Story, _ closing: Closing) -> [Metric: Int64] {
        let pushes = story.pushes
        func count(_ outcome: String) -> Int64 { Int64(pushes.count { $0.outcome == outcome }) }
        func records(_ kind: String) -> [AgentRecord] { story.records.filter { $0.kind == kind } }
        let snapshots = records("snapshot")
        let forced = snapshots.count { $0["snapshot_reason"] != "first" }
        let worstWAL = (story.wal.map(\.bytes) + pushes.map(\.walBytes)).max() ?? 0
        let worstBacklog = pushes.map(\.backlogBytes).max() ?? 0
        return [
            .rowsLost: closing.rowsLost,
            .differences: Int64(closing.pagesDiffering + closing.mirrorPagesDiffering),
            .forcedSnapshots: Int64(forced),
            .snapshots: Int64(snapshots.count),
            .rescans: Int64(records("custody-lost").count),
            .unexplainedRescans: Int64(story.unexplainedRescans),
            .lineages: Int64(Set(pushes.compactMap(\.lineage)).count),
            .locksHeld: Int64(story.locksHeld.count),
            .lateSuspensions: Int64(story.windows.count(where: \.isLate)),
            .exits: Int64(story.marks.count { $0.kind == .exit }),
            .overhead: closing.idealBytes > 0
                ? closing.bytesShipped * 1_000 / closing.idealBytes : 0,
            .bytesShipped: closing.bytesShipped,
            .worstWAL: worstWAL,
            .worstBacklog: worstBacklog,
            .writerStall: pushes.map(\.lockMicroseconds).max() ?? 0,
            .pushes: Int64(pushes.count),
            .pushed: count("pushed"),
            .inSync: count("in-sync"),
            .retryable: count("retryable"),
            .unavailable: count("unavailable"),
            .worstStreak: pushes.map(\.streak).max() ?? 0,
            .resumedUploads: Int64(closing.resumedUploads),
            .ingests: Int64(records("ingest").count),
            .launches: Int64(story.marks.count { $0.kind == .launch }),
            .suspensions: Int64(story.suspensions),
            .windows: Int64(story.windows.count),
        ]
    }
}
