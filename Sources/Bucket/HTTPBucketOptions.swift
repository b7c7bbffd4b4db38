public import Transfer
public import Wire

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// How a bucket behind a server is spoken to.
public struct HTTPBucketOptions: Sendable {
    public var token: BearerToken?
    /// Who writes, for the server's lease: visible ASCII.
    ///
    /// What `WriteFacts` say goes before; with neither no lease is taken.
    public var writerID: String?
    public var http: HTTPClientOptions
    /// A larger file is uploaded so that it can go on after a break.
    public var plainLimit: Int64
    /// How much of such an upload goes in one request; `nil`: all of it, until the line shows that
    /// it does not let that much through.
    public var partSize: Int64?
    /// How long a follow stream may be silent; the server pings every 15 s.
    public var deadMan: Duration
    /// Where large files are kept while they are read; `nil`: `TMPDIR`, else `/var/tmp`.
    public var spoolDirectory: String?
    /// Where uploads under way are remembered; `nil`: beside the file that is uploaded.
    ///
    /// Two processes that share it go on with each other's uploads.
    public var uploadRecords: String?

    public init(
        token: BearerToken? = nil,
        writerID: String? = nil,
        http: HTTPClientOptions = HTTPClientOptions(),
        plainLimit: Int64 = 256 << 10,
        partSize: Int64? = nil,
        deadMan: Duration = .seconds(45),
        spoolDirectory: String? = nil,
        uploadRecords: String? = nil
    ) {
        self.token = token
        self.writerID = writerID
        self.http = http
        self.plainLimit = plainLimit
        self.partSize = partSize
        self.deadMan = deadMan
        self.spoolDirectory = spoolDirectory
        self.uploadRecords = uploadRecords
    }

    /// The variable that holds a token where nothing else is configured.
    public static let tokenVariable = "DORMOUSE_TOKEN"

    /// The defaults, with the token of the environment if there is one.
    ///
    /// - Throws: `BucketError` for a variable that holds no token.
    public static func fromEnvironment() throws(BucketError) -> HTTPBucketOptions {
        guard let value = getenv(tokenVariable).map({ String(cString: $0) }), !value.isEmpty else {
            return HTTPBucketOptions()
        }
        do throws(BearerToken.Invalid) {
            return HTTPBucketOptions(token: try BearerToken(value))
        } catch {
            throw .transfer(
                TransferFailure(.unauthorized, url: tokenVariable, detail: "the token \(error)")
            )
        }
    }
}
