import Foundation
import TestSupport
import Testing
import Transfer

@Suite("TLS", .enabled(if: OpenSSL.isInstalled, OpenSSL.missing))
struct TLSTests {
    @Test("a server is trusted by the authorities that are configured, and by no others")
    func authorities() async throws {
        try await withTemporaryDirectory { directory in
            let openssl = try await OpenSSL(directory)
            try await openssl.serving { port in
                let request = HTTPRequest(.get, "https://localhost:\(port)/")
                let trusting = HTTPClient(HTTPClientOptions(authorities: openssl.authority))
                let response = try await trusting.send(request)
                #expect(response.status == 200)

                let stranger = await trouble { try await HTTPClient().send(request) }
                #expect(stranger?.kind == .tls)
                let wrongName = await trouble {
                    try await trusting.send(HTTPRequest(.get, "https://127.0.0.1:\(port)/"))
                }
                #expect(wrongName?.kind == .tls)
            }
        }
    }

    @Test("a server may ask for our certificate")
    func clientCertificate() async throws {
        try await withTemporaryDirectory { directory in
            let openssl = try await OpenSSL(directory)
            let arguments = ["-Verify", "1", "-verify_return_error", "-CAfile", openssl.authority]
            try await openssl.serving(arguments) { port in
                let request = HTTPRequest(.get, "https://localhost:\(port)/")
                let known = HTTPClient(
                    HTTPClientOptions(
                        authorities: openssl.authority,
                        certificate: openssl.certificate,
                        key: openssl.key
                    )
                )
                let response = try await known.send(request)
                #expect(response.status == 200)
                let nameless = await trouble {
                    try await HTTPClient(HTTPClientOptions(authorities: openssl.authority)).send(
                        request
                    )
                }
                #expect(nameless?.kind == .tls)
            }
        }
    }

    @Test("files that are not there, or no certificates, are named as such")
    func badFiles() async throws {
        try await withTemporaryDirectory { directory in
            let garbage = directory.appending(path: "garbage").path
            try Data("no certificate".utf8).write(to: URL(filePath: garbage))
            let openssl = try await OpenSSL(directory)
            try await openssl.serving { port in
                for options in [
                    HTTPClientOptions(authorities: garbage + "x"),
                    HTTPClientOptions(authorities: garbage),
                    HTTPClientOptions(authorities: openssl.authority, certificate: garbage),
                ] {
                    let failure = await trouble {
                        try await HTTPClient(options).send(
                            HTTPRequest(.get, "https://localhost:\(port)/")
                        )
                    }
                    #expect(failure?.kind == .tls)
                }
            }
        }
    }

    @Test("a server that does not speak TLS is a matter of TLS")
    func plainServer() async throws {
        try await withRawServer { connection in
            connection.read(1)
            connection.send("HTTP/1.1 400 Bad Request\r\n\r\n")
        } _: { server in
            let failure = await trouble {
                try await HTTPClient().send(HTTPRequest(.get, "https://127.0.0.1:\(server.port)/"))
            }
            #expect(failure?.kind == .tls)
        }
    }

    @Test("a line that breaks in the handshake is a reset, which passes")
    func brokenHandshake() async throws {
        try await withRawServer { connection in
            connection.read(1)
            connection.reset()
        } _: { server in
            let failure = await trouble {
                try await HTTPClient().send(HTTPRequest(.get, "https://127.0.0.1:\(server.port)/"))
            }
            #expect(failure?.kind == .reset)
        }
    }
}

/// An authority, a certificate for `localhost`, and servers that show it.
struct OpenSSL {
    static let program = URL(filePath: "/usr/bin/openssl")
    static let isInstalled = FileManager.default.isExecutableFile(atPath: program.path)
    static let missing: Comment = "there is no /usr/bin/openssl: install the package openssl"

    let authority: String
    let certificate: String
    let key: String

    init(_ directory: URL) async throws {
        let path = { (name: String) in directory.appending(path: name).path }
        authority = path("ca.pem")
        certificate = path("server.pem")
        key = path("server.key")
        try await Self.run(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=test authority",
            "-keyout",
            path("ca.key"),
            "-out",
            authority
        )
        try await Self.run(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
            "-CA",
            authority,
            "-CAkey",
            path("ca.key"),
            "-keyout",
            key,
            "-out",
            certificate
        )
    }

    private static func run(_ arguments: String...) async throws {
        let outcome = try await runProcess(program, arguments)
        try #require(outcome.status == 0, "\(outcome.stderr)")
    }

    /// Runs a body beside a server that answers any `GET` with a page.
    ///
    /// - Parameters:
    ///   - arguments: Of `openssl s_server`, beside certificate and key.
    ///   - body: Is given the port.
    /// - Throws: What the body throws.
    func serving(
        _ arguments: [String] = [],
        _ body: (UInt16) async throws -> Void
    ) async throws {
        let probe = try RawServer { _ in }
        let port = probe.port
        probe.stop()
        let all =
            [
                "s_server", "-accept", "127.0.0.1:\(port)", "-cert", certificate, "-key", key,
                "-www",
            ] + arguments
        try await withChild(Child(Self.program, all)) { server in
            try await server.wait { $0.line == "ACCEPT" }
            try await body(port)
        }
    }
}
