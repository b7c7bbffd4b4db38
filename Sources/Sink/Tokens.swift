import DurableFiles
public import Wire

/// What a client may do.
public enum Access: Int, Hashable, Sendable, Comparable {
    case none, read, write

    public static func < (left: Access, right: Access) -> Bool { left.rawValue < right.rawValue }
}

/// The tokens of a sink: one that may read, and one that may read and write.
///
/// They can be replaced while the sink serves; a request goes by those at its begin.
public final class Tokens: Sendable {
    private struct Pair: Sendable {
        var readWrite: BearerToken?
        var readOnly: BearerToken?

        var isEmpty: Bool { readWrite == nil && readOnly == nil }
    }

    private let pair: Lock<Pair>

    public init(readWrite: BearerToken? = nil, readOnly: BearerToken? = nil) {
        pair = Lock(Pair(readWrite: readWrite, readOnly: readOnly))
    }

    /// Without a token everybody may do everything, which a sink allows on loopback only.
    public var isOpen: Bool { pair.withLock { $0.isEmpty } }

    /// Takes other tokens from now on.
    ///
    /// - Precondition: A sink that has tokens goes on having some.
    public func replace(readWrite: BearerToken?, readOnly: BearerToken?) {
        let new = Pair(readWrite: readWrite, readOnly: readOnly)
        pair.withLock { pair in
            precondition(!new.isEmpty || pair.isEmpty, "tokens cannot be taken away")
            pair = new
        }
    }

    /// What the value of an `authorization` header allows.
    ///
    /// Both tokens are always compared.
    public func access(authorization: String?) -> Access {
        let pair = pair.withLock { $0 }
        if pair.isEmpty { return .write }
        guard let authorization else { return .none }
        let words = authorization.split(separator: " ", omittingEmptySubsequences: true)
        guard words.count == 2, words[0].lowercased() == "bearer" else { return .none }
        let mayWrite = pair.readWrite?.matches(words[1]) ?? false
        let mayRead = pair.readOnly?.matches(words[1]) ?? false
        return mayWrite ? .write : mayRead ? .read : .none
    }
}
