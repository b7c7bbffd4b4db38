import Bucket
import DurableFiles
import Foundation
import LTXCodec
import Replica
import TestSupport
import Testing

@Suite("A whole upload becomes the base of what follows, or changes nothing")
struct IngestTests {
    private func check(
        _ bytes: [UInt8],
        in directory: URL,
        limit: Int64 = 1 << 30,
        pageSize: UInt32? = nil
    ) throws -> IngestImage {
        let body = directory.appending(path: "upload")
        try Data(bytes).write(to: body)
        return try IngestImage(
            checking: body.path,
            scratch: directory.appending(path: "upload.unpacked.tmp").path,
            limit: limit,
            pageSize: pageSize
        )
    }

    @Test("with a base the lineage goes on: a snapshot, then the deltas that follow it")
    func based() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            let mirror = scene.mirror()
            try scene.insert(100)
            try await scene.push()
            try await mirror.advance()
            try scene.insert(100)
            let image = try scene.note(at: TXID(7))
            let sum = Scene.checksum(of: image)
            let report = try await mirror.ingest(
                check(packed(image), in: directory, pageSize: 4096),
                base: TXID(7),
                timestamp: 1_700_000_001_234,
                checksum: sum
            )
            #expect("\(report.file)" == "9/0000000000000001-0000000000000007.ltx")
            #expect(report.checksum == sum)
            #expect(try !entries(directory).contains("upload.unpacked.tmp"))
            #expect(try await scene.bucket.listAll().last == report.file)
            #expect(mirror.status.bucketTXID == TXID(7))
            try await mirror.advance()
            #expect(mirror.status.writer == .ingest)
            #expect(mirror.status.timestamp == 1_700_000_001_234)
            #expect(try difference(scene.mirrorPath, image) == nil)

            for _ in 0..<10 {
                try scene.insert(2)
                try await scene.push()
                try await mirror.advance()
            }
            #expect(mirror.status.appliedTXID == TXID(17))
            #expect(mirror.status.writer == .replication, "freshness follows the deltas")
            #expect(mirror.status.timestamp == 1_700_000_017_000)
            #expect(try difference(scene.mirrorPath, scene.images[TXID(17)] ?? []) == nil)
            let restored = directory.appending(path: "restored.db").path
            _ = try await Restore(bucket: scene.bucket, output: restored).run()
            #expect(try difference(restored, scene.images[TXID(17)] ?? []) == nil)
        }
    }

    @Test("at the head's own TXID it heals a mirror that differs")
    func rebase() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            let mirror = scene.mirror()
            try scene.insert(100)
            try await scene.push()
            try scene.sql("UPDATE t SET v = 'lost'")
            let right = try scene.note(at: TXID(1))
            try await mirror.expect(Scene.checksum(of: right), at: TXID(1))
            try await mirror.advance()
            #expect(mirror.status.divergence != nil)
            _ = try await mirror.ingest(check(right, in: directory), base: TXID(1), timestamp: 5)
            try await mirror.advance()
            #expect(mirror.status.divergence == nil)
            #expect(mirror.status.appliedTXID == TXID(1))
            #expect(try difference(scene.mirrorPath, right) == nil)
        }
    }

    @Test("without a base it is one above the head, in any page size")
    func baseless() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            let mirror = scene.mirror()
            try scene.insert(100)
            try await scene.push()
            try await mirror.advance()
            let other = try Scene(in: directory, pageSize: 512)
            try other.insert(30)
            let image = try other.image()
            let report = try await mirror.ingest(
                check(packed(image), in: directory),
                base: nil,
                timestamp: 5
            )
            #expect(report.txid == TXID(2))
            try await mirror.advance()
            #expect(try difference(scene.mirrorPath, image) == nil)

            // Into an empty bucket it is the first.
            let fresh = Scene.mirror(in: directory.appending(path: "fresh"))
            try FileManager.default.createDirectory(
                at: directory.appending(path: "fresh"),
                withIntermediateDirectories: true
            )
            let first = try await fresh.ingest(
                check(image, in: directory),
                base: nil,
                timestamp: 5
            )
            #expect(first.txid == TXID(1))
            try await fresh.advance()
            #expect(fresh.status.appliedTXID == TXID(1))
        }
    }

    @Test("what is no sound database, not whole, too large or of other pages changes nothing")
    func refused() async throws {
        try await withTemporaryDirectory { directory in
            let scene = try Scene(in: directory)
            let mirror = scene.mirror()
            try scene.insert(300)
            try await scene.push()
            try await mirror.advance()
            let listing = try await scene.bucket.listAll()
            let before = try contents(scene.mirrorPath)
            let good = try scene.image()
            var broken = good
            for index in 4096 * 3..<4096 * 4 { broken[index] = 0x55 }
            let zip = try packed(good)
            var garbled = zip
            garbled[zip.count / 2] ^= 0xFF
            let kinds: [(String, [UInt8], IngestError.Kind)] = [
                ("empty", [], .malformed),
                ("text", Array("hello".utf8), .malformed),
                ("no database", [UInt8](repeating: 7, count: 8192), .malformed),
                ("cut in a page", Array(good.dropLast(100)), .malformed),
                ("cut by a page", Array(good.dropLast(4096)), .malformed),
                ("longer than it says", good + [UInt8](repeating: 0, count: 4096), .malformed),
                ("broken", broken, .malformed),
                ("packed and cut", Array(zip.dropLast(10)), .malformed),
                ("packed and garbled", garbled, .malformed),
                ("packed nonsense", Array(try packed(Array("hello".utf8))), .malformed),
                ("only a header", Array(good[..<100]), .malformed),
            ]
            for (name, bytes, kind) in kinds {
                #expect(throws: IngestError.self, "\(name)") {
                    do { _ = try check(bytes, in: directory) } catch let error as IngestError {
                        #expect(error.kind == kind, "\(name): \(error)")
                        throw error
                    }
                }
                #expect(try !entries(directory).contains("upload.unpacked.tmp"), "\(name)")
            }
            let size = Int64(good.count)
            #expect(throws: IngestError.tooLarge(limit: size - 1)) {
                try check(good, in: directory, limit: size - 1)
            }
            #expect(throws: IngestError.tooLarge(limit: size - 1)) {
                try check(zip, in: directory, limit: size - 1)
            }
            _ = try check(zip, in: directory, limit: size)
            #expect(throws: IngestError.pageSize(4096, expected: 512)) {
                try check(good, in: directory, pageSize: 512)
            }
            let other = try Scene(in: directory, pageSize: 1024).image()
            await #expect(throws: IngestError.pageSize(1024, expected: 4096)) {
                try await mirror.ingest(check(other, in: directory), base: TXID(2), timestamp: 1)
            }
            await #expect(throws: IngestError.stale(base: TXID(1), head: TXID(2))) {
                try scene.insert(1)
                try await scene.push()
                _ = try await mirror.ingest(check(good, in: directory), base: TXID(1), timestamp: 1)
            }
            let sum = Scene.checksum(of: good)
            let wrong = Checksum(rawValue: sum.rawValue ^ 4)
            await #expect(throws: IngestError.checksum(sum, expected: wrong)) {
                try await mirror.ingest(
                    check(good, in: directory),
                    base: TXID(9),
                    timestamp: 1,
                    checksum: wrong
                )
            }
            #expect(try await scene.bucket.list(level: 0).count == listing.count + 1)
            #expect(try await scene.bucket.list(level: 9).isEmpty)
            #expect(try difference(scene.mirrorPath, before) == nil)
            #expect(
                try entries(directory).filter { $0.hasSuffix(".tmp") || $0.hasSuffix("-rebase") }
                    .isEmpty
            )
        }
    }

    @Test("a bomb is stopped at the limit, and a window that takes all memory is refused")
    func bomb() throws {
        try withTemporaryDirectory { directory in
            var left = 1 << 30
            var bytes: [UInt8] = []
            try Zstandard.compress(
                read: { buffer in
                    let count = min(left, buffer.count)
                    buffer.initializeMemory(as: UInt8.self, repeating: 0)
                    left -= count
                    return count
                },
                write: { bytes += $0 }
            )
            #expect(bytes.count < 200_000)
            #expect(throws: IngestError.tooLarge(limit: 1 << 20)) {
                try check(bytes, in: directory, limit: 1 << 20)
            }
            #expect(try !entries(directory).contains("upload.unpacked.tmp"))
            // A frame header that asks for a window of 2 GiB (RFC 8878, section 3.1.1.1.2).
            let greedy: [UInt8] = Zstandard.magic + [0x00, 0xA8, 0x01, 0x00, 0x00]
            #expect(throws: IngestError.self) { try check(greedy, in: directory) }
        }
    }

    @Test("the compressor's streams are those of the zstd program's format, of any size")
    func streams() throws {
        var generator = SeededGenerator(seed: 3)
        for size in [0, 1, 1000, 128 << 10, 131_073, 3 << 20] {
            let bytes = (0..<size).map { _ in UInt8.random(in: 0..<9, using: &generator) }
            let zip = try packed(bytes)
            #expect(try unpacked(zip) == bytes, "\(size)")
            // Two frames are one stream.
            #expect(try unpacked(zip + zip) == bytes + bytes, "\(size)")
            #expect(throws: ZstandardError.self) { try unpacked(Array(zip.dropLast())) }
        }
    }

    private func packed(_ bytes: [UInt8]) throws -> [UInt8] {
        var (offset, output) = (0, [UInt8]())
        try Zstandard.compress(
            read: { feed(bytes, from: &offset, into: $0) },
            write: { output += $0 }
        )
        return output
    }

    private func unpacked(_ bytes: [UInt8]) throws -> [UInt8] {
        var (offset, output) = (0, [UInt8]())
        _ = try Zstandard.decompress(
            limit: 1 << 30,
            read: { feed(bytes, from: &offset, into: $0) },
            write: { output += $0 }
        )
        return output
    }

    /// Gives a few bytes at a time, so that every boundary is met.
    private func feed(
        _ bytes: [UInt8],
        from offset: inout Int,
        into buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        let count = min(buffer.count, bytes.count - offset, 40_000)
        buffer.copyBytes(from: bytes[offset..<offset + count])
        offset += count
        return count
    }
}
