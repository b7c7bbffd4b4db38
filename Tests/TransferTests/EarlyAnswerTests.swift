import Foundation
import TestSupport
import Testing
import Transfer

@Suite("an answer that comes while we still send")
struct EarlyAnswerTests {
    @Test(
        "is reported, whether the server reads on, closes, or resets",
        arguments: [401, 409, 413, 507],
        ["drains", "closes"]
    )
    func early(status: Int, manner: String) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "f").path
            try Data(count: 50 << 20).write(to: URL(filePath: path))
            try await withRawServer { connection in
                guard connection.readHead() != nil else { return }
                connection.discard(100_000)
                connection.answer(status, ["Connection": "close"], Array("the reason\n".utf8))
                // A close with bytes unread resets the connection under the client's feet.
                if manner == "drains" { connection.waitForClose() }
            } _: { server in
                let client = HTTPClient()
                let source = try FileSource(path)
                for _ in 0..<10 {
                    let request = HTTPRequest(
                        .put,
                        server.origin,
                        body: .file(source, 0..<source.sizeInBytes)
                    )
                    let response = try await client.send(request)
                    #expect(response.status == status)
                    #expect(response.reason == "the reason")
                }
            }
        }
    }

    @Test("a connection that breaks without an answer is a reset")
    func broken() async throws {
        try await withRawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.discard(100_000)
            connection.reset()
        } _: { server in
            let body = RequestBody.bytes([UInt8](repeating: 0, count: 8 << 20))
            let failure = await trouble {
                try await HTTPClient().send(HTTPRequest(.put, server.origin, body: body))
            }
            #expect(failure?.kind == .reset)
        }
    }

    @Test("a success that comes before the end of the body is no success when the line breaks")
    func earlySuccess() async throws {
        try await withRawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.answer(200)
            connection.discard(1 << 20)
            connection.reset()
        } _: { server in
            let body = RequestBody.bytes([UInt8](repeating: 0, count: 16 << 20))
            let failure = await trouble {
                try await HTTPClient().send(HTTPRequest(.put, server.origin, body: body))
            }
            #expect(failure?.kind == .reset)
        }
    }
}
