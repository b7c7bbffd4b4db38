import Bucket
import Foundation
import LTXCodec
import Replication
import SQLiteBridge
import TestSupport
import Testing

/// What happens between two pushes: `w` a commit, `c` a checkpoint by somebody else.
private struct Meanwhile: Sendable, CustomTestStringConvertible {
    /// What the push after it must be.
    enum Expectation: Equatable, Sendable {
        case nothing
        case wal(RestartProof?)
        case rescan([LostPlace])
    }

    let steps: String
    let mode: String
    let pin: PinMode
    let isResident: Bool
    let expectation: Expectation

    var testDescription: String {
        "\(steps) with \(mode), pin \(pin.rawValue), \(isResident ? "resident" : "dead")"
    }

    /// Every case of the issue, with what a replicator can know in it.
    static let all: [Meanwhile] = {
        var cases: [Meanwhile] = []
        let scripts = ["c", "cw", "ccw", "cccw", "wc", "wcw", "wccw", "wcwcw", "wcwcwcw"]
        for mode in ["PASSIVE", "FULL", "RESTART", "TRUNCATE"] {
            for pin in PinMode.allCases {
                for isResident in [true, false] {
                    for steps in scripts {
                        cases.append(
                            Meanwhile(
                                steps: steps,
                                mode: mode,
                                pin: pin,
                                isResident: isResident,
                                expectation: expectation(steps, mode, pin, isResident)
                            )
                        )
                    }
                }
            }
        }
        return cases
    }()

    private static func expectation(
        _ steps: String,
        _ mode: String,
        _ pin: PinMode,
        _ isResident: Bool
    ) -> Expectation {
        // A pin that is held keeps all commits in one generation.
        if isResident, pin == .hold { return steps == "c" ? .nothing : .wal(nil) }
        let restarts = steps.split(separator: "w", omittingEmptySubsequences: false)
            .dropLast().filter { $0.contains("c") }.count
        let missesCommits = steps.hasPrefix("w")
        if mode == "TRUNCATE" {
            switch (isResident, missesCommits) {
            case (true, false): return steps == "c" ? .nothing : .wal(.count)
            case (_, _) where steps.hasSuffix("c"): return .rescan([.walTruncated])
            default: return .rescan([.restartedPastCursor, .restartedRepeatedly])
            }
        }
        switch (steps, restarts) {
        case ("c", _): return .nothing
        case (_, 0): return .wal(nil)
        case (_, 1) where !missesCommits: return .wal(isResident ? .count : .leftovers)
        case (_, 1): return .wal(.leftovers)
        default: return .rescan([.restartedRepeatedly])
        }
    }
}

@Suite("Checkpoints by somebody else", .serialized, .enabled(if: Peers.areInstalled, Peers.missing))
struct ForeignCheckpointTests {
    @Test("each costs what it must and loses nothing", arguments: Meanwhile.all)
    fileprivate func meanwhile(_ meanwhile: Meanwhile) async throws {
        try await withSource { source in
            let foreign = try ForeignProcess(source.path)
            try foreign.open(timeout: 0)
            var replicator = source.replicator { $0.pin = meanwhile.pin }
            // The file is longer than the generation, as it is after the first weeks: an end at
            // the cursor could be where a size limit cut it.
            try source.insert(90)
            try foreign.sql("PRAGMA wal_autocheckpoint=0")
            try foreign.checkpoint("PASSIVE")
            try foreign.insert(30)
            #expect(await replicator.push().kinds == [.snapshot(.first)])
            try foreign.insert(20)
            #expect(await replicator.push().kinds == [.wal])
            if !meanwhile.isResident { await replicator.close() }

            for step in meanwhile.steps {
                if step == "w" {
                    try foreign.insert()
                } else {
                    try foreign.checkpoint(meanwhile.mode)
                }
            }

            if !meanwhile.isResident {
                replicator = source.replicator { $0.pin = meanwhile.pin }
            }
            let push = await replicator.push()
            let report = try #require(push.syncs.first)
            switch meanwhile.expectation {
            case .nothing:
                #expect(report.kind == .nothing)
                #expect(push.outcome == .inSync(verified: true))
            case .wal(let proof):
                #expect(report.kind == .wal)
                #expect(report.proof == proof)
            case .rescan(let reasons):
                #expect(reasons.map(SyncKind.rescan).contains(report.kind), "\(report.kind)")
                #expect(report.pages < 10)
            }
            try await source.expectRestorable()

            // And it goes on from there without another look at the whole.
            try foreign.insert(2)
            let next = await replicator.push()
            #expect(next.kinds == [.wal])
            await replicator.close()
        }
    }

    @Test("with a pin that yields an application's TRUNCATE is done at once")
    func yields() async throws {
        try await withSource { source in
            let replicator = source.replicator { $0.pin = .yield }
            let foreign = try ForeignProcess(source.path)
            try foreign.open(timeout: 0)
            try foreign.insert(10)
            #expect(await replicator.push().outcome == .pushed)
            for _ in 0..<5 {
                try foreign.insert(3)
                // A busy timeout of nothing: any lock of ours would show.
                #expect(try foreign.checkpoint("TRUNCATE") == [0, 0, 0])
                #expect(await replicator.push().outcome == .pushed)
            }
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("with a pin that holds nobody else can finish one")
    func holds() async throws {
        try await withSource { source in
            let replicator = source.replicator { $0.pin = .hold }
            try await replicator.start()
            let foreign = try ForeignProcess(source.path)
            try foreign.open(timeout: 0)
            try foreign.insert(10)
            #expect(await replicator.push().outcome == .pushed)
            try foreign.insert(3)
            for mode in ["FULL", "RESTART", "TRUNCATE"] {
                #expect(try foreign.checkpoint(mode)[0] == 1, "\(mode)")
            }
            #expect(await replicator.push().kinds == [.wal])
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("an emptied WAL needs no scan, in this process or the next one")
    func emptied() async throws {
        try await withSource { source in
            let foreign = try ForeignProcess(source.path)
            try foreign.open()
            try foreign.insert(10)
            var replicator = source.replicator { $0.pin = .yield }
            #expect(await replicator.push().outcome == .pushed)
            try foreign.checkpoint("TRUNCATE")
            let push = await replicator.push()
            #expect(push.outcome == .inSync(verified: true))
            #expect(push.syncs.map(\.proof) == [.count])
            #expect(push.syncs.map(\.pagesCompared) == [0])
            await replicator.close()

            replicator = source.replicator { $0.pin = .yield }
            #expect(await replicator.push().outcome == .inSync(verified: true))
            await replicator.close()
            // Written while nobody looked, and nothing copied back.
            try foreign.insert(3)
            replicator = source.replicator { $0.pin = .yield }
            let next = await replicator.push()
            #expect(next.kinds == [.wal])
            #expect(next.syncs.first?.proof == .untouched)
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test(
        "writers that take turns at restarting the WAL cost no rescan",
        arguments: PinMode.allCases
    )
    func writersTakeTurns(pin: PinMode) async throws {
        try await withSource { source in
            let replicator = source.replicator {
                $0.pin = pin
                $0.checkpointFrames = 5
            }
            let foreign = try ForeignProcess(source.path)
            for name in ["a", "b", "c"] {
                try foreign.open(name)
                try foreign.sql("PRAGMA wal_autocheckpoint=0", on: name)
            }
            #expect(await replicator.push().outcome == .pushed)
            for round in 0..<12 {
                try foreign.insert(6, on: ["a", "b", "c"][round % 3])
                let push = await replicator.push()
                #expect(push.kinds == [.wal], "round \(round): \(push.kinds)")
                #expect(push.checkpoint?.result.isComplete == true)
            }
            // And a new process each time, as a cron job is.
            for _ in 0..<4 {
                let job = try ForeignProcess(source.path)
                try job.open()
                try job.insert(6)
                try job.close()
                #expect(await replicator.push().kinds == [.wal])
            }
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("writers take turns while the replicator is dead, too")
    func writersTakeTurnsAlone() async throws {
        try await withSource { source in
            let foreign = try ForeignProcess(source.path)
            for name in ["a", "b"] { try foreign.open(name) }
            // The file is longer than any generation to come.
            try foreign.insert(100, on: "a")
            try foreign.checkpoint("PASSIVE", on: "a")
            for round in 0..<6 {
                try foreign.insert(20, on: ["b", "a"][round % 2])
                var replicator = source.replicator()
                let push = await replicator.push()
                #expect(push.outcome == .pushed, "round \(round)")
                await replicator.close()
                try foreign.checkpoint("PASSIVE", on: "a")
                try foreign.insert(1, on: ["a", "b"][round % 2])
                replicator = source.replicator()
                let next = await replicator.push()
                #expect(next.kinds == [.wal], "round \(round)")
                #expect(next.syncs.first?.proof == .leftovers)
                await replicator.close()
                try foreign.checkpoint("PASSIVE", on: "a")
            }
            try await source.expectRestorable()
        }
    }

    @Test("a last close costs one scan and no snapshot", arguments: [true, false])
    func lastClose(writes: Bool) async throws {
        try await withSource { source in
            var replicator = source.replicator()
            try source.insert(200)
            #expect(await replicator.push().outcome == .pushed)
            await replicator.close()
            try source.app.close()
            let foreign = try ForeignProcess(source.path)
            try foreign.open()
            _ = try foreign.sql("SELECT count(*) FROM t")
            if writes { try foreign.insert(3) }
            try foreign.close()
            #expect(!FileManager.default.fileExists(atPath: source.path + "-wal"))

            replicator = source.replicator()
            let push = await replicator.push()
            #expect(push.syncs.map(\.kind) == [.rescan(.walMissing)])
            #expect(push.outcome == (writes ? .pushed : .inSync(verified: true)))
            #expect(try #require(push.syncs.first).pages <= 4)
            try await source.expectRestorable()
            await replicator.close()

            // At rest now: another process that looks and goes changes nothing.
            try foreign.open()
            _ = try foreign.sql("SELECT count(*) FROM t")
            try foreign.close()
            replicator = source.replicator()
            let again = await replicator.push()
            #expect(again.syncs.map(\.kind) == [.nothing])
            await replicator.close()
        }
    }

    @Test("a last close while we are there is none", arguments: PinMode.allCases)
    func lastCloseBesideUs(pin: PinMode) async throws {
        try await withSource { source in
            let replicator = source.replicator { $0.pin = pin }
            try source.app.close()
            #expect(await replicator.push().outcome == .pushed)
            for _ in 0..<5 {
                let foreign = try ForeignProcess(source.path)
                try foreign.open()
                try foreign.insert(5)
                try foreign.close()
                #expect(await replicator.push().kinds == [.wal])
            }
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("a writer that checkpoints by itself all the time", arguments: PinMode.allCases)
    func autocheckpoint(pin: PinMode) async throws {
        try await withSource { source in
            let replicator = source.replicator { $0.pin = pin }
            try source.insert(300, bytes: 1000)
            #expect(await replicator.push().outcome == .pushed)
            let foreign = try ForeignProcess(source.path)
            try foreign.open()
            try foreign.sql("PRAGMA wal_autocheckpoint=10")
            let stop = source.directory.appending(path: "stop").path
            try foreign.startLoad(until: stop)
            var kinds: [SyncKind: Int] = [:]
            var proofs: [String: Int] = [:]
            // Pushes that find nothing new, the writer being slower, do not count.
            var found = 0
            while found < 25 {
                let push = await replicator.push()
                #expect(push.outcome.isSuccess, "\(push.outcome)")
                guard push.outcome.isSuccess else { break }
                found += push.outcome == .pushed ? 1 : 0
                for report in push.syncs {
                    kinds[report.kind, default: 0] += 1
                    if let proof = report.proof { proofs[proof.rawValue, default: 0] += 1 }
                }
            }
            #expect(FileManager.default.createFile(atPath: stop, contents: nil))
            let commits = try foreign.finishLoad()
            print("pin \(pin.rawValue): \(commits) commits, \(kinds), proofs \(proofs)")
            #expect(await replicator.push().outcome.isSuccess)
            #expect(kinds.keys.allSatisfy { if case .snapshot = $0 { false } else { true } })
            if pin == .hold { #expect(kinds.keys.allSatisfy { $0 == .wal || $0 == .nothing }) }
            try await source.expectRestorable()
            await replicator.close()

            // The same while it is dead.
            try FileManager.default.removeItem(atPath: stop)
            try foreign.startLoad(until: stop)
            #expect(FileManager.default.createFile(atPath: stop, contents: nil))
            _ = try foreign.finishLoad()
            try foreign.insert(60)
            let heir = source.replicator { $0.pin = pin }
            let push = await heir.push()
            #expect(push.outcome == .pushed)
            if case .snapshot = push.kind { Issue.record("\(push.kind)") }
            try await source.expectRestorable()
            await heir.close()
        }
    }

    @Test("a size limit that cuts the WAL hides no commit", arguments: [0, 100, 4119])
    func sizeLimit(inside: Int) async throws {
        try await withSource { source in
            let foreign = try ForeignProcess(source.path)
            try foreign.open()
            try foreign.sql("PRAGMA wal_autocheckpoint=0")
            // Eleven frames fit, or ten and a part of the next.
            let limit = 32 + 10 * 4120 + inside
            try foreign.sql("PRAGMA journal_size_limit=\(limit)")
            try foreign.sql("CREATE TABLE one(n)")
            try foreign.sql("INSERT INTO one VALUES (0)")
            try foreign.insert(60)
            try foreign.checkpoint("PASSIVE")
            // One frame each; the first restarts the WAL and cuts it.
            for _ in 0..<10 { try foreign.sql("UPDATE one SET n = n + 1") }
            var replicator = source.replicator()
            #expect(await replicator.push().outcome == .pushed)
            await replicator.close()

            try foreign.insert(5)
            try foreign.checkpoint("PASSIVE")
            try foreign.sql("UPDATE one SET n = n + 1")
            replicator = source.replicator()
            let push = await replicator.push()
            #expect(push.outcome == .pushed)
            #expect(push.kinds == [.rescan(.walTruncated)])
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("VACUUM by somebody else", arguments: PinMode.allCases, [true, false])
    func vacuum(pin: PinMode, isResident: Bool) async throws {
        try await withSource { source in
            let foreign = try ForeignProcess(source.path)
            try foreign.open()
            try source.insert(300, bytes: 2000)
            var replicator = source.replicator { $0.pin = pin }
            #expect(await replicator.push().outcome == .pushed)
            if !isResident { await replicator.close() }
            try foreign.sql("DELETE FROM t WHERE id % 4 <> 0")
            try foreign.sql("VACUUM")
            try foreign.insert(3)
            if !isResident { replicator = source.replicator { $0.pin = pin } }
            let push = await replicator.push()
            #expect(push.outcome == .pushed)
            if case .snapshot = push.kind { Issue.record("\(push.kind)") }
            try await source.expectRestorable()
            await replicator.close()
        }
    }
}
