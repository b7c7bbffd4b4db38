import Chaos
import Foundation
import SQLiteBridge
import TestSupport
import Testing

/// What the seed of this project met in production, each with the right end.
@Suite("Stories: the upload", .enabled(if: Peers.areInstalled, Peers.missing))
struct UploadStories {
    /// Bytes of body that the gateway lets through before it answers 408.
    static let patience: Int64 = 6 << 20

    @Test("the loop: a gateway that gives 408 costs pushes, but nothing is sent twice")
    func theLoop() async throws {
        try await withTemporaryDirectory { directory in
            try await withSink(data: directory.appending(path: "sink")) { sink in
                let device = try Device(directory.appending(path: "device"))
                try device.write(rows: 4000, bytes: 4000)
                let proxy = try FaultProxy(upstream: sink.port) { _ in
                    .answer(status: 408, afterBytes: Self.patience)
                }
                defer { proxy.stop() }
                let url = "http://127.0.0.1:\(proxy.port)/db/health"

                let pushes = [
                    try await device.push(to: url), try await device.push(to: url),
                    try await device.push(to: url),
                ]
                #expect(pushes.map(\.outcome) == ["retryable", "retryable", "pushed"])
                #expect(pushes.map(\.streak) == [1, 2, 0])
                #expect(pushes.map(\.reason).prefix(2) == ["timeout", "timeout"])
                #expect(pushes.allSatisfy { $0.ingest == nil })

                let size = Int64(pushes[2].bytes)
                let sent = proxy.requests.reduce(0) { $0 + $1.bodyBytes }
                print("a file of \(size) bytes took \(sent) bytes in three pushes")
                #expect(size > 2 * Self.patience)
                // What was on its way when the gateway gave up may be lost: socket buffers hold
                // megabytes. Were both tries sent again from zero, it would be all of twice the
                // gateway's patience.
                #expect(sent < size + Self.patience * 3 / 2)
                #expect(!proxy.requests.contains { $0.target.contains("/ingest") })
                try await sink.applied(pushes[2].txid)
                try await expectEqual(device, sink)
            }
        }
    }

    @Test("without resumption: streak 1, 2, 3, one ingest, and then a delta again")
    func theFallback() async throws {
        try await withTemporaryDirectory { directory in
            try await withSink(data: directory.appending(path: "sink"), ["--no-resume"]) { sink in
                let device = try Device(directory.appending(path: "device"))
                try device.write(rows: 2000, bytes: 4000)
                // Only the delta's way is cut: an image is not what the gateway waits for.
                let proxy = try FaultProxy(upstream: sink.port) { request in
                    request.target.contains("/ingest")
                        ? .none : .answer(status: 408, afterBytes: 1 << 20)
                }
                defer { proxy.stop() }
                let url = "http://127.0.0.1:\(proxy.port)/db/health"
                let pushes = [
                    try await device.push(to: url), try await device.push(to: url),
                    try await device.push(to: url),
                ]
                #expect(pushes.map(\.outcome) == ["retryable", "retryable", "retryable"])
                #expect(pushes.map(\.streak) == [1, 2, 3])
                #expect(pushes[0].ingest == nil && pushes[1].ingest == nil)
                let ingest = try #require(pushes[2].ingest)
                #expect(ingest["failure"] is NSNull || ingest["failure"] == nil)
                let opened = proxy.requests.filter {
                    $0.target.hasSuffix("/ingest") && $0.method == "POST" && $0.bodyBytes > 0
                }
                #expect(opened.count == 1)

                try device.write(rows: 3)
                let next = try await device.push(to: url)
                #expect(next.outcome == "pushed")
                #expect(next.streak == 0)
                #expect(next.kind == "wal")
                let database = try FileManager.default.attributesOfItem(atPath: device.database)
                let size = try #require(database[.size] as? Int)
                #expect(next.bytes < size / 100)
                try await sink.applied(next.txid)
                try await expectEqual(device, sink)
            }
        }
    }

    @Test("in sync is healthy: nothing to ship is no failure, and at TXID 0 it proves nothing")
    func inSyncIsHealthy() async throws {
        try await withTemporaryDirectory { directory in
            try await withSink(data: directory.appending(path: "sink")) { sink in
                let device = try Device(directory.appending(path: "device"))
                let proxy = try FaultProxy(upstream: sink.port)
                defer { proxy.stop() }
                let url = "http://127.0.0.1:\(proxy.port)/db/health"
                try device.write(rows: 10)
                #expect(try await device.push(to: url).outcome == "pushed")

                let before = proxy.requests.count
                let again = try await device.push(to: url)
                #expect(again.outcome == "in-sync")
                #expect(again.reason == "verified")
                #expect(again.streak == 0)
                #expect(again.files == 0)
                // One small request, and no body.
                #expect(proxy.requests.count == before + 1)
                #expect(proxy.requests.last?.bodyBytes == 0)

                try device.write(rows: 1)
                #expect(try await device.push(to: url).outcome == "pushed")
            }
        }
    }

    @Test("a lineage reset costs one full push, then a small one, then a tiny one")
    func threeNumbers() async throws {
        try await withTemporaryDirectory { directory in
            let data = directory.appending(path: "sink")
            try await withSink(data: data) { sink in
                let device = try Device(directory.appending(path: "device"))
                try device.write(rows: 5000, bytes: 1000)
                let url = sink.url()
                #expect(try await device.push(to: url).outcome == "pushed")
                _ = try await curl(["-X", "DELETE", "\(url)/all"])

                var bytes: [Int] = []
                for rows in [0, 200, 1] {
                    if rows > 0 { try device.write(rows: rows) }
                    let push = try await device.push(to: url)
                    #expect(push.outcome == "pushed")
                    bytes.append(push.bytes)
                }
                print("after a lineage reset: \(bytes.map(String.init).joined(separator: " → "))")
                #expect(bytes[1] < bytes[0] / 20)
                #expect(bytes[2] < bytes[1])
            }
        }
    }

    private static let isFull = ProcessInfo.processInfo.environment["DORMOUSE_FULL"] != nil

    @Test(
        "the same of a year of health data, 766 MB: the device's whole, 20 flushes, one row",
        .enabled(if: isFull, "takes 3 GB of disk and minutes: set DORMOUSE_FULL")
    )
    func threeNumbersOfAYear() async throws {
        try await withTemporaryDirectory { directory in
            try await withSink(data: directory.appending(path: "sink")) { sink in
                let database = directory.appending(path: "health.db").path
                let health = HealthDatabase(path: database)
                try await health.build()
                let device = Device(directory, database: database)
                let url = sink.url()
                #expect(try await device.push(to: url).outcome == "pushed")
                _ = try await curl(["-X", "DELETE", "\(url)/all"])

                var bytes = [try await device.push(to: url).bytes]
                try await health.write(flushes: 20)
                bytes.append(try await device.push(to: url).bytes)
                let connection = try Connection(path: database)
                try connection.execute(
                    "UPDATE daily_summary SET newest = newest + 1 "
                        + "WHERE newest = (SELECT max(newest) FROM daily_summary)"
                )
                try connection.close()
                let last = try await device.push(to: url)
                bytes.append(last.bytes)
                let size = try FileManager.default.attributesOfItem(atPath: database)[.size] ?? 0
                print(
                    "after a lineage reset of \(size) bytes: "
                        + bytes.map(String.init).joined(separator: " → ")
                )
                #expect(bytes[0] > 400_000_000)
                #expect(bytes[1] < bytes[0] / 1000)
                #expect(bytes[2] < bytes[1] / 10)
                try await sink.applied(last.txid)
                let question = "SELECT max(newest), count(*) FROM daily_summary"
                let sqlite3 = URL(filePath: "/usr/bin/sqlite3")
                let source = try await runProcess(sqlite3, ["-readonly", database, question])
                let mirror = try await runProcess(sqlite3, ["-readonly", sink.mirror(), question])
                #expect(mirror.stdout == source.stdout)
                #expect(source.stdout.contains("|"))
            }
        }
    }
}

/// The database of the benchmark, the same bytes every time.
private struct HealthDatabase {
    let path: String
    private let script = Shared.project.appending(path: "scripts/bench.d/health.py").path

    func build() async throws {
        let outcome = try await runProcess(
            Peers.python,
            [script, "build", path],
            timeout: .seconds(900)
        )
        try #require(outcome.status == 0, "\(outcome.stderr)")
    }

    func write(flushes: Int) async throws {
        let outcome = try await runProcess(
            Peers.python,
            [script, "write", path],
            stdin: Data("step \(flushes)\n".utf8)
        )
        try #require(outcome.status == 0, "\(outcome.stderr)")
    }
}
