import Replica
import TestSupport
import Testing

@Suite("times as text")
struct RFC3339Tests {
    @Test(
        "a time is written and read back",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (1_796_027_908_351, "2026-11-30T08:38:28.351Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
        ] as [(Int64, String)]
    )
    func roundTrips(milliseconds: Int64, text: String) {
        #expect(RFC3339.text(milliseconds) == text)
        #expect(RFC3339.milliseconds(text) == milliseconds)
    }

    @Test("any time of four-digit years comes back", arguments: 0..<200 as Range<UInt64>)
    func randomTimes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let time = Int64.random(in: -62_167_219_200_000...253_402_300_799_999, using: &random)
        #expect(RFC3339.milliseconds(RFC3339.text(time)) == time)
    }

    @Test("the ends of the number range are written without a trap")
    func extremes() {
        #expect(RFC3339.text(.max).hasSuffix("Z"))
        #expect(RFC3339.text(.min).hasPrefix("-"))
    }

    @Test(
        "other spellings are read",
        arguments: [
            ("2026-11-30T08:38:28Z", 1_796_027_908_000),
            ("2026-11-30 08:38:28.3Z", 1_796_027_908_300),
            ("2026-11-30t08:38:28.351999z", 1_796_027_908_351),
            ("2026-11-30T09:38:28.351+01:00", 1_796_027_908_351),
            ("2026-11-30T03:08:28.351-05:30", 1_796_027_908_351),
        ] as [(String, Int64)]
    )
    func reads(text: String, milliseconds: Int64) {
        #expect(RFC3339.milliseconds(text) == milliseconds)
    }

    @Test(
        "anything else is refused",
        arguments: [
            "", "2026-11-30", "2026-11-30T08:38:28", "2026-11-30T08:38Z", "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z", "2026-11-31T00:00:00Z", "2026-11-00T00:00:00Z",
            "2026-11-30T24:00:00Z", "2026-11-30T08:60:00Z", "2026-11-30T08:38:60Z",
            "2026-11-30T08:38:28.Z", "2026-11-30T08:38:28+0100", "2026-11-30T08:38:28+24:00",
            "2026-11-30T08:38:28Zx", "26-11-30T08:38:28Z", "+026-11-30T08:38:28Z",
            "2026-11-30T08:38:28.351", "२०२६-11-30T08:38:28Z",
        ]
    )
    func refuses(text: String) {
        #expect(RFC3339.milliseconds(text) == nil)
    }
}
