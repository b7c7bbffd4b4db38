/// What happened in a run, in the order of time: the plain value that reports are made of.
///
/// All times are real ones since the run began.
public struct Story: Hashable, Sendable {
    /// Rows of the timeline that show states.
    public enum Lane: String, CaseIterable, Sendable {
        case phase, network, trouble
    }

    /// A state that lasted.
    public struct Span: Hashable, Sendable {
        public var lane: Lane
        public var label: String
        public var from: Duration
        public var to: Duration

        public init(_ lane: Lane, _ label: String, from: Duration, to: Duration) {
            self.lane = lane
            self.label = label
            self.from = from
            self.to = to
        }
    }

    /// Something that took no time.
    public struct Mark: Hashable, Sendable {
        public enum Kind: String, CaseIterable, Sendable {
            case launch, death, exit, clock, write, control
            /// Somebody else checkpointed.
            case foreign
            /// Locks were held in a suspension.
            case lock
        }

        public var kind: Kind
        public var label: String
        public var at: Duration

        public init(_ kind: Kind, _ label: String, at: Duration) {
            self.kind = kind
            self.label = label
            self.at = at
        }
    }

    /// A time in which the agent had to get ready to be stopped.
    public struct Window: Hashable, Sendable {
        public var from: Duration
        /// When it said that it was ready; `nil` when it did not.
        public var acknowledged: Duration?
        public var budget: Duration
        /// It was given less time than its budget, so nothing can be said.
        public var wasCutShort = false

        public init(from: Duration, budget: Duration) {
            self.from = from
            self.budget = budget
        }

        /// Whether it took longer than granted; an answer has to travel, and machines are slow.
        public var isLate: Bool {
            guard let acknowledged else { return !wasCutShort }
            return acknowledged - from > budget + budget / 10 + .milliseconds(500)
        }
    }

    /// A body that left the device for the sink.
    public struct Upload: Hashable, Sendable {
        public var target: String
        /// Where in the whole it began.
        public var offset: Int64
        /// Bytes that it would have had.
        public var length: Int64
        /// Bytes that came.
        public var bytes: Int64
        public var status: Int?

        public init(target: String, offset: Int64, length: Int64, bytes: Int64, status: Int?) {
            self.target = target
            self.offset = offset
            self.length = length
            self.bytes = bytes
            self.status = status
        }
    }

    public struct Level: Hashable, Sendable {
        public var at: Duration
        public var bytes: Int64

        public init(at: Duration, bytes: Int64) {
            self.at = at
            self.bytes = bytes
        }
    }

    public var name: String
    public var about: String
    public var seed: UInt64
    public var isFull = false
    public var pace: Scenario.Pace
    /// When it began, milliseconds since 1970.
    public var began: Int64
    public var length: Duration = .zero
    public var spans: [Span] = []
    public var marks: [Mark] = []
    public var windows: [Window] = []
    public var suspensions = 0
    public var locksHeld: [ObservedLock] = []
    public var records: [AgentRecord] = []
    public var wal: [Level] = []
    public var uploads: [Upload] = []

    public init(
        name: String,
        about: String = "",
        seed: UInt64 = 1,
        pace: Scenario.Pace = Scenario.Pace(),
        began: Int64 = 0
    ) {
        self.name = name
        self.about = about
        self.seed = seed
        self.pace = pace
        self.began = began
    }

    /// Rescans without a reason, or that no foreign checkpoint since the last push that succeeded
    /// began gave cause for; what is wrong with the bucket no checkpoint explains.
    public var unexplainedRescans: Int {
        let foreign = marks.filter { $0.kind == .foreign }.map(\.at)
        var since = Duration.zero
        var count = 0
        for record in records {
            if record.kind == "push" {
                let push = PushFact(record)
                if push.isSuccess { since = push.start }
            } else if record.kind == "custody-lost" {
                let wasForeign = foreign.contains { $0 >= since && $0 <= record.at }
                let reason = record["reason"] ?? ""
                if !wasForeign || reason.isEmpty || reason == "bucket-changed" { count += 1 }
            }
        }
        return count
    }

    /// The pushes, as the agent recorded them.
    public var pushes: [PushFact] {
        records.filter { $0.kind == "push" }.map(PushFact.init)
    }

    /// What the agent said and what was done to it, a line each.
    public var log: String {
        let said = records.map { record in
            let words = record.fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            return (record.at, words.joined(separator: " "))
        }
        let done =
            marks.map { ($0.at, "## \($0.label)") }
            + spans.map { ($0.from, "## \($0.label) for \($0.to - $0.from)") }
        return (said + done).sorted { $0.0 < $1.0 }
            .map { "\(TimeText.clock(pace.told($0.0)))  \($0.1)\n" }.joined()
    }

    /// What each push left behind.
    public var backlog: [Level] {
        [Level(at: .zero, bytes: 0)] + pushes.map { Level(at: $0.end, bytes: $0.backlogBytes) }
    }
}

/// The record of one push, read.
public struct PushFact: Hashable, Sendable {
    public var end: Duration
    public var length: Duration
    public var outcome: String
    public var reason: String?
    public var detail: String?
    public var kind: String
    public var evidence: String?
    public var txid: String
    public var files: Int64
    public var bytes: Int64
    public var pages: Int64
    public var backlogBytes: Int64
    public var backlogFiles: Int64
    public var walBytes: Int64
    public var streak: Int64
    public var lineage: String?
    public var lockMicroseconds: Int64

    public init(_ record: AgentRecord) {
        end = record.at
        length = .microseconds(record.number("duration_usec"))
        outcome = record["outcome"] ?? ""
        reason = record["reason"]
        detail = record["detail"]
        kind = record["sync_kind"] ?? ""
        evidence = record["evidence"]
        txid = record["txid"] ?? ""
        files = record.number("files")
        bytes = record.number("bytes")
        pages = record.number("pages")
        backlogBytes = record.number("backlog_bytes")
        backlogFiles = record.number("backlog_files")
        walBytes = record.number("wal_bytes")
        streak = record.number("streak")
        lineage = record["lineage"]
        lockMicroseconds = record.number("lock_usec")
    }

    public var start: Duration { end - length }

    public var isSuccess: Bool { outcome == "pushed" || outcome == "in-sync" }
}
