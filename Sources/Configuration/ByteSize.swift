/// Sizes as people write them: `4096`, `64KiB`, `64MiB`, `1GB`.
public enum ByteSize {
    /// Why a text is not a size.
    public struct Invalid: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    private static let units: [String: Int64] = [
        "": 1, "B": 1,
        "kB": 1_000, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000,
        "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
        "PiB": 1 << 50,
    ]

    /// The shortest text that reads back as the same size.
    public static func text(_ bytes: Int64) -> String {
        let factors: [(Int64, String)] = [
            (1 << 50, "PiB"), (1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"),
            (1 << 10, "KiB"),
        ]
        for (factor, unit) in factors where bytes != 0 && bytes % factor == 0 {
            return "\(bytes / factor)\(unit)"
        }
        return "\(bytes)"
    }

    /// Reads a whole number of bytes, decimal (`kB`, `MB`, `GB`, `TB`) or binary (`KiB`, …).
    ///
    /// A sign is read, so that callers can say that a negative size makes no sense.
    public static func parse(_ text: String) throws(Invalid) -> Int64 {
        let isNegative = text.hasPrefix("-")
        let rest = isNegative ? text.dropFirst() : text[...]
        let digits = rest.prefix(while: { ("0"..."9").contains($0) })
        let unit = rest.dropFirst(digits.count).drop(while: { $0 == " " })
        guard !digits.isEmpty, let factor = units[String(unit)] else {
            throw Invalid(description: "is not a size such as 4096, 64KiB, 64MiB or 1GB")
        }
        guard let count = Int64(digits) else { throw Invalid(description: "is too large") }
        let (size, overflow) = count.multipliedReportingOverflow(by: factor)
        guard !overflow else { throw Invalid(description: "is too large") }
        return isNegative ? -size : size
    }
}
