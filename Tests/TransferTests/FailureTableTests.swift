import Testing
import Transfer

@Suite("every failure of a request has one kind")
struct FailureTableTests {
    @Test(
        "each result of curl that a network can cause",
        arguments: [
            (5, "Could not resolve proxy: p", .resolve),
            (6, "Could not resolve host: h", .resolve),
            (7, "Failed to connect to h port 1", .connect),
            (97, "SOCKS5 refused", .connect),
            (28, "Connection timed out", .timeout),
            (52, "Empty reply from server", .reset),
            (55, "Send failure: Broken pipe", .reset),
            (56, "Recv failure: Connection reset by peer", .reset),
            (16, "Error in the HTTP2 framing layer", .reset),
            (92, "HTTP/2 stream 1 was not closed cleanly", .reset),
            (65, "necessary data rewind wasn't possible", .reset),
            (18, "transfer closed with 5 bytes remaining to read", .shortBody),
            (56, "CONNECT tunnel failed, response 403", .connect),
            (56, "CONNECT tunnel failed, response 407", .unauthorized),
            (56, "OpenSSL SSL_read: tlsv13 alert certificate required", .tls),
            (35, "OpenSSL SSL_connect: SSL_ERROR_SYSCALL", .reset),
            (35, "OpenSSL SSL_connect: Connection reset by peer", .reset),
            (35, "wrong version number", .tls),
            (60, "unable to get local issuer certificate", .tls),
            (58, "could not load PEM client certificate", .tls),
            (77, "error setting certificate verify locations", .tls),
            (1, "Received HTTP/0.9 when not allowed", .notASink),
            (8, "Weird server reply", .notASink),
            (42, "Callback aborted", .cancelled),
            (3, "URL using bad/illegal format", .refused),
            (27, "Out of memory", .refused),
        ] as [(UInt32, String, TransferFailure.Kind)]
    )
    func curl(code: UInt32, text: String, kind: TransferFailure.Kind) {
        #expect(TransferFailure.Kind(curl: code, text: text) == kind)
    }

    @Test(
        "each status",
        arguments: [
            (200, nil), (201, nil), (204, nil),
            (301, .refused), (400, .refused), (401, .unauthorized), (403, .readOnly),
            (404, .missing), (405, .refused), (407, .unauthorized), (408, .requestTimeout),
            (409, .conflict), (410, .missing), (411, .refused), (413, .refused), (415, .refused),
            (425, .throttled), (429, .throttled), (500, .server), (502, .server), (503, .server),
            (504, .server), (507, .serverFull), (599, .server),
        ] as [(Int, TransferFailure.Kind?)]
    )
    func status(status: Int, kind: TransferFailure.Kind?) {
        let failure = failure(status, ["x-liters-protocol": "1"])
        #expect(failure?.kind == kind)
        #expect(failure == nil || failure?.status == status)
    }

    @Test(
        "without the protocol's header only what any proxy may say is believed",
        arguments: [
            (200, .notASink), (204, .notASink), (301, .notASink), (400, .notASink),
            (403, .notASink), (404, .notASink), (409, .notASink), (410, .notASink),
            (401, .unauthorized), (407, .unauthorized), (408, .requestTimeout),
            (413, .refused), (429, .throttled), (502, .server), (507, .serverFull),
        ] as [(Int, TransferFailure.Kind)]
    )
    func foreign(status: Int, kind: TransferFailure.Kind) {
        #expect(failure(status, [:])?.kind == kind)
    }

    @Test("another version of the protocol is named", arguments: [200, 404, 409])
    func otherVersion(status: Int) {
        let failure = failure(status, ["x-liters-protocol": "2"])
        #expect(failure?.kind == .wrongProtocol)
        #expect(failure?.detail.contains("version 2") == true)
        #expect(self.failure(503, ["x-liters-protocol": "2"])?.kind == .server)
    }

    @Test("the reason is the server's first line, made fit for a log")
    func reasons() {
        let sink: HTTPHeaders = ["x-liters-protocol": "1"]
        #expect(failure(409, sink, "bucket is owned by a\nmore")?.detail == "bucket is owned by a")
        #expect(failure(409, sink, "red\u{1B}[31m\r\n")?.detail == "red[31m")
        #expect(failure(409, sink, "")?.detail == "the server holds something else")
        #expect(failure(502, [:], "<html>")?.detail == "the request was refused")
        let long = failure(400, sink, String(repeating: "x", count: 5000))
        #expect(long?.detail.utf8.count == 300)
    }

    @Test(
        "Retry-After is seconds or a date",
        arguments: [
            ("0", .zero), ("120", .seconds(120)), ("99999999999999999999", .seconds(86_400)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", .seconds(37)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", .seconds(37)),
            ("Sun Nov  6 08:49:37 1994", .seconds(37)),
            ("Sun, 06 Nov 1994 08:48:00 GMT", .zero),
            ("Mon, 07 Nov 2022 08:49:37 GMT", .seconds(86_400)),
            ("", nil), ("-1", nil), ("1.5", nil), ("soon", nil),
            ("Sun, 06 Nov 1994 08:49:37 CET", nil), ("Sun, 32 Nov 1994 08:49:37 GMT", nil),
        ] as [(String, Duration?)]
    )
    func retryAfter(text: String, expected: Duration?) {
        // Sun, 06 Nov 1994 08:49:00 GMT
        #expect(RetryAfter.duration(text, now: 784_111_740) == expected)
    }

    @Test("a date is counted from the server's own clock where it shows one")
    func serverClock() {
        let headers: HTTPHeaders = [
            "retry-after": "Sun, 06 Nov 1994 08:49:37 GMT",
            "date": "Sun, 06 Nov 1994 08:49:07 GMT",
        ]
        #expect(failure(503, headers)?.retryAfter == .seconds(30))
    }

    @Test(
        "dates are counted in the Gregorian calendar",
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
            ("Thu, 01 Mar 1900 00:00:00 GMT", -2_203_891_200),
            ("Mon, 30 Nov 2026 23:20:00 GMT", 1_796_080_800),
        ] as [(String, Int64)]
    )
    func dates(text: String, seconds: Int64) {
        #expect(HTTPDate.seconds(text) == seconds)
    }

    private func failure(
        _ status: Int,
        _ headers: HTTPHeaders,
        _ body: String = ""
    ) -> TransferFailure? {
        let response = HTTPResponse(status: status, headers: headers, body: Array(body.utf8))
        return TransferFailure(response, url: "http://h/db/x", now: 0)
    }
}
