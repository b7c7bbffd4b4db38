import Foundation
import SQLiteBridge
import TestSupport
import Testing

@Suite("Stories: the mirror", .enabled(if: Peers.areInstalled, Peers.missing))
struct MirrorStories {
    @Test("freshness does not lie: after an ingest it follows the deltas")
    func freshness() async throws {
        try await withTemporaryDirectory { directory in
            try await withSink(
                data: directory.appending(path: "sink"),
                ["--freshness-query", "SELECT max(at) FROM sample"]
            ) { sink in
                let device = try Device(directory.appending(path: "device"))
                try device.write(rows: 100)
                #expect(try await device.push(to: sink.url()).outcome == "pushed")
                let plain = directory.appending(path: "plain.db").path
                let connection = try Connection(path: device.database)
                try connection.execute("VACUUM INTO '\(plain)'")
                try connection.close()
                _ = try await curl(["--data-binary", "@\(plain)", "\(sink.url())/ingest"])
                try await eventually("the ingest in freshness") {
                    try await sink.freshness()["applied_by"] as? String == "ingest"
                }
                for round in 1...10 {
                    try device.write(rows: 10)
                    let push = try await device.push(to: sink.url())
                    #expect(push.outcome == "pushed")
                    try await sink.applied(push.txid)
                    let fresh = try await sink.freshness()
                    #expect(fresh["applied_by"] as? String == "replication", "round \(round)")
                    #expect(fresh["bucket_txid"] as? String == push.txid)
                    let newest = try Connection(path: device.database)
                        .value("SELECT max(at) FROM sample")?.integer
                    #expect((fresh["newest_sample"] as? NSNumber)?.int64Value == newest)
                }
            }
        }
    }

    @Test("the reader who never leaves: pushes are taken, the mirror waits and says for whom")
    func theReaderWhoNeverLeaves() async throws {
        let isFull = ProcessInfo.processInfo.environment["DORMOUSE_FULL"] != nil
        try await withTemporaryDirectory { directory in
            try await withSink(data: directory.appending(path: "sink")) { sink in
                let device = try Device(directory.appending(path: "device"))
                try device.write(rows: 100)
                let first = try await device.push(to: sink.url())
                try await sink.applied(first.txid)

                let reader = try Reader(sink.mirror())
                #expect(try reader.ask("BEGIN; SELECT count(*) FROM sample;") == "100")
                let end = ContinuousClock.now + .seconds(isFull ? 60 : 4)
                var last = first
                while ContinuousClock.now < end {
                    try device.write(rows: 1)
                    last = try await device.push(to: sink.url())
                    #expect(last.outcome == "pushed")
                }
                let fresh = try await sink.freshness()
                #expect(fresh["applied_txid"] as? String == first.txid)
                #expect((fresh["lock_holder"] as? NSNumber)?.int32Value == reader.processID)

                #expect(try reader.ask("SELECT count(*) FROM sample; COMMIT;") == "100")
                let released = ContinuousClock.now
                try await sink.applied(last.txid)
                print("the mirror caught up \(ContinuousClock.now - released) after the reader")
                let source = try device.rows()
                #expect(try reader.ask("SELECT count(*) FROM sample;") == "\(source)")
                reader.close()
                try await expectEqual(device, sink)
            }
        }
    }

    @Test("killed mid-apply, at every step: the mirror is one of two states, and goes on by itself")
    func killedMidApply() async throws {
        try await withTemporaryDirectory { directory in
            let data = directory.appending(path: "sink")
            let device = try Device(directory.appending(path: "device"))
            try device.write(rows: 200, bytes: 2000)
            try await withSink(data: data) { sink in
                try await sink.applied(try await device.push(to: sink.url()).txid)
            }
            let manager = FileManager.default
            let before = directory.appending(path: "before")
            try manager.copyItem(at: data, to: before)
            let deviceBefore = directory.appending(path: "device-before")
            try manager.copyItem(at: device.directory, to: deviceBefore)
            let old = try await dump(device.database)

            var step = 1
            var kills = 0
            while true {
                try manager.removeItem(at: data)
                try manager.copyItem(at: before, to: data)
                try manager.removeItem(at: device.directory)
                try manager.copyItem(at: deviceBefore, to: device.directory)
                try device.write(rows: 20, bytes: 2000)
                let new = try await dump(device.database)
                let sink: SinkProcess
                do {
                    sink = try await SinkProcess(data: data, fault: "\(step):kill")
                } catch {
                    // Killed before it listened; it changed something all the same.
                    step += 1
                    kills += 1
                    continue
                }
                let push = try await device.push(to: sink.url())
                if push.outcome == "pushed" {
                    try? await sink.applied(push.txid)
                }
                let survived = !sink.child.hasEnded
                try await sink.child.kill()
                if survived, push.outcome == "pushed" { break }
                kills += 1

                // Stock SQLite first, as a reader who happens to come by.
                let check = try await runProcess(
                    URL(filePath: "/usr/bin/sqlite3"),
                    [sink.mirror(), "PRAGMA integrity_check"]
                )
                #expect(check.stdout == "ok\n", "step \(step): \(check.stdout)\(check.stderr)")
                let found = try await dump(sink.mirror())
                #expect(found == old || found == new, "step \(step): neither state")
                try await withSink(data: data) { sink in
                    let push = try await device.push(to: sink.url())
                    #expect(push.outcome == "pushed" || push.outcome == "in-sync", "step \(step)")
                    #expect(push.kind != "snapshot", "step \(step)")
                    try await sink.applied(push.txid)
                    #expect(try await dump(sink.mirror()) == new, "step \(step)")
                }
                step += 1
            }
            print("\(kills) kills of the sink, one at each step of a push and an apply")
            #expect(kills >= 15)
        }
    }
}
