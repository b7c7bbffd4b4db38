/// A simulated strap by configuration.
public struct StrapDefinition: Hashable, Sendable {
    /// What the strap measures once a second; each is a stream of its own.
    public enum Signal: String, Hashable, Sendable, CaseIterable {
        case heartRate = "heart_rate"
        case rrInterval = "rr_interval"
        case gravity
    }

    /// The same seed gives the same samples, however fast they are asked for.
    public var seed: UInt64
    public var signal: Signal
    public var device: String
    /// Device seconds a second of real time.
    public var speed: Double

    public init(
        seed: UInt64,
        signal: Signal,
        device: String = "strap",
        speed: Double = 1
    ) {
        self.seed = seed
        self.signal = signal
        self.device = device
        self.speed = speed
    }

    var identity: String {
        "strap device=\(device) seed=\(seed) signal=\(signal.rawValue)"
    }

    func problems(for stream: StreamDefinition) -> [StreamProblem] {
        var problems: [StreamProblem] = []
        if !Sample.isDeviceName(device) {
            problems.append(.deviceName(stream: stream.name, device))
        }
        if !(speed >= 0.001 && speed <= 1_000_000) {
            problems.append(
                .setting(
                    stream: stream.name,
                    name: "strap speed",
                    value: "\(speed)",
                    allowed: "0.001 to 1000000"
                )
            )
        }
        for column in stream.columns where !signal.columns.contains(column) {
            problems.append(
                .sourceColumn(stream: stream.name, column, available: signal.columns)
            )
        }
        return problems
    }
}

extension StrapDefinition.Signal {
    /// The columns that this signal fills.
    public var columns: [ColumnDefinition] {
        switch self {
        case .heartRate: [ColumnDefinition("bpm", .integer)]
        case .rrInterval:
            [ColumnDefinition("beats", .integer)]
                + (1...SimulatedStrap.beatsPerSecond).map {
                    ColumnDefinition("rr\($0)_ms", .integer)
                }
        case .gravity: ["x", "y", "z"].map { ColumnDefinition($0, .real) }
        }
    }
}

/// One signal of the simulated strap, second by second.
///
/// Its position is the second, since 1970, whose samples come next. Samples that were sent twice
/// carry the same time twice. It never ends.
public struct StrapSource: SampleSource {
    private let definition: StrapDefinition
    private let strap: SimulatedStrap
    /// Where the stream's columns are in the signal's.
    private let places: [Int]
    private let edge: Int64
    /// The second whose samples come next.
    private var arrival: Int64
    /// What is sent again in that second, still to be delivered.
    private var resent: Range<Int64>
    /// Whether that second's own sample is still to be delivered.
    private var isArriving = false
    private var beats: (window: Int64, intervals: [[Int64]])?
    private var link: (window: Int64, gap: StrapLink.Gap?)?

    /// Starts at a second of the device's clock.
    ///
    /// - Parameters:
    ///   - definition: Seed and signal.
    ///   - columns: The stream's columns, each one of the signal's.
    ///   - first: The second to begin with, since 1970.
    ///   - edge: The second that is now; samples before it are due at a negative time.
    public init(
        _ definition: StrapDefinition,
        columns: [ColumnDefinition],
        from first: Int64,
        edge: Int64
    ) {
        self.definition = definition
        strap = SimulatedStrap(seed: definition.seed)
        let available = definition.signal.columns
        places = columns.map { column in
            guard let place = available.firstIndex(of: column) else {
                preconditionFailure("column \(column.name) is not one of the signal's")
            }
            return place
        }
        self.edge = edge
        arrival = first - 1
        resent = first..<first
    }

    public mutating func next() throws -> SourcedSample? {
        while resent.isEmpty && !isArriving { advance() }
        var second = arrival
        if resent.isEmpty {
            isArriving = false
        } else {
            second = resent.lowerBound
            resent = second + 1..<resent.upperBound
        }
        return SourcedSample(
            sample: Sample(
                device: definition.device,
                time: SampleTime(seconds: second),
                values: values(at: second)
            ),
            dueAt: .seconds(Double(arrival - edge) / definition.speed),
            position: isArriving ? arrival : arrival + 1
        )
    }

    private mutating func advance() {
        arrival += 1
        let window = arrival.dividedDown(by: StrapLink.window)
        if link?.window != window {
            link = (window, strap.link.gap(inWindow: window))
        }
        isArriving = true
        guard let gap = link?.gap else { return }
        if gap.seconds.contains(arrival) {
            isArriving = false
        } else if arrival == gap.seconds.upperBound {
            resent = gap.seconds.lowerBound - gap.resent..<gap.seconds.lowerBound
        }
    }

    private mutating func values(at second: Int64) -> [SampleValue] {
        let all: [SampleValue]
        switch definition.signal {
        case .heartRate:
            all = [.integer(Int64(strap.heartRate(at: second).rounded()))]
        case .rrInterval:
            let intervals = intervals(at: second)
            let empty = SimulatedStrap.beatsPerSecond - intervals.count
            all =
                [.integer(Int64(intervals.count))] + intervals.map { .integer($0) }
                + [SampleValue](repeating: .null, count: empty)
        case .gravity:
            let (x, y, z) = strap.gravity(at: second)
            all = [.real(x), .real(y), .real(z)]
        }
        return places.map { all[$0] }
    }

    private mutating func intervals(at second: Int64) -> [Int64] {
        let window = second.dividedDown(by: SimulatedStrap.window)
        let place = Int(second - window * SimulatedStrap.window)
        if let beats, beats.window == window { return beats.intervals[place] }
        let intervals = strap.intervals(inWindow: window)
        beats = (window, intervals)
        return intervals[place]
    }
}
