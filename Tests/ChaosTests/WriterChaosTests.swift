import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

extension ChaosTests {
    /// Issue 2, proof 5, second half: an application that goes on writing while the replicator is
    /// dead or stopped.
    @Suite("A replicator that is killed beside an application that goes on writing")
    struct WriterChaosTests {
        struct Case: CustomTestStringConvertible {
            let settings: Writer.Settings
            let pin: String
            let seed: UInt64
            var testDescription: String { "\(settings.rawValue) writer, pin \(pin)" }
        }

        static let cases = [
            Case(settings: .external, pin: "hold", seed: 501),
            Case(settings: .external, pin: "yield", seed: 502),
            Case(settings: .stock, pin: "hold", seed: 503),
            Case(settings: .stock, pin: "yield", seed: 504),
        ]

        @Test(
            "loses no commit; compares pages only where the WAL was restarted meanwhile",
            .timeLimit(.minutes(Chance.isFull ? 30 : 3)),
            arguments: cases
        )
        func writingOn(_ test: Case) async throws {
            var chance = Chance("writer chaos, \(test.testDescription)", seed: test.seed)
            let cycles = Chance.isFull ? 125 : 15
            try await withTemporaryDirectory { directory in
                var run = Run(Scene(directory), test)
                do {
                    for cycle in 1...cycles {
                        try await run.cycle(cycle, &chance)
                    }
                    try await run.settle("the end of seed \(chance.seed)")
                    run.finish(cycles)
                } catch {
                    run.abandon()
                    throw error
                }
            }
        }

        private struct Run {
            let scene: Scene
            let test: Case
            var writer: Child?
            var replicator: Child?
            /// The highest number that a writer has acknowledged.
            var acknowledged = 0
            /// Gaps after which the WAL was another than the cursor's: restarted behind a sealed
            /// checkpoint or by somebody else's, or deleted.
            var restarts = 0
            var gaps = 0

            init(_ scene: Scene, _ test: Case) {
                self.scene = scene
                self.test = test
            }

            mutating func cycle(_ cycle: Int, _ chance: inout Chance) async throws {
                let writer = try await launchedWriter()
                let replicator = try await launchedReplicator()
                let seen = replicator.records.count
                try await writer.wait(for: chance.number(in: 1...5)) { $0.kind == "commit" }
                try await replicator.wait(for: chance.number(in: 1...3), from: seen, \.isPush)
                try await pass(chance.moment())
                let how = chance.element(of: [SIGKILL, SIGKILL, SIGTERM, SIGSTOP])
                replicator.send(how)
                if how == SIGSTOP {
                    // Nothing says that it stopped; its WAL is looked at a moment later.
                    try await pass(.milliseconds(20))
                } else {
                    let status = try await replicator.end()
                    #expect(how == SIGKILL || status == 0)
                    scene.note(replicator.records)
                    self.replicator = nil
                }
                // Where the replicator will want to go on, and what it will find there.
                let cursor = try cursorSalts()
                try await goOn(writer, &chance, replicatorIsStopped: how == SIGSTOP)
                var wasRestarted = isAnother(than: cursor)

                // The first push after the gap.
                let resumed: Child
                var from = 0
                if how == SIGSTOP {
                    resumed = replicator
                    from = replicator.records.count
                    replicator.send(SIGCONT)
                } else {
                    resumed = try await launchedReplicator()
                }
                let end = try await resumed.wait(from: from) { $0.isPush && $0.isSuccess }
                let record = resumed.records[..<end].last(where: \.isPush)
                // An application that checkpoints may have restarted the WAL since the look above; one
                // that leaves it to us has not, before this push.
                if test.settings == .stock, isAnother(than: cursor) { wasRestarted = true }
                gaps += 1
                restarts += wasRestarted ? 1 : 0
                #expect(
                    wasRestarted || record?["sync_kind"] != "rescan",
                    "cycle \(cycle): \(record?.line ?? "")"
                )
                if cycle % 5 == 0 {
                    try await settle("cycle \(cycle) of \(test.testDescription)")
                }
            }

            /// What the application does in the gap.
            private mutating func goOn(
                _ writer: Child,
                _ chance: inout Chance,
                replicatorIsStopped: Bool
            ) async throws {
                let lines = chance.element(of: [0, 2, 10, 30])
                if replicatorIsStopped {
                    // It may have been stopped with the write lock in its hand, and then nobody
                    // gets any further.
                    return try await pass(.milliseconds(lines * 4))
                }
                if lines > 0 {
                    let seen = writer.records.count
                    try await writer.wait(for: lines, from: seen) { $0.kind == "commit" }
                }
                switch chance.number(in: 1...5) {
                case 1:
                    try await writer.finish()
                    self.writer = nil
                case 2:
                    try await writer.kill()
                    self.writer = nil
                default: break
                }
                acknowledged = max(acknowledged, writer.acknowledged)
                if self.writer == nil, chance.happens(oneIn: 2) { _ = try await launchedWriter() }
            }

            /// Everybody ends, in either order, and the four checks follow.
            mutating func settle(_ comment: Comment) async throws {
                if let writer {
                    try await writer.finish()
                    acknowledged = max(acknowledged, writer.acknowledged)
                }
                writer = nil
                if let replicator {
                    replicator.send(SIGTERM)
                    #expect(try await replicator.end() == 0, comment)
                    scene.note(replicator.records)
                }
                replicator = nil
                try await scene.push("--pin", test.pin)
                let rows = try await scene.expectRestored(
                    counting: Writer.counting,
                    integrity: true,
                    comment
                )
                #expect(rows >= acknowledged, comment)
                try await scene.expectValidChain(comment)
                scene.expectNoSnapshotAfterTheFirst(comment)
            }

            func finish(_ cycles: Int) {
                var allowed: Set = [
                    "restarted-past-cursor", "restarted-repeatedly", "wal-truncated",
                ]
                // A writer that leaves checkpoints to us neither deletes the WAL nor cuts it.
                if test.settings == .stock { allowed.formUnion(["wal-missing", "wal-appeared"]) }
                #expect(Set(scene.rescanReasons.keys).isSubset(of: allowed))
                #expect(scene.rescans.count <= restarts)
                print(
                    """
                    writer chaos, \(test.testDescription): \(cycles) cycles, \(acknowledged) commits, \
                    \(scene.pushes.count) pushes, \(scene.checkpoints) sealed checkpoints, longest \
                    lock \(scene.longestLock) µs, WAL restarted in \(restarts) of \(gaps) gaps, \
                    \(scene.snapshots.count) snapshot, \(scene.rescans.count) rescans \
                    \(scene.rescanReasons)
                    """
                )
            }

            func abandon() {
                writer?.send(SIGKILL)
                replicator?.send(SIGKILL)
            }

            private mutating func launchedWriter() async throws -> Child {
                if let writer { return writer }
                let launched = try await Writer(
                    database: scene.database,
                    settings: test.settings
                ).launched()
                writer = launched
                return launched
            }

            private mutating func launchedReplicator() async throws -> Child {
                if let replicator { return replicator }
                let launched = try Child(
                    Dormouse.binary,
                    [
                        "replicate", scene.database, "--to", scene.bucket, "--pin", test.pin,
                        "--interval", "40ms", "--checkpoint-pages", "60",
                    ]
                )
                replicator = launched
                return launched
            }

            /// Whether the WAL is not, or may not be, the one of the saved cursor.
            private func isAnother(than cursor: [[UInt32]]) -> Bool {
                guard let salts = walSalts(), !cursor.isEmpty else { return true }
                // Of two places only one is the cursor, and the bucket alone knows which.
                return cursor.contains { $0 != salts }
            }

            /// The salts of the WAL's header, which every restart changes.
            private func walSalts() -> [UInt32]? {
                guard let file = FileHandle(forReadingAtPath: scene.database + "-wal"),
                    let header = try? file.read(upToCount: 24), header.count == 24
                else { return nil }
                return [16, 20].map { start in
                    header[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) }
                }
            }

            /// The salts of the saved cursor; two pairs if the process was killed while it published.
            private func cursorSalts() throws -> [[UInt32]] {
                let path = scene.directory.appending(path: ".app.db-litestream/dormouse-state").path
                let state = try String(contentsOfFile: path, encoding: .utf8)
                return state.split(separator: "\n").compactMap { line in
                    let words = line.split(separator: " ")
                    guard words.first == "made" || words.first == "making",
                        let place = words.firstIndex(of: "cursor"), words.count > place + 2
                    else { return nil }
                    return words[place + 1...place + 2].compactMap { UInt32($0) }
                }
            }
        }
    }
}
