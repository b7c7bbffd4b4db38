/// A bearer token: visible ASCII, compared without telling where the first difference is.
///
/// Its description does not show it.
public struct BearerToken: Hashable, Sendable, CustomReflectable, CustomStringConvertible,
    CustomDebugStringConvertible
{
    /// What is wrong with a text that is to be a token, without the text.
    public struct Invalid: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    static let lengthLimit = 1_024

    private let bytes: [UInt8]

    public init(_ text: some StringProtocol) throws(Invalid) {
        guard !text.isEmpty else { throw Invalid(description: "is empty") }
        guard text.utf8.count <= Self.lengthLimit else {
            throw Invalid(description: "is longer than \(Self.lengthLimit) bytes")
        }
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Invalid(description: "may hold visible ASCII only, without spaces, on one line")
        }
        bytes = Array(text.utf8)
    }

    /// Whether a client's token is this one; takes as long for any token of the same length.
    @inline(never)
    public func matches(_ candidate: some StringProtocol) -> Bool {
        let other = Array(candidate.utf8)
        var difference = UInt64(bytes.count ^ other.count)
        for (index, byte) in other.enumerated() {
            difference |= UInt64(bytes[index % bytes.count] ^ byte)
        }
        return difference == 0
    }

    /// The value of an `authorization` header that carries the token.
    public var authorization: String { "Bearer " + String(decoding: bytes, as: UTF8.self) }

    public var description: String { "a token" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
