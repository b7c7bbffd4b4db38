import Foundation
import LTXCodec
import TestSupport
import Testing

@Suite("LTX bytes from anywhere")
struct FuzzTests {
    /// Puts bytes through everything that reads them; only a trap or a hang is a failure.
    private func read(_ file: [UInt8], using random: inout SeededGenerator) throws {
        let chunk = [1, 13, 500, Int.max].randomElement(using: &random) ?? 1
        _ = try? DecodedFile(
            file,
            chunk: chunk,
            bufferSize: Int.random(in: 1...600, using: &random)
        )
        try? readPages(file)
        let input = LTXMergeInput(name: "input", read: source(of: file))
        _ = try? LTXCompactor.compact([input, input]) { _ in }
    }

    private func readPages(_ file: [UInt8]) throws {
        var reader = try LTXPageReader(size: Int64(file.count), readAt: randomAccess(to: file))
        var page = [UInt8](repeating: 0, count: Int(reader.header.pageSize))
        for entry in reader.index {
            _ = try page.withUnsafeMutableBytes { try reader.readPage(entry.pgno, into: $0) }
        }
    }

    @Test("decoding never traps, whatever the bytes", arguments: 0..<64 as Range<UInt64>)
    func arbitraryBytes(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<32 {
            var file = random.bytes(Int.random(in: 0...400, using: &random))
            if Bool.random(using: &random), file.count >= 100 {
                // Past the header, so that the rest is looked at.
                let header = LTXHeader(
                    pageSize: 512,
                    commit: 1 << 20,
                    minTXID: TXID(2),
                    maxTXID: TXID(2)
                )
                file.withUnsafeMutableBytes { header.encode(into: $0) }
            }
            try read(file, using: &random)
        }
    }

    @Test(
        "decoding never traps on a changed golden file",
        .enabled(if: Shared.isPresent, Shared.missing),
        arguments: 0..<64 as Range<UInt64>
    )
    func mutations(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let files = FuzzTests.corpus
        for _ in 0..<100 {
            var file = try #require(files.randomElement(using: &random))
            let donor = try #require(files.randomElement(using: &random))
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                mutate(&file, donor, using: &random)
            }
            try read(file, using: &random)
        }
    }

    private static let corpus: [[UInt8]] = {
        guard let manifest = Manifest.shared else { return [] }
        let paths =
            manifest.ltxOk.map(\.file) + manifest.ltxBad.map(\.file)
            + GoldenBucketFile.all.filter { $0.facts.size < 4096 }.map(\.path)
        return paths.compactMap { try? goldenBytes($0) }.filter { $0.count < 8192 }
    }()

    private func mutate(
        _ file: inout [UInt8],
        _ donor: [UInt8],
        using random: inout SeededGenerator
    ) {
        guard !file.isEmpty else { return }
        let place = Int.random(in: 0..<file.count, using: &random)
        let count = min(Int.random(in: 1...16, using: &random), file.count - place)
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
            file[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1:
            file.replaceSubrange(place..<place + count, with: random.bytes(count))
        case 2:
            file.removeSubrange(place..<place + count)
        case 3:
            file.insert(contentsOf: random.bytes(count), at: place)
        case 4:
            let extreme: [UInt8] = [0, 0x7F, 0x80, 0xFF]
            let byte = extreme.randomElement(using: &random) ?? 0
            file.replaceSubrange(
                place..<place + count,
                with: [UInt8](repeating: byte, count: count)
            )
        default:
            let start = min(place, donor.count)
            file.replaceSubrange(place..., with: donor[start...])
        }
    }
}
