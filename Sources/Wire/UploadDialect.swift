/// Which text of the draft for resumable uploads a peer follows.
///
/// Interop version 6 are drafts -04 and -05, which iOS 18.1 and later speak; 7 are -06 to -08, and
/// 8 is everything since -09. What differs for us is small, see docs/http-protocol.md.
public struct UploadDialect: Hashable, Sendable {
    /// What goes into `upload-draft-interop-version`; `nil` for a peer of the finished standard,
    /// which sends none and gets none.
    public let interopVersion: Int?

    /// The oldest version understood.
    public static let oldest = UploadDialect(version: 6)
    /// The newest version known.
    public static let newest = UploadDialect(version: 8)

    private init(version: Int?) {
        interopVersion = version
    }

    /// Reads the value of `upload-draft-interop-version`; `nil` for a version before 6.
    ///
    /// A version that is newer than any known is answered as the newest known one: it says so in
    /// its answer, and the peer decides. A value that is no number counts as not sent.
    public init?(header: String?) {
        guard let header, let version = StructuredField.integer(header) else {
            self.init(version: nil)
            return
        }
        switch version {
        case ..<6: return nil
        case 6, 7: self.init(version: Int(version))
        default: self = .newest
        }
    }

    /// Drafts -04 and -05.
    public var isLegacy: Bool { interopVersion == 6 }

    /// The status of an accepted part that is not the last one.
    public var appendedStatus: Int { isLegacy ? 201 : 204 }

    /// Whether an append without `upload-complete` is the last one, as servers of that time took it.
    public var completesByDefault: Bool { isLegacy }
}
