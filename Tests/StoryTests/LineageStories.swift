import Chaos
import Foundation
import SQLiteBridge
import TestSupport
import Testing

@Suite("Stories: lineages", .enabled(if: Peers.areInstalled, Peers.missing))
struct LineageStories {
    @Test("two writers of one disk image: one wins each race, and no chain is spliced")
    func twoWriters() async throws {
        try await withTemporaryDirectory { directory in
            try await withSink(data: directory.appending(path: "sink")) { sink in
                let first = try Device(directory.appending(path: "first"))
                try first.write(rows: 50)
                #expect(try await first.push(to: sink.url()).outcome == "pushed")
                let second = try Device(copying: first, to: directory.appending(path: "second"))

                var conflicts = 0
                for round in 0..<50 {
                    try first.write(rows: 1)
                    try second.write(rows: 1)
                    // The second stops at what it did not write, so that a lost race shows.
                    async let one = first.push(to: sink.url())
                    async let other = second.push(to: sink.url(), ["--on-conflict", "stop"])
                    let pushes = try await [one, other]
                    for push in pushes {
                        #expect(
                            ["pushed", "retryable", "unavailable"].contains(push.outcome),
                            "round \(round): \(push.fields)"
                        )
                        if push.outcome != "pushed" {
                            conflicts += 1
                            #expect(push.reason == "lineage-conflict", "\(push.fields)")
                        }
                    }
                    let winner = try #require(pushes.first { $0.outcome == "pushed" })
                    try await sink.applied(winner.txid)
                }
                #expect(conflicts >= 49)

                // Whoever is let go on has all its rows in the bucket.
                let last = try await first.push(to: sink.url())
                #expect(["pushed", "in-sync"].contains(last.outcome))
                try await sink.applied(last.txid)
                try await expectEqual(first, sink)
            }
        }
    }

    /// What became of a sink, and what a device may spend on it.
    enum Loss: String, CaseIterable {
        /// Set back by the newest file, which the device still has.
        case rolledBackByOne
        case rolledBackFar
        case wiped
        case anotherDevice
    }

    @Test("the sink forgets: found before the next append, and healed", arguments: Loss.allCases)
    func theSinkForgets(loss: Loss) async throws {
        try await withTemporaryDirectory { directory in
            let data = directory.appending(path: "sink")
            let old = directory.appending(path: "old")
            let device = try Device(directory.appending(path: "device"))
            let manager = FileManager.default
            // One address for the sink, whatever becomes of it.
            let proxy = try FaultProxy(upstream: 0)
            defer { proxy.stop() }
            let url = "http://127.0.0.1:\(proxy.port)/db/health"
            try device.write(rows: 3000, bytes: 1000)
            let full = try await withSink(data: data) { sink in
                proxy.lead(to: sink.port)
                let push = try await device.push(to: url)
                try await sink.applied(push.txid)
                return push
            }
            if loss == .rolledBackFar { try manager.copyItem(at: data, to: old) }
            try await withSink(data: data) { sink in
                proxy.lead(to: sink.port)
                for _ in 0..<5 {
                    try device.write(rows: 5)
                    let push = try await device.push(to: url)
                    #expect(push.outcome == "pushed")
                    try await sink.applied(push.txid)
                }
            }
            if loss == .rolledBackByOne { try manager.copyItem(at: data, to: old) }
            try await withSink(data: data) { sink in
                proxy.lead(to: sink.port)
                try device.write(rows: 5)
                try await sink.applied(try await device.push(to: url).txid)
            }

            try manager.removeItem(at: data)
            switch loss {
            case .rolledBackByOne, .rolledBackFar: try manager.copyItem(at: old, to: data)
            case .wiped: break
            case .anotherDevice:
                let other = try Device(directory.appending(path: "other"))
                try other.write(rows: 3000, bytes: 1000)
                try await withSink(data: data) { sink in
                    proxy.lead(to: sink.port)
                    try await sink.applied(try await other.push(to: sink.url()).txid)
                }
            }
            try await withSink(data: data) { sink in
                proxy.lead(to: sink.port)
                try device.write(rows: 1)
                let push = try await device.push(to: url)
                print(
                    "\(loss): \(push.bytes) bytes, finding \(push.finding ?? "none"), \(push.kind)"
                )
                #expect(push.outcome == "pushed", "\(push.fields)")
                switch loss {
                case .rolledBackByOne:
                    #expect(push.finding == "behind")
                    #expect(push.kind == "wal")
                    #expect(push.files == 2)
                    #expect(push.bytes < full.bytes / 20)
                case .rolledBackFar:
                    #expect(push.finding == "behind")
                    #expect(push.kind == "rescan")
                    #expect(push.bytes < full.bytes / 20)
                case .wiped:
                    #expect(push.finding == "wiped")
                    #expect(push.kind == "snapshot")
                case .anotherDevice:
                    #expect(push.finding == "replaced")
                    #expect(push.kind == "rescan")
                }
                try await sink.applied(push.txid)
                try await expectEqual(device, sink)
            }
        }
    }

    @Test("someone posts a file: a new lineage, one rebase, and then deltas")
    func someonePostsAFile() async throws {
        try await withTemporaryDirectory { directory in
            try await withSink(data: directory.appending(path: "sink")) { sink in
                let device = try Device(directory.appending(path: "device"))
                try device.write(rows: 2000, bytes: 1000)
                let first = try await device.push(to: sink.url())
                #expect(first.outcome == "pushed")

                let other = try Device(directory.appending(path: "other"))
                try other.write(rows: 10)
                let plain = directory.appending(path: "plain.db").path
                let connection = try Connection(path: other.database)
                try connection.execute("VACUUM INTO '\(plain)'")
                try connection.close()
                let posted = try await curl([
                    "--data-binary", "@\(plain)", "-w", "%{http_code}", "\(sink.url())/ingest",
                ])
                #expect(posted.stdout.hasSuffix("200"), "\(posted.stdout)")
                try await eventually("the posted file in the mirror") {
                    (try? Device.rows(in: sink.mirror())) == 10
                }

                let rebase = try await device.push(to: sink.url())
                #expect(rebase.outcome == "pushed", "\(rebase.fields)")
                #expect(rebase.finding == "replaced")
                for _ in 0..<3 {
                    try device.write(rows: 1)
                    let push = try await device.push(to: sink.url())
                    #expect(push.outcome == "pushed")
                    #expect(push.kind == "wal")
                    #expect(push.bytes < first.bytes / 20)
                    try await sink.applied(push.txid)
                }
                try await expectEqual(device, sink)
            }
        }
    }
}
