import LTXCodec
import TestSupport
import Testing

@Suite("Golden LTX files", .enabled(if: Shared.isPresent, Shared.missing))
struct GoldenTests {
    @Test(
        "a malformed file is refused for its first fault",
        arguments: Manifest.shared?.ltxBad ?? []
    )
    func refusesBadFile(file: Manifest.BadFile) throws {
        let bytes = try goldenBytes(file.file)
        let allowed = [file.expect.category] + file.expect.alsoFine
        for chunk in [Int.max, 1] {
            let category = try #require(try faultCategory(bytes, chunk: chunk))
            #expect(allowed.contains(category))
        }
    }

    @Test("an odd but valid file is accepted", arguments: Manifest.shared?.ltxOk ?? [])
    func acceptsGoodFile(file: Manifest.GoodFile) throws {
        let bytes = try goldenBytes(file.file)
        #expect(try facts(of: bytes) == file.facts)
        #expect(try facts(of: bytes, chunk: 1) == file.facts)
    }

    @Test("a file that Litestream wrote holds what it should", arguments: GoldenBucketFile.all)
    func readsBucketFile(file: GoldenBucketFile) throws {
        #expect(try facts(of: goldenBytes(file.path)) == file.facts)
    }

    /// Everything the manifest says of a file, from a full check and from its index.
    private func facts(of bytes: [UInt8], chunk: Int = .max) throws -> Manifest.Facts {
        let file = try DecodedFile(bytes, chunk: chunk)
        let header = file.header
        var reader = try LTXPageReader(size: Int64(bytes.count), readAt: randomAccess(to: bytes))
        var page = [UInt8](repeating: 0, count: Int(header.pageSize))
        for expected in file.pages {
            #expect(
                try page.withUnsafeMutableBytes { try reader.readPage(expected.pgno, into: $0) }
            )
            #expect(page == expected.bytes)
        }
        let flags = Set(reader.index.map { bytes[Int($0.offset) + 5] })
        let encodings = flags.map { $0 == 1 ? "block" : "frame" }.sorted()
        #expect(reader.header == header)
        #expect(reader.trailer == file.trailer)
        return Manifest.Facts(
            minTxid: "\(header.minTXID)",
            maxTxid: "\(header.maxTXID)",
            size: bytes.count,
            encoding: encodings.isEmpty ? "none" : encodings.joined(separator: "+"),
            flags: header.flags,
            pageSize: header.pageSize,
            commit: header.commit,
            timestampMs: header.timestamp,
            preApplyChecksum: "\(header.preApplyChecksum)",
            postApplyChecksum: "\(file.trailer.postApplyChecksum)",
            fileChecksum: "\(file.trailer.fileChecksum)",
            walOffset: header.walOffset,
            walSize: header.walSize,
            walSalt1: header.walSalt1,
            walSalt2: header.walSalt2,
            nodeId: "\(TXID(header.nodeID))",
            pageCount: file.pages.count,
            pages: ranges(file.pages.map(\.pgno)),
            indexOffset: Int(reader.indexRange.lowerBound),
            indexSize: reader.indexRange.count
        )
    }
}

/// "1-3,7" for ascending numbers.
private func ranges(_ numbers: [Pgno]) -> String {
    var parts: [ClosedRange<Pgno>] = []
    for number in numbers {
        if let last = parts.last, last.upperBound + 1 == number {
            parts[parts.count - 1] = last.lowerBound...number
        } else {
            parts.append(number...number)
        }
    }
    return parts.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
        .joined(separator: ",")
}
