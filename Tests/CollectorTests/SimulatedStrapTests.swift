import Collector
import TestSupport
import Testing

@Suite("Simulated strap")
struct SimulatedStrapTests {
    private static let day: Int64 = 86_400
    private static let seeds: [UInt64] = [1, 42, 0xD0_2E]

    private static func source(
        _ signal: StrapDefinition.Signal,
        seed: UInt64,
        from second: Int64 = monday.seconds
    ) -> StrapSource {
        StrapSource(
            StrapDefinition(seed: seed, signal: signal),
            columns: signal.columns,
            from: second,
            edge: second
        )
    }

    /// Everything that arrives in a day, in the order it does.
    private static func arrivals(
        _ signal: StrapDefinition.Signal,
        seed: UInt64
    ) throws -> [SourcedSample] {
        var source = source(signal, seed: seed)
        var items: [SourcedSample] = []
        while let item = try source.next(), item.dueAt < .seconds(day) { items.append(item) }
        return items
    }

    @Test("the same seed gives the same samples, another seed others", arguments: seeds)
    func determinism(seed: UInt64) throws {
        for signal in StrapDefinition.Signal.allCases {
            var one = Self.source(signal, seed: seed)
            var same = Self.source(signal, seed: seed)
            var other = Self.source(signal, seed: seed + 1)
            var differs = false
            for _ in 0..<5_000 {
                let item = try one.next()
                #expect(try same.next() == item)
                differs = try other.next()?.sample != item?.sample || differs
            }
            #expect(differs)
        }
    }

    @Test("the speed changes when samples are due, not what they are")
    func speed() throws {
        let columns = StrapDefinition.Signal.gravity.columns
        var slow = Self.source(.gravity, seed: 7)
        var fast = StrapSource(
            StrapDefinition(seed: 7, signal: .gravity, speed: 100),
            columns: columns,
            from: monday.seconds,
            edge: monday.seconds
        )
        for _ in 0..<5_000 {
            let one = try #require(try slow.next())
            let other = try #require(try fast.next())
            #expect(one.sample == other.sample)
            #expect(one.position == other.position)
            #expect(abs(one.dueAt / other.dueAt - 100) < 1e-6 || one.dueAt == .zero)
        }
    }

    @Test("resumed at any position it goes on with the same samples", arguments: seeds)
    func resuming(seed: UInt64) throws {
        let items = try Self.arrivals(.rrInterval, seed: seed)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            let index = Int.random(in: 0..<items.count - 1, using: &random)
            var resumed = Self.source(.rrInterval, seed: seed, from: items[index].position)
            // It may offer again what arrived in the same second, and skips nothing.
            var again = 0
            while let item = try resumed.next(), item.sample != items[index + 1].sample {
                again += 1
                try #require(again <= 20)
            }
        }
    }

    @Test("a day has gaps, and every reconnect sends some samples twice", arguments: seeds)
    func gapsAndDuplicates(seed: UInt64) throws {
        let items = try Self.arrivals(.heartRate, seed: seed)
        let seconds = items.map(\.sample.time.seconds)
        let unique = Set(seconds)
        var gaps: [Int64] = []
        var resent = 0
        var highest = monday.seconds - 1
        for second in seconds {
            if second <= highest {
                resent += 1
                continue
            }
            if second > highest + 1 { gaps.append(second - highest - 1) }
            highest = second
        }
        print(
            """
            strap seed \(seed), one day: \(unique.count) samples, \(gaps.count) gaps of \
            \(gaps.min() ?? 0)...\(gaps.max() ?? 0) s (\(gaps.reduce(0, +)) s), \(resent) sent twice
            """
        )
        #expect((4...22).contains(gaps.count))
        #expect(gaps.allSatisfy { (3...600).contains($0) })
        #expect(Int64(unique.count) + gaps.reduce(0, +) == Self.day)
        #expect(unique.count > 80_000)
        #expect(resent == seconds.count - unique.count)
        #expect((gaps.count...gaps.count * 20).contains(resent))
        // What is sent twice is the same both times, and due times never go back.
        var first: [Int64: [SampleValue]] = [:]
        for item in items {
            let values = first[item.sample.time.seconds] ?? item.sample.values
            #expect(values == item.sample.values)
            first[item.sample.time.seconds] = values
        }
        #expect(zip(items, items.dropFirst()).allSatisfy { $0.dueAt <= $1.dueAt })
    }

    @Test("heart rate is a heart's: low asleep, higher by day, never jumping", arguments: seeds)
    func heartRate(seed: UInt64) {
        let strap = SimulatedStrap(seed: seed)
        let rates = (0..<Self.day).map { strap.heartRate(at: monday.seconds + $0) }
        let night = rates[0..<6 * 3600]
        let afternoon = rates[13 * 3600..<19 * 3600]
        #expect(rates.allSatisfy { (38...195).contains($0) })
        #expect(night.reduce(0, +) / Double(night.count) < 62)
        #expect(afternoon.reduce(0, +) / Double(afternoon.count) > 72)
        #expect((rates.max() ?? 0) > 115)
        #expect(zip(rates, rates.dropFirst()).allSatisfy { abs($0 - $1) < 8 })
    }

    @Test("RR intervals add up to time, and their rate is the heart rate", arguments: seeds)
    func intervals(seed: UInt64) throws {
        let strap = SimulatedStrap(seed: seed)
        let items = try Self.arrivals(.rrInterval, seed: seed)
        var perMinute: [Int64: (sum: Int64, beats: Int64, seconds: Int64)] = [:]
        var seen: Set<Int64> = []
        var most: Int64 = 0
        for item in items where seen.insert(item.sample.time.seconds).inserted {
            guard case .integer(let beats) = item.sample.values[0] else {
                Issue.record("beats are missing")
                continue
            }
            let intervals = item.sample.values.dropFirst().compactMap { value -> Int64? in
                if case .integer(let interval) = value { interval } else { nil }
            }
            #expect(Int64(intervals.count) == beats)
            #expect(intervals.allSatisfy { (280...1700).contains($0) })
            most = max(most, beats)
            var minute = perMinute[item.sample.time.seconds / 60] ?? (0, 0, 0)
            minute.sum += intervals.reduce(0, +)
            minute.beats += beats
            minute.seconds += 1
            perMinute[item.sample.time.seconds / 60] = minute
        }
        #expect((2...4).contains(most))
        for (minute, sums) in perMinute where sums.seconds == 60 {
            // A beat begins and ends in different minutes; one interval on either side.
            #expect(abs(sums.sum - 60_000) < 2_000)
            let rate = 60_000 * Double(sums.beats) / Double(sums.sum)
            let expected = (0..<60).map { strap.heartRate(at: minute * 60 + $0) }.reduce(0, +) / 60
            #expect(abs(rate / expected - 1) < 0.05)
        }
    }

    @Test("gravity has length 1, and turns", arguments: seeds)
    func gravity(seed: UInt64) {
        let strap = SimulatedStrap(seed: seed)
        var previous = strap.gravity(at: monday.seconds)
        var turns = 0
        for second in 0..<Self.day {
            let vector = strap.gravity(at: monday.seconds + second)
            let square = vector.x * vector.x + vector.y * vector.y + vector.z * vector.z
            #expect(abs(square - 1) < 4e-4)
            if second % 60 == 0 {
                let cosine = previous.x * vector.x + previous.y * vector.y + previous.z * vector.z
                if cosine < 0.7 { turns += 1 }
                previous = vector
            }
        }
        #expect((20...400).contains(turns))
    }
}
