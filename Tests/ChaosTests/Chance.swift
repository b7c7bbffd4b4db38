import Foundation
import TestSupport

/// The seeded choices of one chaos test.
///
/// All choices come from the seed: the order of events, and the moment of each as "after the k-th
/// line of a kind, so many microseconds later". The schedule replays exactly; what the program is
/// doing at such a moment is up to the machine, so a failure that needs one interleaving may take
/// several runs with its seed. Replay with `DORMOUSE_SEED=N`.
struct Chance {
    let seed: UInt64
    private var generator: SeededGenerator

    /// Takes the seed from `DORMOUSE_SEED`, else a fixed one; prints it.
    ///
    /// - Parameters:
    ///   - name: Of the test, for the printed line.
    ///   - fallback: The seed of the default run; the long run draws a fresh one.
    init(_ name: String, seed fallback: UInt64) {
        let given = ProcessInfo.processInfo.environment["DORMOUSE_SEED"].flatMap { UInt64($0) }
        seed = given ?? (Self.isFull ? UInt64.random(in: 1...UInt64(UInt32.max)) : fallback)
        generator = SeededGenerator(seed: seed)
        print("\(name): seed \(seed)")
    }

    /// Whether the long variants were asked for.
    static let isFull = ProcessInfo.processInfo.environment["DORMOUSE_FULL"] == "1"

    mutating func number(in range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &generator)
    }

    mutating func element<T>(of choices: [T]) -> T {
        choices[number(in: 0...choices.count - 1)]
    }

    mutating func happens(oneIn count: Int) -> Bool {
        number(in: 1...count) == 1
    }

    /// A moment behind an event: half of them within the push that it sets off, half anywhere in
    /// the interval.
    mutating func moment() -> Duration {
        happens(oneIn: 2)
            ? .microseconds(number(in: 0...8_000)) : .microseconds(number(in: 0...150_000))
    }
}

/// Lets a random moment come: a deadline, not a wait for something that could be awaited.
func pass(_ moment: Duration) async throws {
    try await Task.sleep(for: moment)
}
