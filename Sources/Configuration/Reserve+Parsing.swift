extension SinkConfig.Reserve {
    /// Why a text is no reserve.
    public struct Invalid: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// Reads a size such as `1GiB`, or a share of the disk such as `5%` or `2.5%`.
    public init(parsing text: String) throws(Invalid) {
        if text.hasSuffix("%") {
            guard let share = Self.share(text.dropLast()) else {
                throw Invalid(description: "is not a share from 0% to 90% such as 5% or 2.5%")
            }
            self = .share(share)
            return
        }
        let limit: Int64 = 1 << 50
        let size: Int64
        do throws(ByteSize.Invalid) {
            size = try ByteSize.parse(text)
        } catch {
            throw Invalid(description: error.description)
        }
        guard (0...limit).contains(size) else {
            throw Invalid(description: "is out of range: 0 to \(ByteSize.text(limit))")
        }
        self = .bytes(size)
    }

    /// Hundredths of a percent, of up to two decimals.
    private static func share(_ text: Substring) -> Int? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count),
            parts.allSatisfy({ part in
                (1...2).contains(part.utf8.count)
                    && part.utf8.allSatisfy { (0x30...0x39).contains($0) }
            }), let whole = Int(parts[0])
        else { return nil }
        var share = whole * 100
        if parts.count == 2, let fraction = Int(parts[1]) {
            share += parts[1].utf8.count == 1 ? fraction * 10 : fraction
        }
        return share <= 9_000 ? share : nil
    }
}
