import LTXCodec
import Replication
import SQLiteWAL
import Testing

@Suite("When a checkpoint is due")
struct CheckpointPolicyTests {
    private let generation = WALSalt(salt1: 1, salt2: 2)
    private let following = WALSalt(salt1: 2, salt2: 7)

    @Test(
        "a generation is due from its threshold on",
        arguments: [(0, false), (99, false), (100, true), (5000, true)] as [(UInt32, Bool)]
    )
    func threshold(frames: UInt32, isDue: Bool) {
        let policy = CheckpointPolicy(threshold: 100)
        #expect(policy.isDue(salt: generation, frames: frames, hasOtherReaders: false) == isDue)
    }

    @Test("a threshold of 0 is the smallest one, not none")
    func zero() {
        let policy = CheckpointPolicy(threshold: 0)
        #expect(policy.threshold == 1)
        #expect(policy.isDue(salt: generation, frames: 1, hasOtherReaders: false))
        #expect(!policy.isDue(salt: generation, frames: 0, hasOtherReaders: false))
    }

    @Test("an idle database is not checkpointed again and again")
    func idle() {
        var policy = CheckpointPolicy(threshold: 100)
        policy.attempted(salt: generation, frames: 120, isComplete: true)
        for readers in [false, true] {
            #expect(!policy.isDue(salt: generation, frames: 120, hasOtherReaders: readers))
        }
        #expect(policy.isDue(salt: generation, frames: 121, hasOtherReaders: false))
        #expect(!policy.isDue(salt: following, frames: 99, hasOtherReaders: false))
        #expect(policy.isDue(salt: following, frames: 100, hasOtherReaders: false))
    }

    @Test("a long reader costs an attempt each tenth of the threshold, and none when it is gone")
    func longReader() {
        var policy = CheckpointPolicy(threshold: 100)
        var attempts = 0
        for frames in UInt32(100)...200
        where policy.isDue(salt: generation, frames: frames, hasOtherReaders: true) {
            policy.attempted(salt: generation, frames: frames, isComplete: false)
            attempts += 1
        }
        #expect(attempts == 11)
        // Nothing was written, but the reader left.
        #expect(!policy.isDue(salt: generation, frames: 200, hasOtherReaders: true))
        #expect(policy.isDue(salt: generation, frames: 200, hasOtherReaders: false))
        policy.attempted(salt: generation, frames: 200, isComplete: true)
        #expect(!policy.isDue(salt: generation, frames: 200, hasOtherReaders: false))
    }

    @Test("frame numbers at the end of their range trap nothing")
    func extremes() {
        var policy = CheckpointPolicy(threshold: .max)
        policy.attempted(salt: generation, frames: .max, isComplete: false)
        #expect(!policy.isDue(salt: generation, frames: .max, hasOtherReaders: true))
        #expect(policy.isDue(salt: generation, frames: .max, hasOtherReaders: false))
    }
}

@Suite("The streak of failures")
struct RetryStreakTests {
    static let outcomes: [(PushOutcome, UInt32)] = [
        (.pushed, 0),
        (.inSync(verified: true), 0),
        (.inSync(verified: false), 2),
        (.unavailable(.bucketDenied, detail: ""), 2),
        (.unavailable(.notConfigured, detail: ""), 2),
        (.retryable(.ioError, detail: ""), 3),
        (.retryable(.cancelled, detail: ""), 3),
    ]

    @Test("a success ends it, what can pass adds one, the rest leaves it", arguments: outcomes)
    func counts(outcome: PushOutcome, after: UInt32) {
        var streak = RetryStreak(count: 2)
        streak.record(outcome)
        #expect(streak.count == after)
    }

    @Test("a whole upload is tried from three on, unless the last push moved")
    func ingest() {
        var streak = RetryStreak()
        for _ in 0..<3 {
            #expect(!streak.opensIngest(lastPushMoved: false))
            streak.record(.retryable(.ioError, detail: ""))
        }
        #expect(streak.opensIngest(lastPushMoved: false))
        #expect(!streak.opensIngest(lastPushMoved: true))
    }

    @Test("it stays at the end of its range")
    func saturates() {
        var streak = RetryStreak(count: .max)
        streak.record(.retryable(.ioError, detail: ""))
        #expect(streak.count == .max)
    }
}

@Suite("What a bucket that changed is")
struct LineageFindingTests {
    struct Row: Sendable {
        let acknowledged: TXID?
        let head: TXID
        var headIsAcknowledged = false
        var newerAreOurs = false
        var reachesHead = true
        let finding: LineageFinding
    }

    static let rows: [Row] = [
        Row(acknowledged: nil, head: .zero, finding: .fresh),
        Row(acknowledged: nil, head: TXID(5), finding: .adopted),
        Row(acknowledged: nil, head: TXID(1), newerAreOurs: true, finding: .acknowledgementLost),
        Row(acknowledged: TXID(5), head: .zero, finding: .wiped),
        Row(
            acknowledged: TXID(5),
            head: TXID(5),
            headIsAcknowledged: true,
            finding: .agrees
        ),
        Row(acknowledged: TXID(5), head: TXID(5), finding: .reseeded),
        Row(acknowledged: TXID(5), head: TXID(6), finding: .ahead),
        Row(
            acknowledged: TXID(5),
            head: TXID(6),
            newerAreOurs: true,
            finding: .acknowledgementLost
        ),
        Row(acknowledged: TXID(5), head: TXID(4), finding: .behind),
        Row(acknowledged: TXID(5), head: TXID(4), newerAreOurs: true, finding: .behind),
        Row(acknowledged: TXID(.max), head: TXID(1), finding: .behind),
        Row(
            acknowledged: TXID(5),
            head: TXID(5),
            headIsAcknowledged: true,
            reachesHead: false,
            finding: .broken
        ),
        Row(
            acknowledged: TXID(5),
            head: TXID(6),
            newerAreOurs: true,
            reachesHead: false,
            finding: .broken
        ),
        Row(acknowledged: TXID(5), head: TXID(4), reachesHead: false, finding: .behind),
        Row(acknowledged: TXID(5), head: .zero, reachesHead: false, finding: .wiped),
    ]

    @Test("each way in which a bucket can differ has its name", arguments: rows)
    func findings(row: Row) {
        let finding = LineageFinding(
            acknowledged: row.acknowledged,
            head: row.head,
            headIsAcknowledged: row.headIsAcknowledged,
            newerAreOurs: row.newerAreOurs,
            reachesHead: row.reachesHead
        )
        #expect(finding == row.finding)
    }

    @Test("only three of them need no repair before an append")
    func sound() {
        #expect(
            LineageFinding.allCases.filter(\.isSound) == [.agrees, .fresh, .acknowledgementLost]
        )
    }
}
