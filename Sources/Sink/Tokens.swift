public import Wire

/// What a client may do.
public enum Access: Int, Hashable, Sendable, Comparable {
    case none, read, write

    public static func < (left: Access, right: Access) -> Bool { left.rawValue < right.rawValue }
}

/// The tokens of a sink: one that may read, and one that may read and write.
public struct Tokens: Sendable {
    private let readWrite: BearerToken?
    private let readOnly: BearerToken?

    public init(readWrite: BearerToken? = nil, readOnly: BearerToken? = nil) {
        self.readWrite = readWrite
        self.readOnly = readOnly
    }

    /// Without a token everybody may do everything, which a sink allows on loopback only.
    public var isOpen: Bool { readWrite == nil && readOnly == nil }

    /// What the value of an `authorization` header allows.
    ///
    /// Both tokens are always compared.
    public func access(authorization: String?) -> Access {
        if isOpen { return .write }
        guard let authorization else { return .none }
        let words = authorization.split(separator: " ", omittingEmptySubsequences: true)
        guard words.count == 2, words[0].lowercased() == "bearer" else { return .none }
        let mayWrite = readWrite?.matches(words[1]) ?? false
        let mayRead = readOnly?.matches(words[1]) ?? false
        return mayWrite ? .write : mayRead ? .read : .none
    }
}
