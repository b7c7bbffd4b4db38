package import Bucket
import Wire

/// An answer: a status, headers, and a body.
package struct HTTPResponse: Sendable {
    package var status: Int
    /// Names in lower case.
    package var headers: [(name: String, value: String)]
    package var body: Body

    package enum Body: Sendable {
        /// Sent with its length.
        case bytes([UInt8])
        /// Part of a file, sent in chunks; a read error breaks the connection.
        case file(any RandomReader, offset: Int64, count: Int64)
        /// Sent in chunks for as long as it lasts.
        case frames(FrameQueue)
    }

    package init(
        _ status: Int,
        headers: [(name: String, value: String)] = [],
        body: Body = .bytes([])
    ) {
        self.status = status
        self.headers = [(WireHeader.protocolName, WireHeader.protocolVersion)] + headers
        self.body = body
    }

    /// An answer of text.
    package static func text(
        _ text: String,
        status: Int = 200,
        type: String = "text/plain",
        headers: [(name: String, value: String)] = []
    ) -> HTTPResponse {
        HTTPResponse(
            status,
            headers: [("content-type", type)] + headers,
            body: .bytes(Array(text.utf8))
        )
    }

    /// A refusal: one line that says why.
    package static func refusal(
        _ status: Int,
        _ reason: String,
        headers: [(name: String, value: String)] = []
    ) -> HTTPResponse {
        // A reason that came from the system or the network stays one line.
        let line = String(reason.map { $0.isNewline ? " " : $0 })
        return text(line + "\n", status: status, headers: headers)
    }

    /// The value of the first header of that name.
    package subscript(name: String) -> String? {
        headers.first { $0.name == name }?.value
    }

    /// The same with more headers.
    package func adding(_ more: [(name: String, value: String)]) -> HTTPResponse {
        var response = self
        response.headers += more
        return response
    }

    /// The body's bytes, of an answer that has them.
    package var bytes: [UInt8] {
        if case .bytes(let bytes) = body { bytes } else { [] }
    }

    /// The whole answer as it goes over the wire, for a connection that ends with it.
    var closingMessage: [UInt8] {
        var text = "HTTP/1.1 \(status) \(Self.reason(status))\r\n"
        for header in headers { text += "\(header.name): \(header.value)\r\n" }
        text += "content-length: \(bytes.count)\r\nconnection: close\r\n\r\n"
        return Array(text.utf8) + bytes
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 400: "Bad Request"
        case 413: "Content Too Large"
        case 507: "Insufficient Storage"
        default: status < 400 ? "OK" : "Refused"
        }
    }
}
