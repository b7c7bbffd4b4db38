import DurableFiles
import Transfer

/// A secret that a server knows us by; it never shows, also not in a debugger's mirror.
public struct BearerToken: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// For the header, and nothing else.
    let secret: String

    /// `nil` for what is no token: it is 1 to 4096 characters of visible ASCII.
    public init?(_ text: some StringProtocol) {
        guard (1...4096).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else { return nil }
        secret = String(text)
    }

    /// Reads a file that holds a token and nothing else but a line end.
    ///
    /// - Throws: `BucketError`.
    public init(file path: String) throws(BucketError) {
        let bytes: [UInt8]?
        do throws(FileError) { bytes = try DurableFiles.read(path, limit: 8192) } catch {
            throw BucketError(error)
        }
        guard let bytes else {
            throw .transfer(
                TransferFailure(.unauthorized, url: path, detail: "there is no token file")
            )
        }
        var text = String(decoding: bytes, as: UTF8.self)[...]
        while let last = text.last, last.isWhitespace { text.removeLast() }
        guard let token = BearerToken(text) else {
            throw .transfer(
                TransferFailure(
                    .unauthorized,
                    url: path,
                    detail: "holds no token: one line of visible ASCII"
                )
            )
        }
        self = token
    }

    public var description: String { "(token)" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
