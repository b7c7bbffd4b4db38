import Chaos
import Foundation
import Handover
import LTXCodec
import SQLiteBridge
import TestSupport
import Testing

/// What waits goes on its way while the one who made it sleeps, or is dead.
@Suite(
    "Stories: the transfer service",
    .enabled(if: Peers.areInstalled, Peers.missing),
    .timeLimit(.minutes(3))
)
struct TransferStories {
    @Test("handed over, uploaded by another process, and acknowledged when the bucket confirms")
    func handsOver() async throws {
        try await withTemporaryDirectory { directory in
            try await withSink(data: directory.appending(path: "sink")) { sink in
                let scene = try TransferScene(directory.appending(path: "d"), url: sink.url())
                try scene.device.write(rows: 100)
                let first = try await scene.handOver()
                #expect(first.outcome == "in-sync")
                #expect(first.reason == "unverified")
                #expect(first.files == 0)
                #expect(first.fields["spooled_files"] as? Int == 1)
                #expect(first.fields["backlog_files"] as? Int == 1)
                try scene.device.write(rows: 3)
                let second = try await scene.handOver()
                #expect(second.fields["spooled_files"] as? Int == 1)
                #expect(second.fields["remote_txid"] as? String == "0000000000000000")

                let run = try await scene.transfer()
                #expect(run.status == 0)
                let uploads = run.records.filter { $0.kind == "upload" }
                #expect(uploads.map { $0["outcome"] } == ["pushed", "pushed"])
                #expect(uploads.map { $0["txid"] } == [first.txid, second.txid])
                #expect(try scene.names("ready").isEmpty)
                #expect(try scene.names("receipts").count == 2)

                // With nothing new: the receipts are read and compared, then nothing is left.
                let third = try await scene.handOver()
                #expect(third.fields["remote_txid"] as? String == second.txid)
                #expect(third.fields["backlog_files"] as? Int == 0)
                #expect(third.fields["notes"] as? [String] == [])
                try scene.expectEmptySpool()
                try await sink.applied(second.txid)
                try await expectEqual(scene.device, sink)
            }
        }
    }

    @Test("a directory is a destination like any other")
    func directoryBucket() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = directory.appending(path: "bucket").path
            let scene = try TransferScene(directory.appending(path: "d"), url: bucket)
            for rows in [100, 3, 5] {
                try scene.device.write(rows: rows)
                #expect(try await scene.handOver().fields["spooled_files"] as? Int == 1)
            }
            #expect(try await scene.transfer().status == 0)
            let push = try await scene.device.push(to: bucket, ["--spool", scene.spool])
            #expect(push.fields["remote_txid"] as? String == push.txid)
            try scene.expectEmptySpool()
            try await scene.expectRestorable(bucket)
        }
    }

    @Test("somebody else appended: one conflict, and the next push looks before it goes on")
    func conflict() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = directory.appending(path: "bucket").path
            let scene = try TransferScene(directory.appending(path: "d"), url: bucket)
            try scene.device.write(rows: 100)
            #expect(try await scene.device.push(to: bucket).outcome == "pushed")
            let twin = try Device(copying: scene.device, to: directory.appending(path: "twin"))
            try scene.device.write(rows: 3)
            #expect(try await scene.handOver().fields["spooled_files"] as? Int == 1)
            try twin.write(rows: 7)
            #expect(try await twin.push(to: bucket).outcome == "pushed")

            let run = try await scene.transfer()
            #expect(run.status == 3)
            let uploads = run.records.filter { $0.kind == "upload" }
            #expect(uploads.map { $0["reason"] } == ["lineage-conflict"])
            #expect(try scene.names("ready").isEmpty)
            #expect(try scene.names("waiting").count == 1)

            // It looks, compares, and hands over what differs.
            let push = try await scene.handOver()
            #expect(push.finding == "ahead")
            #expect(push.kind == "rescan")
            #expect(try await scene.transfer().status == 0)
            let last = try await scene.handOver()
            #expect(last.fields["remote_txid"] as? String == push.txid)
            try scene.expectEmptySpool()
            try await scene.expectRestorable(bucket)
        }
    }

    @Test("refused for its token it waits, out of sight, and goes when the token is right")
    func unauthorized() async throws {
        try await withTemporaryDirectory { directory in
            let token = directory.appending(path: "token").path
            try Data("\(String(repeating: "k", count: 40))\n".utf8).write(to: URL(filePath: token))
            try await withSink(
                data: directory.appending(path: "sink"),
                ["--token-file", token]
            ) { sink in
                let scene = try TransferScene(directory.appending(path: "d"), url: sink.url())
                try scene.device.write(rows: 10)
                // The first is asked about before anything is handed over.
                let more = ["--spool", scene.spool, "--token-file", token]
                #expect(try await scene.device.push(to: scene.url, more).outcome == "in-sync")
                let refused = try await scene.transfer()
                #expect(refused.status == 3)
                let record = refused.records.first { $0.kind == "upload" }
                #expect(record?["outcome"] == "unavailable")
                #expect(record?["reason"] == "unauthorized")
                #expect(try scene.names("ready").isEmpty)
                #expect(try scene.names("waiting").count == 1)
                #expect(try await scene.transfer(["--token-file", token]).status == 0)
                let push = try await scene.device.push(to: scene.url, more)
                #expect(push.fields["remote_txid"] as? String == push.txid)
                try scene.expectEmptySpool()
            }
        }
    }

    @Test("killed in the middle of an upload, the next one goes on where it stopped")
    func killedMidUpload() async throws {
        try await withTemporaryDirectory { directory in
            try await withSink(data: directory.appending(path: "sink")) { sink in
                let scene = try TransferScene(directory.appending(path: "d"), url: sink.url())
                try scene.device.write(rows: 3000, bytes: 4000)
                let proxy = try FaultProxy(upstream: sink.port) { _ in
                    .stall(afterBytes: 4 << 20)
                }
                defer { proxy.stop() }
                let url = "http://127.0.0.1:\(proxy.port)/db/health"
                let size = try #require(
                    try await scene.device.push(to: url, ["--spool", scene.spool])
                        .fields["spooled_bytes"] as? Int
                )
                #expect(size > 8 << 20)
                try await withChild(try scene.startTransfer(to: url)) { child in
                    try await eventually("half of it sent") { proxy.bodyBytes >= 4 << 20 }
                    try await child.kill()
                }
                proxy.decide { _ in .none }
                let run = try await scene.transfer(to: url)
                #expect(run.status == 0)
                print("a file of \(size) bytes took \(proxy.bodyBytes) bytes in two runs")
                #expect(proxy.bodyBytes < Int64(size + size / 4))
                let push = try await scene.device.push(to: url, ["--spool", scene.spool])
                #expect(push.fields["remote_txid"] as? String == push.txid)
                try scene.expectEmptySpool()
                try await sink.applied(push.txid)
                try await expectEqual(scene.device, sink)
            }
        }
    }

    @Test("a budget ends it in time, and several of them finish an upload")
    func budget() async throws {
        try await withTemporaryDirectory { directory in
            try await withSink(data: directory.appending(path: "sink")) { sink in
                let scene = try TransferScene(directory.appending(path: "d"), url: sink.url())
                try scene.device.write(rows: 3000, bytes: 4000)
                let proxy = try FaultProxy(upstream: sink.port) { _ in
                    .stall(afterBytes: 5 << 20)
                }
                defer { proxy.stop() }
                let url = "http://127.0.0.1:\(proxy.port)/db/health"
                let push = try await scene.device.push(to: url, ["--spool", scene.spool])
                let size = try #require(push.fields["spooled_bytes"] as? Int)
                var statuses: [Int32] = []
                while statuses.last != 0, statuses.count < 10 {
                    statuses.append(try await scene.transfer(to: url, ["--budget", "2s"]).status)
                }
                #expect(statuses.count > 2)
                #expect(statuses.dropLast().allSatisfy { $0 == 75 })
                #expect(statuses.last == 0)
                #expect(proxy.bodyBytes < Int64(size + size / 4))
                try await sink.applied(push.txid)
                try await expectEqual(scene.device, sink)
            }
        }
    }

    @Test("SIGTERM ends it at once, whatever it waits for", arguments: [true, false])
    func terminated(waitsForLock: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let scene = try TransferScene(
                directory.appending(path: "d"),
                url: "http://127.0.0.1:9/db/health"
            )
            let spool = Spool(scene.spool)
            try spool.make()
            // A manifest for a server that is not there.
            try scene.device.write(rows: 3)
            let bucket = directory.appending(path: "bucket").path
            _ = try await scene.device.push(to: bucket, ["--spool", scene.spool])
            let name = try #require(try scene.names("ready").first)
            let path = "\(spool.readyPath)/\(name)"
            var manifest = try Manifest(parsing: Array(Data(contentsOf: URL(filePath: path))))
            manifest.destination = scene.url
            try Data(manifest.text.utf8).write(to: URL(filePath: path))

            let lock = waitsForLock ? try DestinationLock.wait(spool.lockPath(scene.url)) : nil
            try await withChild(try scene.startTransfer()) { child in
                try await child.wait {
                    waitsForLock ? $0.kind == "waiting" : $0["reason"] == "network"
                }
                child.send(SIGTERM)
                #expect(try await child.end() == 75)
                #expect(child.records.last?.kind == "stop")
            }
            withExtendedLifetime(lock) {}
            #expect(try scene.names("ready") == [name])
            #expect(try await scene.transfer(["--once"]).status == 75)
        }
    }

    @Test("two services and a push at once: no file is on its way twice")
    func atOnce() async throws {
        try await withTemporaryDirectory { directory in
            try await withSink(data: directory.appending(path: "sink")) { sink in
                let scene = try TransferScene(directory.appending(path: "d"), url: sink.url())
                let proxy = try FaultProxy(upstream: sink.port)
                defer { proxy.stop() }
                let url = "http://127.0.0.1:\(proxy.port)/db/health"
                var size: Int64 = 0
                for _ in 0..<4 {
                    try scene.device.write(rows: 500, bytes: 1000)
                    let push = try await scene.device.push(to: url, ["--spool", scene.spool])
                    size += Int64(try #require(push.fields["spooled_bytes"] as? Int))
                }
                async let one = scene.transfer(to: url)
                async let two = scene.transfer(to: url)
                async let push = scene.device.push(to: url, ["--spool", scene.spool])
                #expect(try await one.status == 0)
                #expect(try await two.status == 0)
                #expect(try await push.outcome == "in-sync")
                print("four files of \(size) bytes took \(proxy.bodyBytes) bytes")
                #expect(proxy.bodyBytes == size)
                let last = try await scene.device.push(to: url, ["--spool", scene.spool])
                #expect(last.fields["remote_txid"] as? String == last.txid)
                try scene.expectEmptySpool()
                try await sink.applied(last.txid)
                try await expectEqual(scene.device, sink)
            }
        }
    }

    @Test("what is no manifest, or not for here, is set aside with one record, and traps nobody")
    func garbage() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = directory.appending(path: "bucket").path
            let scene = try TransferScene(directory.appending(path: "d"), url: bucket)
            try scene.device.write(rows: 100)
            _ = try await scene.handOver()
            let ready = "\(scene.spool)/ready"
            let good = try #require(try scene.names("ready").first)
            let text = try Data(contentsOf: URL(filePath: "\(ready)/\(good)"))
            try Data("hello".utf8).write(to: URL(filePath: "\(ready)/notes.txt"))
            try Data().write(to: URL(filePath: "\(ready)/empty.manifest"))
            try text.dropLast(20).write(to: URL(filePath: "\(ready)/cut.manifest"))
            try text.write(to: URL(filePath: "\(ready)/renamed.manifest"))
            try Data((0..<5000).map { _ in UInt8.random(in: 0...255) })
                .write(to: URL(filePath: "\(ready)/random.manifest"))
            #expect(mkdir("\(ready)/directory.manifest", 0o755) == 0)
            #expect(mkfifo("\(ready)/fifo.manifest", 0o644) == 0)
            // Whole, but for another destination, or without its file.
            var manifest = try Manifest(parsing: Array(text))
            manifest.destination = "https://attacker.example/db/x"
            manifest.fileChecksum = .init(crc: 5)
            try Data(manifest.text.utf8)
                .write(to: URL(filePath: "\(ready)/\(manifest.key).manifest"))
            manifest.destination = bucket
            manifest.fileChecksum = .init(crc: 6)
            try Data(manifest.text.utf8)
                .write(to: URL(filePath: "\(ready)/\(manifest.key).manifest"))

            let run = try await scene.transfer()
            #expect(run.status == 0)
            let aside = run.records.filter { $0.kind == "repair" }
            #expect(aside.count == 9)
            #expect(Set(aside.map { $0["file"] }).count == 9)
            #expect(aside.allSatisfy { !($0["reason"] ?? "").isEmpty })
            #expect(aside.contains { $0["reason"]?.contains("attacker.example") ?? false })
            #expect(try scene.names("aside").count == 9)
            #expect(try scene.names("ready").isEmpty)
            _ = try await scene.handOver()
            try scene.expectEmptySpool()
            try await scene.expectRestorable(bucket)
        }
    }

    @Test("a file that is damaged in the spool is not shipped; the next push hands it over again")
    func damagedFile() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = directory.appending(path: "bucket").path
            let scene = try TransferScene(directory.appending(path: "d"), url: bucket)
            try scene.device.write(rows: 100)
            _ = try await scene.handOver()
            let name = try #require(try scene.names("files").first)
            let path = "\(scene.spool)/files/\(name)"
            // Another file of that name, since the bytes are shared with the agent's own.
            let bytes = try Data(contentsOf: URL(filePath: path))
            try FileManager.default.removeItem(atPath: path)
            try (bytes.dropLast(8) + Data(count: 8)).write(to: URL(filePath: path))
            let run = try await scene.transfer()
            #expect(run.status == 0)
            #expect(run.records.filter { $0.kind == "repair" }.count == 1)
            #expect(run.records.filter { $0.kind == "upload" }.isEmpty)
            #expect(try await scene.handOver().fields["spooled_files"] as? Int == 1)
            #expect(try await scene.transfer().status == 0)
            try await scene.expectRestorable(bucket)
        }
    }

    @Test(
        "a spool whose disk is full costs nothing: the push uploads by itself, with a note",
        .enabled(if: TemporaryFileSystem.isPossible, TemporaryFileSystem.missing)
    )
    func fullDisk() async throws {
        try await withTemporaryDirectory { directory in
            let disk = try TemporaryFileSystem(sizeInBytes: 256 << 10)
            let spool = disk.path + "/spool"
            let bucket = directory.appending(path: "bucket").path
            let device = try Device(directory.appending(path: "d"))
            try device.write(rows: 2000, bytes: 1000)
            let push = try await device.push(to: bucket, ["--spool", spool])
            #expect(push.outcome == "pushed")
            #expect(push.fields["spooled_files"] as? Int == 0)
            let notes = push.fields["notes"] as? [String] ?? []
            #expect(notes.contains { $0.contains("No space left") }, "\(notes)")
            try device.write(rows: 3)
            let next = try await device.push(to: bucket, ["--spool", spool])
            #expect(next.fields["spooled_files"] as? Int == 1)
            #expect(next.kind != "snapshot")
            let run = try await runProcess(
                Dormouse.binary,
                ["transfer", "--spool", spool, "--to", bucket]
            )
            #expect(run.status == 0, "\(run.stderr)")
            let last = try await device.push(to: bucket, ["--spool", spool])
            #expect(last.fields["remote_txid"] as? String == next.txid)
        }
    }
}
