internal import DurableFiles
internal import Glibc
public import Wire

/// Where a bearer token is kept; it is never written into a configuration itself.
public enum TokenSource: Hashable, Sendable, CustomStringConvertible {
    /// A file, by its path.
    case file(String)
    /// A credential that systemd hands to the service, by its name.
    case credential(String)

    /// Why there is no token: where it should be, and what to do.
    public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    public var description: String {
        switch self {
        case .file(let path): path
        case .credential(let name): "credential \(name)"
        }
    }

    /// Reads the token; line feeds at the end of the file are not part of it.
    ///
    /// A credential is looked for in the directory that systemd names in `$CREDENTIALS_DIRECTORY`.
    public func read(
        credentials: String? = Self.credentialsDirectory
    ) throws(Failure) -> BearerToken {
        let path: String
        switch self {
        case .file(let file): path = file
        case .credential(let name):
            guard let credentials, !credentials.isEmpty else {
                throw failure(
                    "there is no $CREDENTIALS_DIRECTORY; "
                        + "name it in LoadCredential= of the unit, or use a file"
                )
            }
            path = Path.join(credentials, name)
        }
        let bytes: [UInt8]?
        do throws(FileError) {
            bytes = try DurableFiles.read(path, limit: 4_096)
        } catch {
            throw failure("\(error)")
        }
        guard let bytes else { throw failure("there is no file \(path)") }
        var text = Substring(decoding: bytes, as: UTF8.self)
        while text.last?.isNewline == true { text = text.dropLast() }
        do throws(BearerToken.Invalid) {
            return try BearerToken(text)
        } catch {
            throw failure("the token \(error)")
        }
    }

    private func failure(_ why: String) -> Failure {
        Failure(description: "\(self): \(why)")
    }

    /// The directory that systemd put the credentials of this service into.
    public static var credentialsDirectory: String? {
        getenv("CREDENTIALS_DIRECTORY").map { String(cString: $0) }
    }
}
