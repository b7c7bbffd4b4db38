import Bucket
import Foundation
import LTXCodec
import Replication
import SQLiteBridge
import TestSupport
import Testing

@Suite("A bucket that changed", .serialized, .enabled(if: Peers.areInstalled, Peers.missing))
struct LineageTests {
    /// What a push that had to repair something must be, however it found its base.
    private func expectRepaired(
        _ push: PushRecord,
        _ finding: LineageFinding,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(push.outcome == .pushed, "\(push.outcome)", sourceLocation: sourceLocation)
        #expect(push.lineageFinding == finding, sourceLocation: sourceLocation)
        #expect(push.txid == push.remoteTXID, sourceLocation: sourceLocation)
        #expect(push.backlogFiles == 0, sourceLocation: sourceLocation)
    }

    /// Pushes `count` times, with rows between.
    private func push(_ replicator: Replicator, _ source: Source, times count: Int) async throws {
        for _ in 0..<count {
            try source.insert(10)
            #expect(await replicator.push().outcome == .pushed)
        }
    }

    private func bucketFiles(_ source: Source) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: source.bucketPath + "/ltx/0").sorted()
    }

    @Test("a restored device goes on above the bucket's head (B30)")
    func restoredDevice() async throws {
        try await withSource { source in
            let replicator = source.replicator()
            try await push(replicator, source, times: 5)
            await replicator.close()
            let before = try bucketFiles(source)
            try source.app.close()
            try await source.restoreInPlace()

            let foreign = try ForeignProcess(source.path)
            try foreign.open()
            try foreign.sql("INSERT INTO t(v) VALUES ('after the restore')")
            let heir = source.replicator()
            let push = await heir.push()
            expectRepaired(push, .adopted)
            #expect(push.txid > TXID(5))
            #expect(try bucketFiles(source).starts(with: before))
            try await source.expectRestorable()
            try foreign.insert()
            #expect(await heir.push().kinds == [.wal])
            try await source.expectRestorable()
            await heir.close()
        }
    }

    @Test("a clone of the device pushes, and so does this one (B31)", arguments: [true, false])
    func clone(isResident: Bool) async throws {
        try await withSource { source in
            var replicator = source.replicator()
            try await push(replicator, source, times: 4)
            await replicator.close()
            let clone = try await source.clone()
            if isResident {
                replicator = source.replicator()
                #expect(await replicator.push().outcome == .inSync(verified: true))
            }
            // The clone pushes twice, with rows of its own.
            let other = clone.replicator()
            try await push(other, clone, times: 2)
            try await clone.expectRestorable()

            // Nothing new here: still the bucket is not what it was.
            if !isResident { replicator = source.replicator() }
            let unchanged = await replicator.push()
            expectRepaired(unchanged, .ahead)
            try await source.expectRestorable()

            // And back and forth: each one restores to the one who pushed last.
            for _ in 0..<2 {
                try clone.insert(3)
                expectRepaired(await other.push(), .ahead)
                try await clone.expectRestorable()
                try source.insert(3)
                expectRepaired(await replicator.push(), .ahead)
                try await source.expectRestorable()
            }
            await other.close()
            await replicator.close()
        }
    }

    @Test("a bucket that moved under a session is noticed before the append", arguments: [1, 3])
    func movedUnderSession(jump: Int) async throws {
        try await withSource { source in
            let replicator = source.replicator()
            try await push(replicator, source, times: 3)
            // A file whose name ours would not collide with.
            let names = try bucketFiles(source)
            let newest = source.bucketPath + "/ltx/0/" + names[names.count - 1]
            let last = 3 + UInt64(jump)
            try await source.forge(from: newest, minTXID: TXID(4), maxTXID: TXID(last))
            try source.insert(5)
            let push = await replicator.push()
            expectRepaired(push, .ahead)
            #expect(push.txid > TXID(last))
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("a wiped bucket gets one new base above all TXIDs", arguments: [true, false])
    func wiped(isResident: Bool) async throws {
        try await withSource { source in
            var replicator = source.replicator()
            try await push(replicator, source, times: 4)
            if !isResident { await replicator.close() }
            try FileManager.default.removeItem(atPath: source.bucketPath)
            if !isResident { replicator = source.replicator() }
            let push = await replicator.push()
            expectRepaired(push, .wiped)
            #expect(push.kinds == [.snapshot(.bucketWiped)])
            #expect(push.txid > TXID(4))
            try await source.expectRestorable()
            try source.insert(3)
            #expect(await replicator.push().kinds == [.wal])
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("a bucket whose files lead nowhere gets a new base", arguments: [true, false])
    func leadsNowhere(isResident: Bool) async throws {
        try await withSource { source in
            var replicator = source.replicator()
            try await push(replicator, source, times: 4)
            if !isResident { await replicator.close() }
            for name in try bucketFiles(source).dropLast() {
                let path = source.bucketPath + "/ltx/0/" + name
                try FileManager.default.removeItem(atPath: path)
            }
            if isResident {
                try await replicator.resumed()
            } else {
                replicator = source.replicator()
            }
            let push = await replicator.push()
            expectRepaired(push, .broken)
            #expect(push.kinds == [.snapshot(.bucketBroken)])
            try await source.expectRestorable()
            try source.insert(3)
            #expect(await replicator.push().kinds == [.wal])
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    /// Found by chaos: the head was looked at, then the bucket was emptied, then a file arrived.
    ///
    /// It had the head that was acknowledged, and nothing before it.
    @Test("a bucket that is emptied under an upload gets a new base in the same push")
    func emptiedUnderUpload() async throws {
        try await withSource { source in
            let bucket = EmptiedBucket(DirectoryBucket(source.bucketPath))
            let replicator = Replicator(database: source.path, bucket: bucket)
            try await push(replicator, source, times: 3)
            bucket.isDoomed = true
            try source.insert(3)
            let push = await replicator.push()
            expectRepaired(push, .broken)
            #expect(push.kinds == [.wal, .snapshot(.bucketBroken)])
            try await source.expectRestorable()
            try source.insert(3)
            #expect(await replicator.push().kinds == [.wal])
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("a bucket that was set back is continued above all TXIDs", arguments: [true, false])
    func setBack(isResident: Bool) async throws {
        try await withSource { source in
            var replicator = source.replicator()
            try await push(replicator, source, times: 6)
            if !isResident { await replicator.close() }
            for name in try bucketFiles(source).suffix(3) {
                try FileManager.default.removeItem(atPath: source.bucketPath + "/ltx/0/" + name)
            }
            try source.insert(1)
            if !isResident { replicator = source.replicator() }
            let push = await replicator.push()
            expectRepaired(push, .behind)
            #expect(push.txid > TXID(6))
            if case .snapshot = push.kind { Issue.record("\(push.kinds)") }
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("a bucket with the same TXID and another history is continued", arguments: [true, false])
    func reseeded(isResident: Bool) async throws {
        try await withSource { source in
            var replicator = source.replicator()
            try await push(replicator, source, times: 3)
            if !isResident { await replicator.close() }
            try FileManager.default.removeItem(atPath: source.bucketPath)
            // Another database fills the same bucket up to the same TXID.
            let other = try Source(try source.subdirectory("other"), bucket: source.bucketPath)
            let stranger = other.replicator()
            try await push(stranger, other, times: 3)
            await stranger.close()
            if !isResident { replicator = source.replicator() }
            let push = await replicator.push()
            expectRepaired(push, .reseeded)
            #expect(push.txid > TXID(3))
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("a lost acknowledgement costs nothing", arguments: [1, 2])
    func acknowledgementLost(files: Int) async throws {
        try await withSource { source in
            var replicator = source.replicator()
            try await push(replicator, source, times: 2)
            for _ in 0..<files {
                try source.insert(5)
                _ = try await replicator.sync()
            }
            await replicator.close()
            // The bucket took them, and the process was killed before it could write that down.
            for txid in 3..<3 + files {
                let name = "000000000000000\(txid)-000000000000000\(txid).ltx"
                try FileManager.default.linkItem(
                    atPath: source.metaPath + "/ltx/0/" + name,
                    toPath: source.bucketPath + "/ltx/0/" + name
                )
            }
            replicator = source.replicator()
            let push = await replicator.push()
            #expect(push.outcome == .inSync(verified: true))
            #expect(push.lineageFinding == .acknowledgementLost)
            #expect(push.remoteTXID == TXID(UInt64(2 + files)))
            try source.insert(1)
            #expect(await replicator.push().kinds == [.wal])
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("part of a backlog in the bucket is not sent again (B32)")
    func partOfBacklog() async throws {
        try await withSource { source in
            var replicator = source.replicator()
            try await push(replicator, source, times: 1)
            for _ in 0..<20 {
                try source.insert(1)
                _ = try await replicator.sync()
            }
            await replicator.close()
            for name in try FileManager.default.contentsOfDirectory(
                atPath: source.metaPath + "/ltx/0"
            ).sorted().dropFirst().prefix(9) {
                try FileManager.default.linkItem(
                    atPath: source.metaPath + "/ltx/0/" + name,
                    toPath: source.bucketPath + "/ltx/0/" + name
                )
            }
            replicator = source.replicator()
            let push = await replicator.push()
            #expect(push.outcome == .pushed)
            #expect(push.files == 11)
            #expect(push.remoteTXID == TXID(21))
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("on-conflict: stop changes nothing and says so, until somebody decides")
    func stops() async throws {
        try await withSource { source in
            var replicator = source.replicator { $0.onConflict = .stop }
            try await push(replicator, source, times: 3)
            let names = try bucketFiles(source)
            let newest = source.bucketPath + "/ltx/0/" + names[names.count - 1]
            try await source.forge(from: newest, minTXID: TXID(4), maxTXID: TXID(4))
            let before = try bucketFiles(source)
            for _ in 0..<3 {
                try source.insert(5)
                let push = await replicator.push()
                guard case .unavailable(.lineageConflict, let detail) = push.outcome else {
                    Issue.record("\(push.outcome)")
                    continue
                }
                #expect(detail.contains(source.bucketPath) && detail.contains("ahead"))
                #expect(push.streak.count == 0)
            }
            #expect(try bucketFiles(source) == before)
            await replicator.close()
            replicator = source.replicator()
            expectRepaired(await replicator.push(), .ahead)
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("a second bucket gets a base of its own, and the first goes on")
    func secondBucket() async throws {
        try await withSource { source in
            var replicator = source.replicator()
            try await push(replicator, source, times: 4)
            await replicator.close()
            let other = try Source(adopting: source, bucket: source.bucketPath + "-2")
            replicator = other.replicator()
            let push = await replicator.push()
            #expect(push.outcome == .pushed)
            try await other.expectRestorable()
            await replicator.close()
            replicator = source.replicator()
            try source.insert(2)
            #expect(await replicator.push().outcome == .pushed)
            try await source.expectRestorable()
            await replicator.close()
        }
    }
}

/// Loses everything right before it takes a file, once.
// @unchecked because the flag is set between pushes only.
private final class EmptiedBucket: BucketClient, @unchecked Sendable {
    private let bucket: DirectoryBucket
    var isDoomed = false

    init(_ bucket: DirectoryBucket) {
        self.bucket = bucket
    }

    var address: BucketAddress { bucket.address }

    nonisolated(nonsending) func put(_ source: String, as file: BucketFile) async throws {
        if isDoomed {
            isDoomed = false
            try FileManager.default.removeItem(atPath: bucket.root + "/ltx")
        }
        try await bucket.put(source, as: file)
    }

    nonisolated(nonsending) func list(level: Int) async throws -> [BucketFile] {
        try await bucket.list(level: level)
    }

    nonisolated(nonsending) func head() async throws -> TXID {
        try await bucket.head()
    }

    nonisolated(nonsending) func open(_ file: BucketFile) async throws -> any RandomReader {
        try await bucket.open(file)
    }

    nonisolated(nonsending) func stat(level: Int, name: LTXFileName) async throws -> BucketFile? {
        try await bucket.stat(level: level, name: name)
    }

    nonisolated(nonsending) func delete(_ files: [BucketFile]) async throws {
        try await bucket.delete(files)
    }
}
