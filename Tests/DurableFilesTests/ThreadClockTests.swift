import DurableFiles
import Testing

@Suite("A clock whose sleepers wait on one thread", .timeLimit(.minutes(1)))
struct ThreadClockTests {
    @Test("sleepers wake in the order of their deadlines, none before its time")
    func order() async throws {
        let clock = ThreadClock()
        let start = clock.now
        let woken = try await withThrowingTaskGroup(of: (Int, ThreadClock.Instant).self) { group in
            for milliseconds in [90, 30, 60, 0] {
                group.addTask {
                    try await clock.sleep(until: start + .milliseconds(milliseconds))
                    return (milliseconds, clock.now)
                }
            }
            var woken: [(Int, ThreadClock.Instant)] = []
            for try await one in group { woken.append(one) }
            return woken
        }
        for (milliseconds, instant) in woken {
            #expect(instant >= start + .milliseconds(milliseconds))
        }
        #expect(Set(woken.map(\.0)) == [0, 30, 60, 90])
    }

    @Test("a cancelled sleeper wakes at once, whether it sleeps already or not", arguments: 0..<50)
    func cancelled(round: Int) async throws {
        let clock = ThreadClock()
        let task = Task { try await clock.sleep(for: .seconds(3_600)) }
        // Sometimes before it lies down, sometimes after.
        if round % 2 == 0 { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
