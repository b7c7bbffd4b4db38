import Bucket
import Foundation
import LTXCodec
import Replication
import SQLiteBridge
import TestSupport
import Testing

/// The pushes that a fault falls into.
private enum Scenario: String, CaseIterable, Sendable {
    case first, ordinary, checkpoint, rescan, shrink, backlog

    /// Brings a source to where the push begins.
    func prepare(_ source: Source) async throws {
        try source.app.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
            INSERT INTO t(v) SELECT randomblob(500) FROM n
            """
        )
        guard self != .first else { return }
        let replicator = source.replicator()
        #expect(await replicator.push().outcome == .pushed)
        try source.insert(20)
        #expect(await replicator.push().outcome == .pushed)
        if self == .backlog {
            for _ in 0..<3 {
                try source.insert(2)
                _ = try await replicator.sync()
            }
        }
        await replicator.close()
        try source.app.execute("UPDATE t SET v = randomblob(120) WHERE id % 30 = 0")
        guard self == .rescan || self == .shrink else { return }
        if self == .shrink {
            try source.app.execute("DELETE FROM t WHERE id % 2 = 0")
            try source.app.execute("VACUUM")
        }
        _ = try source.app.checkpoint(.truncate)
        try source.insert(3)
    }
}

@Suite(
    "A fault at each step of a push",
    .serialized,
    .enabled(if: Peers.areInstalled, Peers.missing),
    .enabled(
        if: FileManager.default.isExecutableFile(atPath: Dormouse.binary.path),
        "the program is not built"
    )
)
struct FaultTests {
    private static let isFull = ProcessInfo.processInfo.environment["DORMOUSE_FULL"] != nil

    /// Pushes in another process; `nil` for no fault.
    private func push(_ source: Source, fault: String?) async throws -> ProcessOutcome {
        try await runProcess(
            Dormouse.binary,
            ["push", source.path, "--to", source.bucketPath, "--checkpoint-pages", "1"],
            environment: fault.map { ["DORMOUSE_FAULT": $0] } ?? [:]
        )
    }

    /// Level 0 is one chain without a gap, and nothing but the first file is a snapshot.
    private func expectChain(
        _ source: Source,
        after scenario: Scenario,
        _ comment: Comment
    ) async throws {
        let files = try await source.bucket.list(level: 0)
        for (one, next) in zip(files, files.dropFirst()) {
            #expect(next.minTXID == one.maxTXID.next, comment)
        }
        #expect(files.first?.minTXID == TXID(1), comment)
        #expect(try await source.bucket.list(level: 9).isEmpty, comment)
        // A snapshot that begins higher up would hold every page, as a VACUUM's delta may.
        guard scenario != .shrink else { return }
        let pages = try #require(try source.app.value("PRAGMA page_count")?.integer)
        for file in files.dropFirst() {
            let reader = try await source.bucket.open(file)
            let ltx = try LTXPageReader(size: reader.sizeInBytes) { offset, buffer in
                try reader.read(at: offset, into: buffer)
            }
            #expect(ltx.index.count < Int(pages), comment)
        }
    }

    /// One round: fault, relaunch, the checks; says how the faulty run ended.
    private func round(_ scenario: Scenario, _ fault: String) async throws -> Int32 {
        let comment: Comment = "\(scenario.rawValue), DORMOUSE_FAULT=\(fault)"
        var status: Int32 = 0
        try await withSource { source in
            try await scenario.prepare(source)
            status = try await push(source, fault: fault).status
            try source.insert(1)
            let replicator = source.replicator()
            let push = await replicator.push()
            #expect(push.outcome == .pushed, "\(comment): \(push.outcome) \(push.notes)")
            if case .snapshot = push.kind, scenario != .first {
                Issue.record("\(comment): \(push.kinds) \(push.notes)")
            }
            try await expectChain(source, after: scenario, comment)
            try await source.expectRestorable(comment)
            await replicator.close()
            let names = try FileManager.default.subpathsOfDirectory(atPath: source.directory.path)
            #expect(!names.contains { $0.hasSuffix(".tmp") }, comment)
        }
        return status
    }

    @Test("killed there, nothing is lost and nothing is sent twice", arguments: Scenario.allCases)
    fileprivate func kills(scenario: Scenario) async throws {
        // The default run takes each step of two scenarios and each fourth of the others.
        let stride = Self.isFull || scenario == .ordinary || scenario == .rescan ? 1 : 4
        var step = 1
        while try await round(scenario, "\(step):kill") == 128 + SIGKILL {
            step += stride
            #expect(step < 500)
        }
        print("\(scenario.rawValue): fewer than \(step) steps")
        #expect(step > 10)
    }

    @Test("refused there, neither", arguments: Scenario.allCases, ["EIO", "ENOSPC"])
    fileprivate func failures(scenario: Scenario, error: String) async throws {
        // The default run takes each sixth step, the two errors different ones.
        let steps = stride(
            from: Self.isFull || error == "EIO" ? 1 : 4,
            through: 70,
            by: Self.isFull ? 1 : 6
        )
        for step in steps {
            let status = try await round(scenario, "\(step):\(error)")
            #expect([0, 1, 75].contains(status), "\(step): \(status)")
        }
    }
}
