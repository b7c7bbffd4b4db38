/// The headers of the replication protocol, in lower case (docs/http-protocol.md).
///
/// `x-liters-*` is the v1 protocol; `upload-*` is the IETF draft for resumable uploads;
/// `dormouse-*` are additions that a plain v1 peer never notices.
public enum WireHeader {
    /// On every response; its value is `protocolVersion`.
    public static let protocolName = "x-liters-protocol"
    public static let protocolVersion = "1"
    /// Who writes: visible ASCII.
    public static let writerID = "x-liters-writer-id"
    /// `1`: take the lease even if another writer holds it.
    public static let writerTakeover = "x-liters-writer-takeover"

    /// The lineage of the database, 32 hex digits: on every response about a database, and on a
    /// write, where it must be the same.
    public static let lineage = "dormouse-lineage"
    /// The bucket's highest TXID, on every response about a database; of an answer that is about
    /// one state, that state's.
    public static let txid = "dormouse-txid"
    /// The rolling database checksum, 16 hex digits: on a `PUT`, of the database after the file.
    public static let checksum = "dormouse-checksum"
    /// On responses about a database: the file checksum in the trailer of the level-0 file that
    /// ends at the head.
    public static let headChecksum = "dormouse-head-checksum"
    /// `1` on a response about a database whose live copy differs from what its writer said.
    public static let rebase = "dormouse-rebase"
    /// On an ingest: the TXID at which the image is the database of this lineage.
    public static let baseTXID = "dormouse-base-txid"
    /// On a write: when the change was made, milliseconds since 1970.
    public static let timestamp = "dormouse-timestamp"

    /// The draft's version that the peer speaks; a server without resumption does not send it.
    public static let uploadInterop = "upload-draft-interop-version"
    /// `?1` or `?0`.
    public static let uploadComplete = "upload-complete"
    /// Bytes that the server holds.
    public static let uploadOffset = "upload-offset"
    /// Bytes of the whole representation.
    public static let uploadLength = "upload-length"
    /// Limits of the server: `max-size=…, max-age=…`.
    public static let uploadLimit = "upload-limit"
    /// The media type of an appended part.
    public static let partialUpload = "application/partial-upload"

    /// All of them, in the order of the protocol page.
    public static let all = [
        protocolName, writerID, writerTakeover, txid, lineage, headChecksum, rebase, checksum,
        baseTXID, timestamp, uploadInterop, uploadComplete, uploadOffset, uploadLength,
        uploadLimit,
    ]
}
