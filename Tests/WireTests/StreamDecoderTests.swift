import LTXCodec
import TestSupport
import Testing
import Wire

@Suite("follow streams and listings, in whatever pieces")
struct StreamDecoderTests {
    private static let name = "0000000000000001-0000000000000002.ltx"

    /// Takes a stream apart; what it holds before it is found malformed, too.
    private func parts(
        _ bytes: [UInt8],
        pieces: (inout SeededGenerator) -> Int,
        seed: UInt64 = 1
    ) -> (frames: [StreamFrame], payload: [UInt8], error: String?, isWhole: Bool) {
        var random = SeededGenerator(seed: seed)
        var decoder = StreamDecoder()
        var frames: [StreamFrame] = []
        var payload: [UInt8] = []
        var rest = bytes[...]
        do throws(StreamDecoder.Malformed) {
            while !rest.isEmpty {
                let count = min(rest.count, max(1, pieces(&random)))
                decoder.append(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
                while let part = try decoder.next() {
                    switch part {
                    case .frame(let frame): frames.append(frame)
                    case .bytes(let bytes): payload += bytes
                    }
                }
            }
        } catch {
            return (frames, payload, error.description, false)
        }
        return (frames, payload, nil, decoder.isBetweenFrames)
    }

    private var stream: [UInt8] {
        var bytes = Array("liters-stream 1\n".utf8)
        bytes += Array("ping 0000000000000000\nltx 0 0000000000000001 0000000000000002 5\n".utf8)
        bytes += [10, 10, 0, 255, 10]
        bytes += Array("ltx 0 0000000000000003 0000000000000003 0\n".utf8)
        bytes += Array("gap 00000000000000ff\n".utf8)
        return bytes
    }

    @Test("the pieces do not matter", arguments: [1, 2, 7, 16, 4096])
    func pieces(size: Int) throws {
        let (frames, payload, error, isWhole) = parts(stream, pieces: { _ in size })
        #expect(error == nil)
        #expect(isWhole)
        #expect(payload == [10, 10, 0, 255, 10])
        let first = LTXFileName(minTXID: TXID(1), maxTXID: TXID(2))
        let second = LTXFileName(minTXID: TXID(3), maxTXID: TXID(3))
        #expect(
            frames == [
                .ping(.zero), .ltx(level: 0, name: first, sizeInBytes: 5),
                .ltx(level: 0, name: second, sizeInBytes: 0), .gap(TXID(255)),
            ]
        )
    }

    @Test("a cut stream is noticed at every byte but those between frames")
    func cuts() {
        let whole = stream
        var ends: [Int] = []
        for count in 1..<whole.count {
            let outcome = parts(Array(whole[..<count]), pieces: { _ in 5 })
            #expect(outcome.error == nil)
            if outcome.isWhole { ends.append(count) }
        }
        // Behind the preamble and each frame but the last, which is the whole stream.
        #expect(ends.count == 4)
    }

    @Test(
        "what is no stream of this version is refused",
        arguments: [
            "liters-stream 2\n", "<html>\n", "\n", "liters-stream 1\nping 1\n",
            "liters-stream 1\npong 0000000000000001\n", "liters-stream 1\nping 000000000000000g\n",
            "liters-stream 1\nltx 0 0000000000000002 0000000000000001 5\n",
            "liters-stream 1\nltx 0 0000000000000001 0000000000000001 -5\n",
            "liters-stream 1\nltx 10 0000000000000001 0000000000000001 5\n",
            "liters-stream 1\nltx 0 0000000000000001 0000000000000001 99999999999999999999\n",
        ]
    )
    func malformed(text: String) {
        #expect(parts(Array(text.utf8), pieces: { _ in 3 }).error != nil)
    }

    @Test("an endless line is refused before it is collected")
    func endlessLine() {
        let bytes = [UInt8](repeating: UInt8(ascii: "x"), count: StreamDecoder.lineLimit)
        #expect(parts(bytes, pieces: { _ in 100 }).error?.contains("too long") == true)
    }

    @Test(
        "any bytes are taken apart the same way in any pieces",
        arguments: 0..<300 as Range<UInt64>
    )
    func anyBytes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var bytes = stream + stream.dropFirst(16)
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let index = Int.random(in: 0..<bytes.count, using: &random)
            bytes[index] = .random(in: 0...255, using: &random)
        }
        let whole = parts(bytes, pieces: { _ in .max })
        let torn = parts(bytes, pieces: { .random(in: 1...9, using: &$0) }, seed: seed)
        #expect(whole.frames == torn.frames)
        #expect(whole.payload == torn.payload)
        #expect(whole.error == torn.error)
        for case .ltx(let level, _, let size) in whole.frames {
            #expect((0...9).contains(level))
            #expect(size >= 0)
        }
    }

    @Test("of a listing the lines that can be read are taken")
    func listing() {
        let text = """
            \(Self.name) 4196 1783804999123
            \(Self.name) 4196 -
            \(Self.name)  4196 -
            \(Self.name) -1 -
            \(Self.name) 99999999999999999999 -
            \(Self.name) 1
            README.md 10 -
            0000000000000002-0000000000000001.ltx 1 -

            \(Self.name) 5 0
            """
        let lines = Listing.lines(Array(text.utf8))
        #expect(lines.map(\.sizeInBytes) == [4196, 4196, 5])
        #expect(lines.map(\.timestamp) == [1_783_804_999_123, nil, 0])
        for line in lines { #expect(ListingLine("\(line)") == line) }
    }

    @Test("no listing makes it trap", arguments: 0..<200 as Range<UInt64>)
    func anyListing(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var bytes = Array("\(Self.name) 4196 17\n\(Self.name) 1 -\n".utf8)
        for _ in 0..<6 {
            let index = Int.random(in: 0..<bytes.count, using: &random)
            bytes[index] = .random(in: 0...255, using: &random)
        }
        for line in Listing.lines(bytes) {
            #expect(line.sizeInBytes >= 0)
            #expect(line.name.minTXID <= line.name.maxTXID)
        }
    }
}
