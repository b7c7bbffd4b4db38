import LTXCodec
import TestSupport
import Testing

@Suite("LTX header")
struct LTXHeaderTests {
    static let good = LTXHeader(
        pageSize: 4096,
        commit: 9,
        minTXID: TXID(2),
        maxTXID: TXID(3),
        timestamp: -5,
        walOffset: 32,
        walSize: 4120,
        walSalt1: 1,
        walSalt2: 2,
        nodeID: 3
    )

    private static func changed(_ change: (inout LTXHeader) -> Void) -> LTXHeader {
        var header = good
        change(&header)
        return header
    }

    private func bytes(_ header: LTXHeader) -> [UInt8] {
        var bytes = [UInt8](repeating: 0xEE, count: LTXHeader.size)
        bytes.withUnsafeMutableBytes { header.encode(into: $0) }
        return bytes
    }

    private func decoded(_ bytes: [UInt8]) throws -> LTXHeader {
        try bytes.withUnsafeBytes { try LTXHeader(decoding: $0) }
    }

    @Test("a header is read as it is written, reserved bytes and all")
    func roundTrip() throws {
        #expect(try decoded(bytes(LTXHeaderTests.good)) == LTXHeaderTests.good)
        var random = SeededGenerator(seed: 100)
        for _ in 0..<200 {
            var raw = bytes(LTXHeaderTests.good)
            for place in Array(12..<16) + Array(32..<40) + Array(64..<100) {
                raw[place] = UInt8.random(in: 0...255, using: &random)
            }
            #expect(bytes(try decoded(raw)) == raw)
        }
    }

    @Test("headers that differ in a reserved byte differ")
    func reservedBytesCount() throws {
        var raw = bytes(LTXHeaderTests.good)
        raw[99] = 1
        #expect(try decoded(raw) != LTXHeaderTests.good)
    }

    @Test("every page size of SQLite is fine", arguments: (9...16).map { UInt32(1) << $0 })
    func pageSizes(size: UInt32) throws {
        try LTXHeaderTests.changed { $0.pageSize = size }.validate()
    }

    @Test(
        "a bad field is named",
        arguments: [
            (changed { $0.flags = 1 }, .headerFlags(1)),
            (changed { $0.flags = 0x8000_0002 }, .headerFlags(0x8000_0002)),
            (changed { $0.pageSize = 0 }, .pageSize(0)),
            (changed { $0.pageSize = 256 }, .pageSize(256)),
            (changed { $0.pageSize = 513 }, .pageSize(513)),
            (changed { $0.pageSize = 131_072 }, .pageSize(131_072)),
            (changed { $0.pageSize = .max }, .pageSize(.max)),
            (changed { $0.minTXID = .zero }, .txidRange(min: .zero, max: TXID(3))),
            (changed { $0.maxTXID = TXID(1) }, .txidRange(min: TXID(2), max: TXID(1))),
            (changed { $0.walOffset = -1 }, .walField(.offset, value: -1)),
            (changed { $0.walSize = .min }, .walField(.size, value: .min)),
            (changed { $0.walOffset = 0 }, .walField(.size, value: 4120)),
            (
                changed {
                    $0.walOffset = 0
                    $0.walSize = 0
                }, .walField(.salt1, value: 1)
            ),
            (
                changed { $0.preApplyChecksum = Checksum(crc: 7) },
                .checksumField(.preApply, value: Checksum(crc: 7), offset: 40)
            ),
            (changed { $0.flags = 0 }, .checksumField(.preApply, value: .none, offset: 40)),
            (
                changed {
                    $0.flags = 0
                    $0.preApplyChecksum = Checksum(rawValue: 7)
                }, .checksumField(.preApply, value: Checksum(rawValue: 7), offset: 40)
            ),
            (
                changed {
                    $0.flags = 0
                    $0.minTXID = TXID(1)
                    $0.preApplyChecksum = Checksum(crc: 7)
                }, .checksumField(.preApply, value: Checksum(crc: 7), offset: 40)
            ),
        ] as [(LTXHeader, LTXError)]
    )
    func namesBadField(header: LTXHeader, error: LTXError) {
        #expect(throws: error) { try header.validate() }
        #expect(throws: error) { try decoded(bytes(header)) }
        #expect(throws: error) { _ = try LTXEncoder(header: header) { _ in } }
    }

    @Test("fewer bytes than a header are a file cut short", arguments: [0, 1, 60, 99])
    func short(count: Int) {
        let raw = Array(bytes(LTXHeaderTests.good).prefix(count))
        #expect(throws: LTXError.truncated(.header, offset: Int64(count))) { try decoded(raw) }
    }

    @Test("what an error says names field, place and value")
    func describesErrors() {
        #expect(
            "\(LTXError.pageSize(513))"
                == "page size at offset 8 is 513: must be a power of two from 512 to 65536"
        )
        #expect(
            "\(LTXError.walField(.salt1, value: 9))"
                == "WAL salt-1 at offset 64 is 9: set although the WAL offset is 0"
        )
        #expect(
            "\(LTXError.truncated(.pageData, offset: 120))"
                == "file ends at offset 120, in the page data"
        )
    }
}
