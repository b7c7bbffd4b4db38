/// The last 16 bytes of an LTX file.
public struct LTXTrailer: Hashable, Sendable {
    /// Bytes of an encoded trailer.
    public static let size = 16

    /// Checksum of the database after this file, if checksums are kept.
    public var postApplyChecksum: Checksum
    /// CRC-64 of the whole file up to this field, with pages as they are uncompressed.
    public var fileChecksum: Checksum

    public init(postApplyChecksum: Checksum, fileChecksum: Checksum) {
        self.postApplyChecksum = postApplyChecksum
        self.fileChecksum = fileChecksum
    }
}

extension LTXHeader {
    /// Checks a post-apply checksum against the flags; `offset` is where it stands.
    func validate(postApply checksum: Checksum, at offset: Int64) throws(LTXError) {
        guard hasNoChecksum ? checksum == .none : checksum.isPresent else {
            throw .checksumField(.postApply, value: checksum, offset: offset)
        }
    }
}
