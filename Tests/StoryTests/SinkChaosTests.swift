import Chaos
import Foundation
import SQLiteBridge
import TestSupport
import Testing

/// Kills and a bad network at random, between a device and its sink.
@Suite("Chaos between a device and its sink", .enabled(if: Peers.areInstalled, Peers.missing))
struct SinkChaosTests {
    private static let isFull = ProcessInfo.processInfo.environment["DORMOUSE_FULL"] != nil

    @Test("no row is lost, no snapshot forced, and the mirror is the source", arguments: [1, 2])
    func chaos(seed: UInt64) async throws {
        var chance = SeededGenerator(seed: seed)
        let cycles = Self.isFull ? 250 : 30
        try await withTemporaryDirectory { directory in
            let data = directory.appending(path: "sink")
            let device = try Device(directory.appending(path: "device"))
            var sink = try await SinkProcess(data: data)
            let proxy = try FaultProxy(upstream: sink.port)
            defer { proxy.stop() }
            let url = "http://127.0.0.1:\(proxy.port)/db/health"
            try device.write(rows: 200)
            #expect(try await device.push(to: url).outcome == "pushed")

            var tally = Tally()
            for cycle in 0..<cycles {
                let comment = Comment("seed \(seed), cycle \(cycle)")
                try device.write(
                    rows: Int.random(in: 1...20, using: &chance),
                    bytes: chance.next() % 4 == 0 ? 30_000 : 300
                )
                let fault = Self.fault(&chance)
                let request = Int.random(in: 0...3, using: &chance)
                let first = proxy.requests.count
                // One request of the push meets the fault.
                proxy.decide { $0.number == first + request ? fault : .none }
                switch chance.next() % 6 {
                case 0:
                    // The device is killed somewhere in its push.
                    let step = Int.random(in: 1...40, using: &chance)
                    _ = try await runProcess(
                        Dormouse.binary,
                        ["push", device.database, "--to", url],
                        environment: ["DORMOUSE_FAULT": "\(step):kill"]
                    )
                    tally.deviceKills += 1
                case 1:
                    // The sink is killed at any time of the push.
                    let victim = sink
                    let delay = Duration.microseconds(Int.random(in: 0...60_000, using: &chance))
                    async let push = device.push(to: url)
                    try await Task.sleep(for: delay)
                    victim.child.send(SIGKILL)
                    tally.count(try await push, comment)
                    _ = try await victim.child.end()
                    sink = try await SinkProcess(data: data)
                    proxy.lead(to: sink.port)
                    tally.sinkKills += 1
                default:
                    tally.count(try await device.push(to: url), comment)
                }
            }
            proxy.decide { _ in .none }
            let last = try await device.push(to: url)
            #expect(["pushed", "in-sync"].contains(last.outcome), "\(last.fields)")
            #expect(last.streak == 0)
            try await sink.applied(last.txid)
            try await expectEqual(device, sink)
            print("seed \(seed): \(cycles) cycles, \(tally)")
            #expect(try await sink.stop() == 0)
        }
    }

    /// What happened on the way.
    private struct Tally: CustomStringConvertible {
        var outcomes: [String: Int] = [:]
        var deviceKills = 0
        var sinkKills = 0
        var ingests = 0

        mutating func count(_ push: Push, _ comment: Comment) {
            outcomes[push.reason ?? push.outcome, default: 0] += 1
            if push.ingest != nil { ingests += 1 }
            #expect(push.kind != "snapshot", comment)
            // A network is no reason for a person to do anything.
            #expect(push.outcome != "unavailable", "\(comment): \(push.fields)")
        }

        var description: String {
            let outcomes = outcomes.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            return "\(outcomes.joined(separator: ", ")); killed: device \(deviceKills), "
                + "sink \(sinkKills); ingests \(ingests)"
        }
    }

    private static func fault(_ chance: inout SeededGenerator) -> ProxyFault {
        let bytes = Int64.random(in: 0...40_000, using: &chance)
        switch chance.next() % 9 {
        case 0: return .answer(status: 408, afterBytes: bytes)
        case 1: return .answer(status: 429, afterBytes: 0, retryAfter: 1)
        case 2: return .answer(status: 500, afterBytes: bytes)
        case 3: return .answer(status: 503, afterBytes: 0)
        case 4: return .resetUpload(afterBytes: bytes)
        case 5: return .resetDownload(afterBytes: bytes % 300 + 1)
        case 6: return .duplicate
        case 7: return .refuse
        default: return .none
        }
    }
}
