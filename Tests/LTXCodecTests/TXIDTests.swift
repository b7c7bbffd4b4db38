import LTXCodec
import Testing

@Suite("TXIDs and file names")
struct TXIDTests {
    @Test(
        "a TXID is read from 1 to 16 hexadecimal digits",
        arguments: [
            ("0", 0), ("1", 1), ("a", 10), ("A", 10), ("0000000000000001", 1),
            ("00ff", 255), ("ffffffffffffffff", .max), ("123456789ABCDEF0", 0x1234_5678_9abc_def0),
        ] as [(String, UInt64)]
    )
    func readsTXID(text: String, value: UInt64) {
        #expect(TXID(text) == TXID(value))
    }

    @Test(
        "other text is no TXID",
        arguments: [
            "", " 1", "1 ", "0x1", "-1", "+1", "g", "00000000000000001", "1_0", "é", "１",
        ]
    )
    func refusesTXID(text: String) {
        #expect(TXID(text) == nil)
    }

    @Test("a TXID is written as 16 lower-case digits")
    func writesTXID() {
        #expect("\(TXID(0xABC))" == "0000000000000abc")
        #expect("\(TXID(.max))" == "ffffffffffffffff")
    }

    @Test("the TXID after the greatest is the greatest, so that no file makes it trap")
    func nextSaturates() {
        #expect(TXID.zero.next == TXID(1))
        #expect(TXID(.max).next == TXID(.max))
    }

    @Test("a file name is read as it is written")
    func readsName() throws {
        let name = LTXFileName(minTXID: TXID(10), maxTXID: TXID(.max))
        #expect("\(name)" == "000000000000000a-ffffffffffffffff.ltx")
        #expect(LTXFileName("\(name)") == name)
        #expect(!name.isSnapshot)
        #expect(LTXFileName(minTXID: TXID(1), maxTXID: TXID(1)).isSnapshot)
    }

    @Test(
        "other text is no file name",
        arguments: [
            "", "0000000000000001-0000000000000001", "0000000000000001-0000000000000001.ltx ",
            "0000000000000000-0000000000000001.ltx", "0000000000000000-0000000000000000.ltx",
            "0000000000000002-0000000000000001.ltx", "000000000000000A-000000000000000A.ltx",
            "000000000000000a_000000000000000a.ltx", "00000000000000001-000000000000001.ltx",
            "0000000000000001-0000000000000001.LTX", "0000000000000001-0000000000000001.tmp",
            "0000000000000001-000000000000001.ltx0", "é00000000000001-0000000000000001.ltx",
            "0000000000000001-0000000000000001.ltx.tmp",
        ]
    )
    func refusesName(text: String) {
        #expect(LTXFileName(text) == nil)
    }

    @Test("file names go by first TXID, then by last")
    func ordersNames() {
        let ranges: [(UInt64, UInt64)] = [(1, 1), (1, 4), (2, 2), (2, 16), (16, 16)]
        let names = ranges.map { LTXFileName(minTXID: TXID($0), maxTXID: TXID($1)) }
        #expect(names.reversed().sorted() == names)
    }
}
