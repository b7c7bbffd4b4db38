import Bucket
import Foundation
import LTXCodec
import Replication
import SQLiteBridge
import TestSupport
import Testing

/// What a person or a tidy script does to files between two pushes, or under one.
@Suite(
    "Hands from outside",
    .serialized,
    .enabled(if: Peers.areInstalled, Peers.missing)
)
struct OutsideHandsTests {
    private static let first = "0000000000000001-0000000000000001.ltx"

    /// What stands in place of the newest file.
    enum Garbage: String, CaseIterable, Sendable {
        case nothing, oneByte, magicOnly, header, zeros, text

        func bytes(of file: Data) -> Data {
            switch self {
            case .nothing: Data()
            case .oneByte: file.prefix(1)
            case .magicOnly: file.prefix(4)
            case .header: file.prefix(100)
            case .zeros: Data(count: file.count)
            case .text: Data(String(repeating: "garbage\n", count: 40).utf8)
            }
        }
    }

    @Test(
        "a head that cannot be read is replaced by a new base, be it here too or in the bucket only",
        arguments: Garbage.allCases,
        [false, true]
    )
    func garbageHead(garbage: Garbage, isLinked: Bool) async throws {
        try await withSource { source in
            try source.insert(20)
            #expect(await source.replicator().pushAndClose().outcome == .pushed)
            let head = "\(source.bucketPath)/ltx/0/\(Self.first)"
            let bytes = try garbage.bytes(of: Data(contentsOf: URL(filePath: head)))
            // The file here and the one in the bucket are one file with two names.
            if !isLinked { try FileManager.default.removeItem(atPath: head) }
            let file = try FileHandle(creating: head)
            try file.write(contentsOf: bytes)
            try file.close()

            try source.insert(3)
            let replicator = source.replicator()
            let push = await replicator.push()
            #expect(push.outcome == .pushed, "\(push.outcome) \(push.notes)")
            #expect(push.kind == .snapshot(.bucketBroken))
            try await source.expectRestorable("\(garbage)")
            try source.insert(3)
            #expect(await replicator.push().kinds == [.wal])
            try await source.expectRestorable("\(garbage), afterwards")
            await replicator.close()
        }
    }

    @Test(
        "a name above which nothing can be numbered is refused, and forgotten when it is gone",
        arguments: [
            "0/ffffffffffffffff-ffffffffffffffff.ltx", "0/fffffffffffffffe-fffffffffffffffe.ltx",
            "9/0000000000000001-ffffffffffffffff.ltx",
        ]
    )
    func lastName(name: String) async throws {
        try await withSource { source in
            try source.insert(20)
            #expect(await source.replicator().pushAndClose().outcome == .pushed)
            let stray = URL(filePath: "\(source.bucketPath)/ltx/\(name)")
            try FileManager.default.createDirectory(
                at: stray.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try FileManager.default.copyItem(
                at: URL(filePath: "\(source.bucketPath)/ltx/0/\(Self.first)"),
                to: stray
            )
            let replicator = source.replicator()
            for _ in 0..<2 {
                try source.insert(1)
                let push = await replicator.push()
                #expect(push.outcome.reason == "bucket-unusable", "\(push.outcome)")
            }
            try FileManager.default.removeItem(at: stray)
            try source.insert(1)
            let push = await replicator.push()
            #expect(push.outcome == .pushed, "\(push.outcome)")
            #expect(push.txid < TXID(100))
            if case .snapshot = push.kind { Issue.record("\(push.kind)") }
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("the directory of a replicator's own files is no bucket for it")
    func ownDirectory() async throws {
        try await withSource { source in
            try source.insert(20)
            #expect(await source.replicator().pushAndClose().outcome == .pushed)
            try source.insert(1)
            for path in [source.metaPath, source.metaPath + "/ltx"] {
                let push = await source.replicator(bucket: DirectoryBucket(path)).pushAndClose()
                #expect(push.outcome.reason == "not-a-bucket", "\(push.outcome)")
            }
            #expect(await source.replicator().pushAndClose().outcome == .pushed)
            try await source.expectRestorable()
        }
    }

    @Test("its own directory is deleted under an open replicator: made again, no snapshot")
    func directoryDeleted() async throws {
        try await withSource { source in
            try source.insert(20)
            let replicator = source.replicator()
            #expect(await replicator.push().outcome == .pushed)
            try FileManager.default.removeItem(atPath: source.metaPath)
            try source.insert(3)
            let push = await replicator.push()
            #expect(push.outcome == .pushed, "\(push.outcome)")
            #expect(push.notes.contains { $0.contains("was taken away") })
            if case .snapshot = push.kind { Issue.record("\(push.kind)") }
            try await source.expectRestorable()
            try source.insert(3)
            #expect(await replicator.push().kinds == [.wal])
            await replicator.close()
        }
    }

    @Test("its lock is deleted and taken by another: the first gives way and says so")
    func lockDeleted() async throws {
        try await withSource { source in
            try source.insert(20)
            let replicator = source.replicator()
            #expect(await replicator.push().outcome == .pushed)
            try FileManager.default.removeItem(atPath: source.metaPath + "/dormouse-lock")
            let heir = source.replicator()
            try source.insert(3)
            #expect(await heir.push().outcome == .pushed)
            try source.insert(3)
            let push = await replicator.push()
            #expect(push.outcome.reason == "database-claimed", "\(push.outcome)")
            #expect(await heir.push().outcome == .pushed)
            try await source.expectRestorable()
            await heir.close()
            #expect(await replicator.push().outcome.isSuccess)
            await replicator.close()
        }
    }

    @Test(
        "a WAL that is cut in place locks nobody out for longer than a push",
        arguments: PinMode.allCases,
        [0, 20_000]
    )
    func walCut(pin: PinMode, bytes: Int) async throws {
        try await withSource { source in
            try source.app.close()
            let foreign = try ForeignProcess(source.path)
            try foreign.open()
            try foreign.insert(200)
            try foreign.sql("PRAGMA wal_checkpoint(TRUNCATE)")
            try foreign.insert(20)
            let replicator = source.replicator { $0.pin = pin }
            #expect(await replicator.push().outcome == .pushed)
            try foreign.insert(5)
            try foreign.close()
            let wal = source.path + "-wal"
            try #require(try Data(contentsOf: URL(filePath: wal)).count > bytes)
            truncate(wal, off_t(bytes))
            let push = await replicator.push()
            #expect(!push.outcome.isSuccess, "\(push.outcome)")
            // Whoever opens the database now finds it as it is without those commits.
            try foreign.open()
            try foreign.insert(1)
            let after = await replicator.push()
            #expect(after.outcome == .pushed, "\(after.outcome)")
            try foreign.close()
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("a push says how many pages it ships, whoever made the files")
    func pagesOfAnotherProcess() async throws {
        try await withSource { source in
            try source.insert(100)
            let made = await source.replicator().pushAndClose()
            let other = DirectoryBucket(try source.subdirectory("other").path)
            let push = await source.replicator(bucket: other).pushAndClose()
            #expect(push.outcome == .pushed)
            #expect(push.pages == made.pages && push.pages > 1)
        }
    }

    @Test("where nothing was ever kept, a failure leaves no note about keeping")
    func nothingKept() async throws {
        try await withSource { source in
            let foreign = try ForeignProcess(source.path)
            try source.app.close()
            try foreign.open()
            try foreign.sql("PRAGMA locking_mode=EXCLUSIVE")
            try foreign.insert(1)
            let push = await source.replicator().pushAndClose()
            #expect(push.outcome.reason == "lock-busy", "\(push.outcome)")
            #expect(push.notes.isEmpty, "\(push.notes)")
            try foreign.close()
        }
    }
}

extension Replicator {
    fileprivate func pushAndClose() async -> PushRecord {
        let record = await push()
        await close()
        return record
    }
}

extension FileHandle {
    /// Opens for writing what is there, emptied, or makes it.
    fileprivate convenience init(creating path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        guard descriptor >= 0 else { throw POSIXError(.EIO) }
        self.init(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}
