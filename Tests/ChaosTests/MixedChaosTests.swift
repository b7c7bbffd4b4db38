import Foundation
import LTXCodec
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

extension ChaosTests {
    /// Issue 3, proof 4: everything at once.
    @Suite(
        "A replicator among kills, foreign checkpoints, full disks and a bucket that changes",
        .enabled(if: TemporaryFileSystem.isPossible, TemporaryFileSystem.missing)
    )
    struct MixedChaosTests {
        @Test(
            "loses no commit, and ships the whole database only to an empty bucket",
            .timeLimit(.minutes(Chance.isFull ? 60 : 4))
        )
        func mixed() async throws {
            var chance = Chance("mixed chaos", seed: 3_004)
            // A database that has grown for thousands of cycles would only make the checks slow.
            for device in 1...(Chance.isFull ? 20 : 1) {
                try await Self.live(100, &chance, "device \(device) of seed \(chance.seed)")
            }
        }

        private static func live(
            _ cycles: Int,
            _ chance: inout Chance,
            _ name: String
        ) async throws {
            try await withTemporaryDirectory { directory in
                var run = try Run(directory)
                do {
                    for cycle in 1...cycles {
                        try await run.cycle(&chance, "cycle \(cycle), \(name)")
                    }
                    try await run.finish(cycles)
                } catch {
                    run.abandon()
                    throw error
                }
            }
        }
    }

    private enum Trouble: String, CaseIterable {
        case kill, terminate, suspend
        case foreignCheckpoint, foreignCheckpointWhileDead, lastClose, writerKilled
        case bucketFull, deviceFull
        case bucketAway, bucketWiped, bucketSetBack
    }

    private struct Run {
        /// The database and the meta directory beside it.
        let device: TemporaryFileSystem
        /// The bucket, in a directory that can be taken away.
        let store: TemporaryFileSystem
        let scene: Scene
        var writer: Child?
        var replicator: Child?
        var acknowledged = 0
        var wipes: Int { troubles[.bucketWiped] ?? 0 }
        var setBacks: Int { troubles[.bucketSetBack] ?? 0 }
        var troubles: [Trouble: Int] = [:]
        /// What is set right before the checks.
        var isAway = false

        init(_ directory: URL) throws {
            device = try TemporaryFileSystem(sizeInBytes: 96 << 20)
            store = try TemporaryFileSystem(sizeInBytes: 256 << 20)
            let disk = store.path + "/disk"
            try FileManager.default.createDirectory(
                atPath: disk,
                withIntermediateDirectories: true
            )
            scene = Scene(
                directory,
                database: device.path + "/app.db",
                bucket: disk + "/bucket"
            )
        }

        mutating func cycle(_ chance: inout Chance, _ comment: Comment) async throws {
            let settings: Writer.Settings = chance.happens(oneIn: 2) ? .external : .stock
            let pin = chance.happens(oneIn: 2) ? "hold" : "yield"
            let writer = try await launchedWriter(settings)
            let replicator = try launchedReplicator(pin)
            try await writer.wait(for: chance.number(in: 1...3)) { $0.kind == "commit" }
            try await replicator.wait(\.isPush)
            var met: [Trouble] = []
            for _ in 1...chance.number(in: 1...2) {
                let trouble = chance.element(of: Trouble.allCases)
                met.append(trouble)
                troubles[trouble, default: 0] += 1
                try await pass(chance.moment())
                try await meet(trouble, settings, pin, &chance)
            }
            try await pass(chance.moment())
            try await check(
                "\(comment.rawValue), \(settings.rawValue) writer, pin \(pin), \(met.map(\.rawValue))",
                pin
            )
        }

        // MARK: Troubles

        private mutating func meet(
            _ trouble: Trouble,
            _ settings: Writer.Settings,
            _ pin: String,
            _ chance: inout Chance
        ) async throws {
            switch trouble {
            case .kill:
                try await endReplicator(SIGKILL)
                try await pass(chance.moment())
                _ = try launchedReplicator(pin)
            case .terminate:
                try await endReplicator(SIGTERM)
                _ = try launchedReplicator(pin)
            case .suspend:
                let replicator = try launchedReplicator(pin)
                replicator.send(SIGSTOP)
                try await pass(chance.moment())
                replicator.send(SIGCONT)
            case .foreignCheckpoint:
                try await checkpoint(&chance)
            case .foreignCheckpointWhileDead:
                try await endReplicator(chance.happens(oneIn: 2) ? SIGKILL : SIGTERM)
                try await checkpoint(&chance)
                _ = try launchedReplicator(pin)
            case .lastClose:
                try await endReplicator(SIGKILL)
                try await endWriter()
                _ = try launchedReplicator(pin)
                _ = try await launchedWriter(settings)
            case .writerKilled:
                try await writer?.kill()
                try await endWriter()
                _ = try await launchedWriter(settings)
            case .bucketFull: try await full(store.path, pin)
            case .deviceFull: try await full(device.path, pin)
            case .bucketAway:
                isAway = true
                #expect(rename(store.path + "/disk", store.path + "/elsewhere") == 0)
                let replicator = try launchedReplicator(pin)
                let seen = replicator.records.count
                replicator.send(SIGCONT)
                try await replicator.wait(from: seen) { $0.isPush && !$0.isSuccess }
                comeBack()
            case .bucketWiped:
                // At one stroke: while files vanish one by one, a bucket may be found empty twice.
                let gone = store.path + "/gone"
                if rename(scene.bucket + "/ltx", gone) == 0 {
                    try FileManager.default.removeItem(atPath: gone)
                }
            case .bucketSetBack:
                let replicator = try launchedReplicator(pin)
                replicator.send(SIGSTOP)
                let level = scene.bucket + "/ltx/0"
                let names = try? FileManager.default.contentsOfDirectory(atPath: level)
                let files = (names ?? []).compactMap { LTXFileName($0) }.sorted().dropFirst()
                for file in files.suffix(chance.number(in: 1...3)) {
                    try? FileManager.default.removeItem(atPath: "\(level)/\(file)")
                }
                replicator.send(SIGCONT)
            }
        }

        /// Somebody with SQLite's own shell.
        private func checkpoint(_ chance: inout Chance) async throws {
            let mode = chance.element(of: ["PASSIVE", "FULL", "RESTART", "TRUNCATE"])
            for _ in 1...chance.number(in: 1...3) {
                _ = try await runProcess(
                    URL(filePath: "/usr/bin/sqlite3"),
                    [
                        "-cmd", ".timeout 100", scene.database,
                        "PRAGMA wal_checkpoint(\(mode))",
                    ]
                )
            }
        }

        /// A file system that is full for as long as a push or two takes.
        private mutating func full(_ path: String, _ pin: String) async throws {
            let replicator = try launchedReplicator(pin)
            let seen = replicator.records.count
            try fill(path)
            replicator.send(SIGCONT)
            try await replicator.wait(from: seen, \.isPush)
            try FileManager.default.removeItem(atPath: path + "/filler")
            replicator.send(SIGCONT)
        }

        private func fill(_ path: String) throws {
            try Data().write(to: URL(filePath: path + "/filler"))
            let file = try FileHandle(forWritingTo: URL(filePath: path + "/filler"))
            defer { try? file.close() }
            for size in [1 << 20, 64 << 10, 4 << 10, 1] {
                while (try? file.write(contentsOf: Data(count: size))) != nil {}
            }
        }

        private mutating func comeBack() {
            guard isAway else { return }
            isAway = false
            #expect(rename(store.path + "/elsewhere", store.path + "/disk") == 0)
        }

        // MARK: Checks

        /// Everybody ends, the bucket is brought up to date, and the four checks follow.
        private mutating func check(_ comment: Comment, _ pin: String) async throws {
            comeBack()
            try await endWriter()
            try await endReplicator(SIGTERM)
            try await scene.push("--pin", pin)
            let rows = try await scene.expectRestored(
                counting: Writer.counting,
                integrity: true,
                comment
            )
            #expect(rows >= acknowledged, comment)
            try await scene.expectValidChain(comment)
            // Only a bucket that holds nothing to build on costs that: it was emptied, or files went
            // away under an upload and what is left of it leads nowhere.
            #expect(
                scene.snapshots.count <= 1 + wipes + setBacks,
                "\(comment.rawValue): \(scene.snapshots.map(\.line).joined(separator: "\n"))"
            )
        }

        func finish(_ cycles: Int) async throws {
            try await scene.expectVerified()
            let allowed: Set = ["first", "bucket-wiped", "bucket-broken"]
            #expect(scene.snapshots.allSatisfy { allowed.contains($0["snapshot_reason"] ?? "") })
            print(
                """
                mixed chaos: \(cycles) cycles, \(acknowledged) commits, \(scene.pushes.count) \
                pushes, \(scene.checkpoints) sealed checkpoints, longest lock \
                \(scene.longestLock) µs, snapshots \(scene.snapshotReasons) for 1 + \
                \(wipes) empty buckets, \(scene.rescans.count) rescans \(scene.rescanReasons), \
                \(Dictionary(uniqueKeysWithValues: troubles.map { ($0.key.rawValue, $0.value) }))
                """
            )
        }

        mutating func abandon() {
            writer?.send(SIGKILL)
            replicator?.send(SIGKILL)
        }

        // MARK: Programs

        private mutating func launchedWriter(_ settings: Writer.Settings) async throws -> Child {
            if let writer, !writer.hasEnded { return writer }
            let launched = try await Writer(
                database: scene.database,
                settings: settings,
                every: 5
            ).launched()
            writer = launched
            return launched
        }

        private mutating func endWriter() async throws {
            guard let writer else { return }
            try await writer.finish()
            acknowledged = max(acknowledged, writer.acknowledged)
            self.writer = nil
        }

        private mutating func launchedReplicator(_ pin: String) throws -> Child {
            if let replicator { return replicator }
            let launched = try Child(
                Dormouse.binary,
                [
                    "replicate", scene.database, "--to", scene.bucket, "--pin", pin,
                    "--interval", "40ms", "--checkpoint-pages", "60",
                ]
            )
            replicator = launched
            return launched
        }

        private mutating func endReplicator(_ signal: Int32) async throws {
            guard let replicator else { return }
            replicator.send(signal)
            _ = try await replicator.end()
            scene.note(replicator.records)
            self.replicator = nil
        }
    }
}
