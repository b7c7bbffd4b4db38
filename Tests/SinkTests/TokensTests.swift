import Sink
import Testing
import Wire

@Suite("Who may do what at a sink")
struct TokensTests {
    @Test(
        "a header gives the access of its token",
        arguments: [
            ("Bearer writer", Access.write), ("bearer writer", .write), ("BEARER  writer", .write),
            ("Bearer reader", .read), (nil, .none), ("", .none), ("Bearer", .none),
            ("Bearer ", .none), ("Bearer write", .none), ("Bearer writer2", .none),
            ("Bearer writer reader", .none), ("Basic writer", .none), ("writer", .none),
            ("Bearer Writer", .none),
        ] as [(String?, Access)]
    )
    func access(header: String?, access: Access) throws {
        let tokens = Tokens(
            readWrite: try BearerToken("writer"),
            readOnly: try BearerToken("reader")
        )
        #expect(tokens.access(authorization: header) == access)
        #expect(!tokens.isOpen)
    }

    @Test("with one token, the other scope is nobody's")
    func single() throws {
        let writer = Tokens(readWrite: try BearerToken("t"))
        #expect(writer.access(authorization: "Bearer t") == .write)
        #expect(writer.access(authorization: nil) == .none)
        let reader = Tokens(readOnly: try BearerToken("t"))
        #expect(reader.access(authorization: "Bearer t") == .read)
    }

    @Test("without a token everybody may do everything")
    func open() {
        #expect(Tokens().isOpen)
        #expect(Tokens().access(authorization: nil) == .write)
    }

    @Test("replaced tokens hold from the next request on")
    func replaced() throws {
        let tokens = Tokens(readWrite: try BearerToken("old"))
        tokens.replace(readWrite: try BearerToken("new"), readOnly: try BearerToken("old"))
        #expect(tokens.access(authorization: "Bearer new") == .write)
        #expect(tokens.access(authorization: "Bearer old") == .read)
    }
}
