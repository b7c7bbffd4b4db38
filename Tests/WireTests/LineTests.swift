import LTXCodec
import Testing
import Wire

@Suite("Lines of the protocol")
struct LineTests {
    private static let file = LTXFileName(minTXID: TXID(1), maxTXID: TXID(12))

    private static let lines: [(String, ListingLine)] = [
        (
            "0000000000000001-000000000000000c.ltx 4196 1783804999123",
            ListingLine(name: file, sizeInBytes: 4_196, timestamp: 1_783_804_999_123)
        ),
        (
            "0000000000000001-000000000000000c.ltx 0 -",
            ListingLine(name: file, sizeInBytes: 0, timestamp: nil)
        ),
        (
            "0000000000000001-000000000000000c.ltx 9223372036854775807 0",
            ListingLine(name: file, sizeInBytes: .max, timestamp: 0)
        ),
    ]

    @Test("a line of a listing is read and printed", arguments: lines)
    func listing(text: String, line: ListingLine) {
        #expect(ListingLine(text) == line)
        #expect(line.description == text)
    }

    @Test(
        "what is no line of a listing is none",
        arguments: [
            "", " ", "\(file)", "\(file) 1", "\(file) 1 2 3", "\(file)  1 2", "\(file) 1 2 ",
            "\(file) -1 2", "\(file) 1 -2", "\(file) + 2", "\(file) 1 x", "\(file) 1 --",
            "\(file) 9223372036854775808 1", "\(file) 1 9223372036854775808", "x 1 2",
            "\(file) ١ 2", "\(file) 1\t2 3", "\(file) 1 2\r",
        ]
    )
    func noListing(text: String) {
        #expect(ListingLine(text) == nil)
    }

    private static let frames: [(String, StreamFrame)] = [
        (
            "ltx 0 0000000000000001 000000000000000c 77",
            .ltx(level: 0, name: file, sizeInBytes: 77)
        ),
        (
            "ltx 9 0000000000000001 000000000000000c 9223372036854775807",
            .ltx(level: 9, name: file, sizeInBytes: .max)
        ),
        ("ping 0000000000000000", .ping(.zero)),
        ("ping ffffffffffffffff", .ping(TXID(.max))),
        ("gap 0000000000000010", .gap(TXID(16))),
        ("reset 0000000000000001", .reset(TXID(1))),
    ]

    @Test("a frame of a stream is read and printed", arguments: frames)
    func frame(text: String, frame: StreamFrame) {
        #expect(StreamFrame(text) == frame)
        #expect(frame.line == text + "\n")
    }

    @Test(
        "what is no frame is none",
        arguments: [
            "", "ping", "ping 1", "ping 00000000000000001", "ping 000000000000000G",
            "ping 000000000000000A", "ping  0000000000000000", "PING 0000000000000000",
            "gap 0000000000000001 2", "end", "liters-stream 1",
            "ltx 0 0000000000000001 000000000000000c",
            "ltx 0 0000000000000001 000000000000000c 1 2",
            "ltx 10 0000000000000001 000000000000000c 1",
            "ltx -1 0000000000000001 000000000000000c 1",
            "ltx 0 0000000000000002 0000000000000001 1",
            "ltx 0 0000000000000000 0000000000000001 1",
            "ltx 0 1 2 3", "ltx 0 0000000000000001 000000000000000c -1",
            "ltx 0 0000000000000001 000000000000000c 9223372036854775808",
        ]
    )
    func noFrame(text: String) {
        #expect(StreamFrame(text) == nil)
    }
}
