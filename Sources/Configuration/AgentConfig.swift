public import Bucket

/// What `dormouse agent` is told to do: `agent.yml` after checking, with every default filled in.
public struct AgentConfig: Hashable, Sendable {
    /// The database file, by its absolute path.
    public var database: String
    public var destination: BucketAddress
    /// The device's name; with the timestamp it is the natural key of every sample.
    public var device = "strap-1"
    /// How a destination over HTTP is reached.
    public var http = HTTP()
    public var push = Push()
    public var checkpoint = Checkpoint()
    public var backlog = Backlog()
    public var transfer = Transfer()
    public var collector = Collector()
    public var streams = Stream.defaults
    public var log = Log()
    /// The control socket, by its absolute path; `nil` for the usual place.
    public var control: String?
    public var lifecycle = Lifecycle()

    public init(database: String, destination: BucketAddress) {
        self.database = database
        self.destination = destination
    }

    public struct HTTP: Hashable, Sendable {
        public var token: TokenSource?
        /// PEM file of the authorities to trust, instead of the system's.
        public var authorities: String?
        public var client: Client?
        public var connectTimeout: Duration = .seconds(10)
        /// How long no byte may move in either direction.
        public var idleTimeout: Duration = .seconds(30)
        /// How long one request may take in all.
        public var requestTimeout: Duration = .seconds(3_600)

        public init() {}

        /// What the client shows of itself: PEM files.
        public struct Client: Hashable, Sendable {
            public var certificate: String
            public var key: String

            public init(certificate: String, key: String) {
                self.certificate = certificate
                self.key = key
            }
        }
    }

    public struct Push: Hashable, Sendable {
        /// There is at most one push per interval; a change of the WAL wakes it.
        public var interval: Duration = .seconds(15 * 60)
        /// Push once when the agent starts.
        public var onStart = true
        public var onConflict = OnConflict.rebase
    }

    /// What to do when the destination does not hold what it is known to have taken.
    public enum OnConflict: String, CaseIterable, Sendable {
        case rebase, stop
    }

    public struct Checkpoint: Hashable, Sendable {
        /// Pages in the WAL from which a checkpoint is due.
        public var pages = 1_000
        public var pin = Pin.hold
    }

    /// What waits on the device while the destination does not take it.
    public struct Backlog: Hashable, Sendable {
        /// Bytes above which waiting files are merged into one.
        public var budget: Int64 = 256 << 20
        /// Bytes above which they are given up, and found again by comparing.
        public var limit: Int64 = 1 << 30
    }

    /// How files are handed over to a process that outlives the agent.
    public struct Transfer: Hashable, Sendable {
        /// Absolute path of a directory; without it nothing is handed over.
        public var spool: String?
        public var start = Start.none

        /// Who starts `dormouse transfer`.
        public enum Start: String, CaseIterable, Sendable {
            /// Somebody else, such as a path unit of systemd.
            case none
            /// The agent, as a process that survives it.
            case child
        }
    }

    /// Whether a read transaction keeps other checkpointers out between syncs.
    public enum Pin: String, CaseIterable, Sendable {
        case hold, yield
    }

    public struct Collector: Hashable, Sendable {
        /// Samples are buffered for so long, then written in one transaction.
        public var flushInterval: Duration = .seconds(30)
        /// Multiple of real time at which the time of the devices runs: straps, recordings and what
        /// they bank.
        public var speed = 1.0
    }

    /// A sequence of samples: one table, one row a sample.
    public struct Stream: Hashable, Sendable {
        public var name: String
        public var columns: [Column]
        public var source: Source

        public init(name: String, columns: [Column], source: Source) {
            self.name = name
            self.columns = columns
            self.source = source
        }

        /// One simulated strap, which banks what nobody takes: what is collected when no streams
        /// are configured.
        public static let defaults = Signal.allCases.map { signal in
            Stream(
                name: signal.rawValue,
                columns: signal.columns,
                source: .backfill(Backfill(of: .simulated(Simulated(signal: signal))))
            )
        }
    }

    public struct Column: Hashable, Sendable {
        public var name: String
        public var type: ColumnType = .real

        public init(name: String, type: ColumnType = .real) {
            self.name = name
            self.type = type
        }
    }

    public enum ColumnType: String, CaseIterable, Sendable {
        case real, integer
    }

    public enum Source: Hashable, Sendable {
        /// A strap, live: what happens while nobody listens is lost.
        case simulated(Simulated)
        case csv(CSV)
        /// What was banked first, then on as it comes.
        case backfill(Backfill)
    }

    /// What the simulated strap measures.
    public enum Signal: String, CaseIterable, Sendable {
        case heartRate = "heart_rate"
        case rrInterval = "rr_interval"
        case gravity

        /// The columns it can fill; all of them when a stream names none.
        public var columns: [Column] {
            switch self {
            case .heartRate: [Column(name: "bpm", type: .integer)]
            case .rrInterval:
                ["beats", "rr1_ms", "rr2_ms", "rr3_ms", "rr4_ms"].map {
                    Column(name: $0, type: .integer)
                }
            case .gravity: ["x", "y", "z"].map { Column(name: $0) }
            }
        }
    }

    /// Samples made up as they would happen, the same ones for the same seed.
    public struct Simulated: Hashable, Sendable {
        public var signal: Signal
        public var seed: UInt64 = 1

        public init(signal: Signal, seed: UInt64 = 1) {
            self.signal = signal
            self.seed = seed
        }
    }

    /// A recording that is replayed; the stream's columns are found by name in its header.
    public struct CSV: Hashable, Sendable {
        /// Absolute path.
        public var file: String
        /// Header of the column with seconds since the first record.
        public var timeColumn: String
        /// Multiple of real time; the collector's unless given.
        public var speed: Double

        public init(file: String, timeColumn: String = "offset_s", speed: Double = 1) {
            self.file = file
            self.timeColumn = timeColumn
            self.speed = speed
        }
    }

    /// Samples that a device banked while it was away, drained faster than they were made.
    public struct Backfill: Hashable, Sendable {
        public enum Bank: Hashable, Sendable {
            case simulated(Simulated)
            case csv(CSV)
        }

        public var bank: Bank
        /// How far back a strap's bank reaches when it is seen for the first time.
        public var history: Duration = .zero
        /// How long a strap's bank is: an outage longer than this loses its beginning.
        public var capacity: Duration = .seconds(14 * 86_400)
        /// Multiple of the speed at which samples are made.
        public var speed = 21.0
        /// Rows in one batch, at most.
        public var batchRows = 630

        public init(of bank: Bank) {
            self.bank = bank
        }
    }

    /// What a phone's system would grant and demand.
    public struct Lifecycle: Hashable, Sendable {
        /// What background grants, and each resume in it.
        public var backgroundBudget: Duration = .seconds(30)
        /// What one granted extension adds; zero refuses them.
        public var extensionTime: Duration = .zero
        /// How many are granted in one background.
        public var extensions = 0
        /// The database lies where a suspended process must not hold a lock.
        public var sharedContainer = false
    }

    public struct Log: Hashable, Sendable {
        public var level = LogLevel.info
        public var format = LogFormat.auto
    }

    /// The least important record that is written.
    public enum LogLevel: String, CaseIterable, Sendable {
        case error, warning, notice, info, debug
    }

    public enum LogFormat: String, CaseIterable, Sendable {
        /// The journal when standard error is connected to it, else lines on standard error.
        case auto
        case journal, logfmt
    }
}
