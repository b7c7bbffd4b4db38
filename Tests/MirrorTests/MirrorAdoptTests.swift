import Bucket
import DurableFiles
import Foundation
import LTXCodec
import Replica
import TestSupport
import Testing

@Suite("A state that was made beside a mirror")
struct MirrorAdoptTests {
    @Test("becomes the mirror where none is, and deltas go on from it")
    func adopted() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            try scene.insert(200)
            try await scene.push()
            let mirror = scene.mirror()
            #expect(mirror.takesImages)
            let image = try madeImage(scene.image(), TXID(1), in: directory)
            let staged = try #require(try entries(directory).first { $0.hasSuffix(".tmp") })
            let made = try FileStatus.of(directory.appending(path: staged).path)?.identity
            try await mirror.adopt(image)
            #expect(try FileStatus.of(scene.mirrorPath)?.identity == made)
            #expect(try !entries(directory).contains(staged), "it has one name")
            #expect(!mirror.takesImages)
            #expect(mirror.status.appliedTXID == TXID(1))
            #expect(mirror.status.writer == .replication)
            #expect(mirror.status.checksum == Scene.checksum(of: scene.images[scene.head] ?? []))
            #expect(try difference(scene.mirrorPath, scene.images[scene.head] ?? []) == nil)
            #expect(try await stock(scene.mirrorPath, "PRAGMA integrity_check") == "ok\n")

            try scene.sql("UPDATE t SET v = randomblob(300) WHERE id % 7 = 0")
            try await scene.push()
            try await mirror.advance()
            #expect(mirror.status.appliedTXID == TXID(2))
            #expect(try difference(scene.mirrorPath, scene.images[scene.head] ?? []) == nil)
            #expect(try FileStatus.of(scene.mirrorPath)?.identity == made, "in place")
            await mirror.close()

            let later = scene.mirror()
            try await later.open()
            #expect(later.status.appliedTXID == TXID(2))
        }
    }

    @Test("is not taken where a file is that somebody may have open, not even an empty one")
    func refused() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            try scene.insert(200)
            try await scene.push()
            let reader = try Shell(scene.mirrorPath, readOnly: false)
            #expect(try reader.run("SELECT count(*) FROM sqlite_schema") == "0\n")
            let before = try #require(try FileStatus.of(scene.mirrorPath)).identity
            let mirror = scene.mirror()
            try await mirror.adopt(madeImage(scene.image(), TXID(1), in: directory))
            #expect(mirror.status.appliedTXID == .zero)
            #expect(try entries(directory).allSatisfy { !$0.hasSuffix(".tmp") })
            try await mirror.advance()
            #expect(try FileStatus.of(scene.mirrorPath)?.identity == before)
            #expect(try reader.run("SELECT count(*) FROM t") == "200\n")
            #expect(try difference(scene.mirrorPath, scene.images[scene.head] ?? []) == nil)
        }
    }

    @Test("counts as diverged when its writer said another checksum")
    func diverged() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            try await scene.push()
            let mirror = scene.mirror()
            let wrong = Checksum(rawValue: .max)
            try await mirror.expect(wrong, at: TXID(1))
            try await mirror.adopt(madeImage(scene.image(), TXID(1), in: directory))
            #expect(mirror.status.divergence?.expected == wrong)
        }
    }

    @Test("what a writer said of a state that is not applied yet outlives a restart")
    func said() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            try await scene.push()
            let mirror = scene.mirror()
            try await mirror.advance()
            try scene.insert(20)
            try await scene.push()
            let wrong = Checksum(rawValue: .max)
            try await mirror.expect(wrong, at: TXID(2))
            try await mirror.expect(wrong, at: TXID(1000))
            await mirror.close()

            let later = scene.mirror()
            try await later.advance()
            #expect(later.status.divergence?.txid == TXID(2))
            #expect(later.status.divergence?.expected == wrong)
            let noted = scene.mirrorPath + "-expected"
            #expect(FileManager.default.fileExists(atPath: noted), "of TXID 1000")
            await later.restart()
            #expect(!FileManager.default.fileExists(atPath: noted))
        }
    }
}

/// A state in a file beside a mirror, as the sink makes it while a snapshot arrives.
func madeImage(_ image: [UInt8], _ txid: TXID, in directory: URL) throws -> MirrorImage {
    let size = Scene.pageSize(of: image)
    let writer = try MirrorImageWriter(
        directory.appending(path: "\(UUID().uuidString).tmp").path,
        header: LTXHeader(
            pageSize: UInt32(size),
            commit: UInt32(image.count / size),
            minTXID: TXID(1),
            maxTXID: txid,
            timestamp: 1_700_000_000_000
        )
    )
    for index in 0..<image.count / size {
        try image[index * size..<(index + 1) * size].withUnsafeBytes {
            try writer.add(Pgno(index + 1), $0)
        }
    }
    return try writer.finish(
        level: 0,
        name: LTXFileName(minTXID: TXID(1), maxTXID: txid),
        fileChecksum: Checksum(rawValue: .max)
    )
}
