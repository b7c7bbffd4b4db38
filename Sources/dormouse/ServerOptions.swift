import Bucket
import CommandLineKit
import Configuration
import Handover
import Transfer
import Wire

/// Options that say how a bucket behind a server is reached.
enum ServerOptions {
    static let tokenFile = Option<String>(
        "token-file",
        "FILE",
        help: "for http(s): the bearer token, alone in a file (default: $DORMOUSE_TOKEN)"
    )

    static let authorities = Option<String>(
        "ca-file",
        "FILE",
        help: "for https: the authorities to trust instead of the system's, in PEM"
    )

    static let certificate = Option<String>(
        "client-certificate",
        "FILE",
        help: "for https: a certificate of our own, in PEM; needs --client-key"
    )

    static let key = Option<String>(
        "client-key",
        "FILE",
        help: "for https: the key of the client certificate, in PEM"
    )

    static let all: [any DeclaredOption] = [tokenFile, authorities, certificate, key]

    /// Opens an address as the options say.
    ///
    /// - Parameters:
    ///   - address: The bucket's.
    ///   - arguments: With the options.
    ///   - spool: The transfer service's, which goes on with our uploads and we with its.
    /// - Returns: The bucket.
    /// - Throws: `CommandFailure` for a token or a certificate that cannot be used.
    static func client(
        for address: BucketAddress,
        _ arguments: Arguments,
        spool: String? = nil
    ) throws -> any BucketClient {
        try address.client(http: try http(arguments).bucketOptions(spool: spool))
    }

    /// The options as an agent's configuration would have them.
    static func http(_ arguments: Arguments) throws -> AgentConfig.HTTP {
        var http = AgentConfig.HTTP()
        http.token = arguments[tokenFile].map { .file($0) }
        http.authorities = arguments[authorities]
        switch (arguments[certificate], arguments[key]) {
        case (let certificate?, let key?):
            http.client = .init(certificate: certificate, key: key)
        case (nil, nil): break
        default:
            throw CommandFailure(
                "--client-certificate and --client-key go together",
                code: .usage
            )
        }
        return http
    }
}

extension AgentConfig.HTTP {
    /// How a bucket is spoken to; a token that is named nowhere is looked for in the environment.
    ///
    /// - Parameter spool: Where agent and transfer service share what they know of uploads.
    /// - Returns: The options.
    /// - Throws: `CommandFailure` for a token that cannot be used.
    func bucketOptions(spool: String? = nil) throws -> HTTPBucketOptions {
        var options = try HTTPBucketOptions.fromEnvironment()
        options.uploadRecords = spool.map { Spool($0).uploadsPath }
        if let token {
            do throws(TokenSource.Failure) {
                options.token = try token.read()
            } catch {
                throw CommandFailure("\(error)", code: .usage)
            }
        }
        options.http.deadlines = Deadlines(
            connect: connectTimeout,
            idle: idleTimeout,
            whole: requestTimeout
        )
        options.http.authorities = authorities
        options.http.certificate = client?.certificate
        options.http.key = client?.key
        return options
    }
}
