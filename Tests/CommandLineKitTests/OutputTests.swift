import CommandLineKit
import Foundation
import Testing
import Wire

@Suite("tables, JSON and words for numbers")
struct OutputTests {
    @Test(
        "JSON is escaped, and keeps the order of its keys",
        arguments: [
            (["b": 1, "a": [true, nil, 1.5]], #"{"b":1,"a":[true,null,1.5]}"#),
            ([:], "{}"), ([], "[]"), ("", #""""#),
            (
                "a\"b\\c\n\r\t\u{0}\u{1F}\u{7F}\u{9B}\u{2028}/é🐭",
                #""a\"b\\c\n\r\t\u0000\u001f\u007f\u009b\u2028/é🐭""#
            ),
            (.double(.nan), "null"), (.double(-.infinity), "null"), (.double(1e300), "1e+300"),
            (.integer(.min), "-9223372036854775808"), (.unsigned(.max), "18446744073709551615"),
            (.number(UInt64.max), "18446744073709551615"), (.number(-5 as Int8), "-5"),
            (.optional(nil as Int?, JSONValue.number), "null"),
        ] as [(JSONValue, String)]
    )
    func json(value: JSONValue, line: String) {
        #expect(value.line == line)
    }

    @Test("JSON over several lines reads back to the same as on one")
    func prettyJSON() throws {
        let value: JSONValue = [
            "a": [1, [:], [], ["x": "y\n"]], "b": ["c": false, "d": nil], "e": -0.25,
        ]
        #expect(value.pretty.hasPrefix("{\n  \"a\": [\n    1,\n    {},\n    [],\n    {\n"))
        let one = try JSONSerialization.jsonObject(with: Data(value.line.utf8)) as? NSDictionary
        let many = try JSONSerialization.jsonObject(with: Data(value.pretty.utf8)) as? NSDictionary
        #expect(one != nil)
        #expect(one == many)
    }

    @Test("a table aligns its columns and obeys no control character")
    func table() {
        var table = Table([.init("name"), .init("size", .right), .init("note")])
        #expect(table.text == "name  size  note\n")
        table.add(["a", "1", "x"])
        table.add(["größer", "12345", ""])
        table.add(["\u{1B}[2J\n", "7", "z"])
        #expect(
            table.text == """
                name             size  note
                a                   1  x
                größer          12345
                \\u{1b}[2J\\u{a}      7  z

                """
        )
    }

    @Test(
        "bytes have three digits that count",
        arguments: [
            (0, "0 B"), (999, "999 B"), (1_000, "1.00 kB"), (1_234, "1.23 kB"),
            (9_994, "9.99 kB"), (9_996, "10.0 kB"), (12_345, "12.3 kB"), (99_960, "100 kB"),
            (999_499, "999 kB"), (999_500, "1.00 MB"), (473_000_000, "473 MB"),
            (-1_500, "-1.50 kB"), (.max, "9.22 EB"), (.min, "-9.22 EB"),
        ] as [(Int64, String)]
    )
    func bytes(count: Int64, text: String) {
        #expect(HumanText.bytes(count) == text)
    }

    @Test(
        "counts have commas",
        arguments: [
            (0, "0"), (999, "999"), (1_000, "1,000"), (16_300_000, "16,300,000"),
            (-1_234_567, "-1,234,567"), (.min, "-9,223,372,036,854,775,808"),
        ] as [(Int64, String)]
    )
    func counts(count: Int64, text: String) {
        #expect(HumanText.count(count) == text)
    }

    @Test(
        "durations have the unit that fits",
        arguments: [
            (.zero, "0 µs"), (.microseconds(7), "7 µs"), (.nanoseconds(999_700), "1.00 ms"),
            (.milliseconds(12), "12.0 ms"), (.microseconds(999_600), "1.00 s"),
            (.milliseconds(1_520), "1.52 s"), (.milliseconds(59_960), "1m 00s"),
            (.seconds(90), "1m 30s"), (.seconds(7_500), "2h 05m"), (.seconds(200_000), "2d 07h"),
            (.seconds(-90), "-1m 30s"), (.seconds(Int64.max), "over 99d"),
        ] as [(Duration, String)]
    )
    func durations(duration: Duration, text: String) {
        #expect(HumanText.duration(duration) == text)
    }

    @Test(
        "moments are UTC with milliseconds",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (1_709_208_000_045, "2024-02-29T12:00:00.045Z"),
            (.max, "9223372036854775807 ms"), (.min, "-9223372036854775808 ms"),
        ] as [(Int64, String)]
    )
    func moments(milliseconds: Int64, text: String) {
        #expect(HumanText.timestamp(milliseconds: milliseconds) == text)
    }
}
