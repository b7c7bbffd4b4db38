import Telemetry
import Testing

@Suite("logfmt lines")
struct LogfmtTests {
    @Test("a record is one line: time, level, sentence, kind, fields in their order")
    func wholeLine() {
        let record = JournalRecord(
            .push,
            .notice,
            "push ended",
            [.outcome: "pushed", .streak: FieldValue(0), .durationUsec: "1500"]
        )
        let line = Logfmt.line(record, seconds: 1_709_208_000, nanoseconds: 45_999_999)
        #expect(
            String(decoding: line, as: UTF8.self)
                == "time=2024-02-29T12:00:00.045Z level=notice msg=\"push ended\" kind=push"
                + " outcome=pushed streak=0 duration_usec=1500\n"
        )
    }

    @Test(
        "values are quoted and escaped as they need it",
        arguments: [
            ("plain", "plain"),
            ("", #""""#),
            ("two words", #""two words""#),
            ("a=b", #""a=b""#),
            (#"say "hi""#, #""say \"hi\"""#),
            (#"C:\x"#, #""C:\\x""#),
            ("line\nbreak\r\ttab", #""line\nbreak\r\ttab""#),
            ("\u{0}\u{1B}[31m\u{7F}", #""\x00\x1b[31m\x7f""#),
            ("Grüße 🐭", "\"Grüße 🐭\""),
            ("\u{85}\u{9B}", #""\xc2\x85\xc2\x9b""#),
            ("\u{2028}", #""\xe2\x80\xa8""#),
        ]
    )
    func values(text: String, written: String) {
        #expect(value(FieldValue(text)) == written)
    }

    @Test(
        "bytes that are not UTF-8 are escaped, and those around them are not",
        arguments: [
            ([0xFF], #""\xff""#),
            ([0x61, 0xC3, 0x62], #""a\xc3b""#),
            ([0xC3, 0xBC, 0xC3], #""ü\xc3""#),
            ([0xED, 0xA0, 0x80], #""\xed\xa0\x80""#),
            ([0xC0, 0x80], #""\xc0\x80""#),
            ([0xF5, 0x80, 0x80, 0x80], #""\xf5\x80\x80\x80""#),
        ] as [([UInt8], String)]
    )
    func bytes(bytes: [UInt8], written: String) {
        #expect(value(FieldValue(bytes: bytes)) == written)
    }

    private func value(_ value: FieldValue) -> String {
        let record = JournalRecord(.push, .info, "x", [.reason: value])
        let line = Logfmt.line(record, seconds: 0, nanoseconds: 0)
        let text = String(decoding: line, as: UTF8.self)
        let parts = text.split(separator: " reason=", maxSplits: 1)
        return parts.count == 2 ? String(parts[1].dropLast()) : "no reason in \(text)"
    }
}
