import Bucket
package import LTXCodec
import Wire

/// What a writer says of itself and of its write, in headers.
package struct WriteClaim: Hashable, Sendable {
    /// `nil` from a writer that gives no name: the lease is not looked at.
    package var writer: String?
    package var takesOver = false
    package var lineage: String?
    /// Of the database after the write; `.none` says nothing.
    package var checksum = Checksum.none
    /// The TXID at which a snapshot begins a new base of the same lineage.
    package var baseTXID: TXID?
    /// When the change was made, milliseconds since 1970.
    package var timestamp: Int64?

    /// Says nothing.
    package init() {}

    /// A header that cannot be understood: 400.
    package struct Malformed: Error, Equatable, Sendable {
        package let reason: String
    }

    /// Reads a request's headers.
    package init(_ header: (String) -> String?) throws(Malformed) {
        if let text = header(WireHeader.writerID) {
            guard (1...128).contains(text.utf8.count),
                text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else {
                throw Malformed(
                    reason: "\(WireHeader.writerID) is 1 to 128 visible ASCII characters"
                )
            }
            writer = text
        }
        switch header(WireHeader.writerTakeover) {
        case nil, "0": takesOver = false
        case "1": takesOver = true
        default: throw Malformed(reason: "\(WireHeader.writerTakeover) is 1 or is not sent")
        }
        if let text = header(WireHeader.lineage) {
            guard Self.isLineage(text) else {
                throw Malformed(reason: "\(WireHeader.lineage) is 32 lower-case hex digits")
            }
            lineage = text
        }
        if let text = header(WireHeader.checksum) {
            guard text.utf8.count == 16, let value = UInt64(text, radix: 16),
                Checksum(rawValue: value).isPresent
            else { throw Malformed(reason: "\(WireHeader.checksum) is no checksum") }
            checksum = Checksum(rawValue: value)
        }
        if let text = header(WireHeader.baseTXID) {
            guard let txid = TXID(text), txid > .zero else {
                throw Malformed(reason: "\(WireHeader.baseTXID) is a TXID of at least 1")
            }
            baseTXID = txid
        }
        if let text = header(WireHeader.timestamp) {
            guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int64(text)
            else { throw Malformed(reason: "\(WireHeader.timestamp) is milliseconds since 1970") }
            timestamp = value
        }
    }

    /// Whether a text is the id of a lineage.
    package static func isLineage(_ text: String) -> Bool {
        text.utf8.count == 32
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
