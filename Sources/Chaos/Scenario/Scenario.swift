public import Configuration

/// What a device goes through, as a scenario file tells it.
public struct Scenario: Hashable, Sendable {
    public var name: String
    /// One sentence for a person.
    public var about: String
    public var seed: UInt64 = 1
    public var pace = Pace()
    /// The pace of a full run.
    public var fullPace: Pace
    /// How often the outermost `repeat` goes round in a full run; as written unless given.
    public var fullRepeat: Int?
    /// Settings of the agent, in the scenario's time; the two places are the bench's.
    public var agent: AgentConfig
    /// Bytes that the database holds before the agent starts.
    public var content: Int64 = 0
    /// Kill an agent that is suspended while it holds a lock.
    public var isContainerShared = false
    public var steps: [Step]
    public var expectations: [Allowance] = []
    /// What a full run expects instead: more rounds make more of what is counted.
    public var fullExpectations: [Allowance] = []

    /// What a run is judged by.
    public func expectations(isFull: Bool) -> [Allowance] {
        guard isFull else { return expectations }
        let replaced = Set(fullExpectations.map(\.metric))
        return expectations.filter { !replaced.contains($0.metric) } + fullExpectations
    }

    /// Time and sizes of a scenario against the real ones.
    public struct Pace: Hashable, Sendable {
        /// Seconds of the scenario in one real second.
        public var speed = 1.0
        /// What sizes and rates are divided by.
        public var scale = 1

        public init(speed: Double = 1, scale: Int = 1) {
            self.speed = speed
            self.scale = scale
        }

        public func real(_ duration: Duration) -> Duration { duration / speed }

        public func told(_ duration: Duration) -> Duration { duration * speed }

        public func real(_ bytes: Int64) -> Int64 { max(min(bytes, 1), bytes / Int64(scale)) }

        /// Bytes a second, of a rate in the scenario's bytes and seconds.
        public func realRate(_ rate: Int64) -> Int64 {
            max(1, Int64(Double(rate) * speed / Double(scale)))
        }
    }

    /// One line of `steps`.
    public indirect enum Step: Hashable, Sendable {
        case event(Action, Drawn)
        case times(ClosedRange<Int>, [Step])
        /// One of these lists, by weight.
        case choice([Choice])
    }

    /// One of several lists of steps.
    public struct Choice: Hashable, Sendable {
        public var weight: Int
        public var steps: [Step]

        public init(weight: Int, steps: [Step]) {
            self.weight = weight
            self.steps = steps
        }
    }

    /// A duration that the seed draws between two bounds.
    public struct Drawn: Hashable, Sendable {
        public var low: Duration
        public var high: Duration

        public init(_ low: Duration, _ high: Duration? = nil) {
            self.low = low
            self.high = high ?? low
        }

        public static let instant = Drawn(.zero)
    }
}
