/// The name of an LTX file: the TXID range it covers, `<min>-<max>.ltx`.
public struct LTXFileName: Hashable, Sendable {
    /// First TXID covered, at least 1.
    public let minTXID: TXID
    /// Last TXID covered, at least `minTXID`.
    public let maxTXID: TXID

    /// Names the file for a range.
    ///
    /// - Precondition: 1 ≤ `minTXID` ≤ `maxTXID`, as a valid header guarantees.
    public init(minTXID: TXID, maxTXID: TXID) {
        precondition(TXID.zero < minTXID && minTXID <= maxTXID, "no TXID range")
        self.minTXID = minTXID
        self.maxTXID = maxTXID
    }

    /// Holds every page of the database, as its range starts at the first TXID.
    public var isSnapshot: Bool {
        minTXID == TXID(1)
    }
}

extension LTXFileName: Comparable {
    /// Orders by first TXID, then by last, so that the longest of several ranges comes last.
    public static func < (left: LTXFileName, right: LTXFileName) -> Bool {
        (left.minTXID, left.maxTXID) < (right.minTXID, right.maxTXID)
    }
}

extension LTXFileName: LosslessStringConvertible {
    /// Reads a name; `nil` unless it is exactly what `description` writes.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard
            bytes.count == 37,
            let min = Hexadecimal.number(bytes[0..<16]),
            let max = Hexadecimal.number(bytes[17..<33]),
            min >= 1, min <= max
        else { return nil }
        self.init(minTXID: TXID(min), maxTXID: TXID(max))
        guard description == text else { return nil }
    }

    public var description: String {
        "\(minTXID)-\(maxTXID).ltx"
    }
}
