/// What exactly happens in one run: every repetition counted out, every choice made by the seed.
public struct Plan: Hashable, Sendable {
    public struct Item: Hashable, Sendable {
        public var action: Action
        /// In the scenario's time.
        public var lasts: Duration

        public init(_ action: Action, _ lasts: Duration = .zero) {
            self.action = action
            self.lasts = lasts
        }
    }

    public let seed: UInt64
    public private(set) var items: [Item] = []

    /// More than this is no scenario but a mistake in a `repeat`.
    public static let limit = 100_000

    /// Makes the plan; the same seed makes the same one.
    ///
    /// - Parameters:
    ///   - scenario: What may happen.
    ///   - seed: Instead of the scenario's own.
    ///   - isFull: Whether the outermost repetitions are those of a full run.
    public init(_ scenario: Scenario, seed: UInt64? = nil, isFull: Bool = false) {
        self.seed = seed ?? scenario.seed
        var random = SplitMix64(state: self.seed)
        let rounds = isFull ? scenario.fullRepeat : nil
        add(scenario.steps, &random, rounds: rounds)
    }

    /// How long it takes at least, in the scenario's time.
    public var length: Duration {
        items.reduce(.zero) { sum, item in
            switch item.action {
            case .settle: sum
            default: sum + item.lasts
            }
        }
    }

    private mutating func add(
        _ steps: [Scenario.Step],
        _ random: inout SplitMix64,
        rounds: Int? = nil
    ) {
        for step in steps {
            switch step {
            case .event(let action, let length):
                guard items.count < Self.limit else { return }
                items.append(Item(action, random.duration(in: length)))
            case .times(let range, let steps):
                // Drawn also where it is not needed, so that a full run begins like a short one.
                let drawn = random.number(in: range)
                for _ in 0..<(rounds ?? drawn) { add(steps, &random) }
            case .choice(let choices):
                var left = random.number(in: 1...choices.reduce(0) { $0 + $1.weight })
                for choice in choices {
                    left -= choice.weight
                    if left <= 0 {
                        add(choice.steps, &random)
                        break
                    }
                }
            }
        }
    }
}

/// A small generator whose numbers are the same on every machine and in every version.
///
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
struct SplitMix64 {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Not the standard library's way, which may change between versions.
    mutating func number(in range: ClosedRange<Int>) -> Int {
        let count = UInt64(range.upperBound - range.lowerBound) + 1
        return range.lowerBound + Int(next().multipliedFullWidth(by: count).high)
    }

    mutating func duration(in range: Scenario.Drawn) -> Duration {
        let low = Int(range.low / .milliseconds(1))
        let high = Int(range.high / .milliseconds(1))
        guard low < high else { return range.low }
        return .milliseconds(number(in: low...high))
    }
}
