import Configuration
import Testing

@Suite("durations, sizes and spelling")
struct TextTests {
    @Test(
        "durations are read and written",
        arguments: [
            ("30s", .seconds(30), "30s"),
            ("500ms", .milliseconds(500), "500ms"),
            ("90m", .seconds(5_400), "1h30m"),
            ("1h30m", .seconds(5_400), "1h30m"),
            ("2d", .seconds(172_800), "48h"),
            ("1s500ms250us", .microseconds(1_500_250), "1s500ms250us"),
            ("0s", .zero, "0s"),
            ("-5m", .seconds(-300), "-5m"),
            ("106751d", .seconds(106_751 * 86_400), "2562024h"),
        ] as [(String, Duration, String)]
    )
    func durations(text: String, duration: Duration, printed: String) throws {
        #expect(try DurationText.parse(text) == duration)
        #expect(DurationText.text(duration) == printed)
        #expect(try DurationText.parse(printed) == duration)
    }

    @Test(
        "what is no duration is refused",
        arguments: [
            "", "-", "30", "s", "1.5s", "1m1h", "1m1m", "1h 30m", "\u{FF11}s", "30S", "+3s", "--3s",
            "106752d", "99999999999999999999s", "1h30", "106751d24h",
        ]
    )
    func badDurations(text: String) {
        #expect(throws: DurationText.Invalid.self) { try DurationText.parse(text) }
    }

    @Test(
        "sizes are read",
        arguments: [
            ("0", 0), ("4096", 4_096), ("64KiB", 65_536), ("64MiB", 64 << 20),
            ("1GB", 1_000_000_000), ("1 TiB", 1 << 40), ("5kB", 5_000), ("-1MB", -1_000_000),
            ("9223372036854775807B", .max),
        ] as [(String, Int64)]
    )
    func sizes(text: String, size: Int64) throws {
        #expect(try ByteSize.parse(text) == size)
    }

    @Test(
        "what is no size is refused",
        arguments: ["", "-", "MiB", "1.5MB", "1mb", "1 M", "9223372036854775808", "9000000TiB"]
    )
    func badSizes(text: String) {
        #expect(throws: ByteSize.Invalid.self) { try ByteSize.parse(text) }
    }

    @Test(
        "the word that was meant is found, and none where none is close",
        arguments: [
            ("intervall", "interval"), ("intreval", "interval"), ("INTERVAL", "interval"),
            ("on_start", "on-start"), ("onstart", "on-start"), ("inter", "interval"),
            ("speed", nil), ("", nil), ("x", nil), (String(repeating: "interval", count: 9), nil),
        ] as [(String, String?)]
    )
    func spelling(word: String, meant: String?) {
        #expect(Spelling.nearest(to: word, among: ["interval", "on-start"]) == meant)
    }
}
