import DurableFiles
import Foundation
import Sink
import TestSupport
import Testing

/// The life of one request, without a socket.
@Suite("One exchange")
struct ExchangeTests {
    private static func head(_ headers: [String: String]) -> RequestHead {
        var head = RequestHead(method: "PUT", target: "/x?y=z")
        for (name, value) in headers { head.add(name, value) }
        return head
    }

    private static func step(
        _ state: inout ExchangeState,
        _ count: Int
    ) -> ExchangeState.Action {
        [UInt8](repeating: 1, count: count).withUnsafeBytes { state.bodyArrived($0) }
    }

    private static func withSpool(_ body: (Spool) throws -> Void) throws {
        try withTemporaryDirectory { try body(Spool($0.appending(path: "spool").path)) }
    }

    private static func status(_ action: ExchangeState.Action) -> (Int, String) {
        switch action {
        case .proceed: (0, "proceed")
        case .ask: (0, "ask")
        case .handle: (0, "handle")
        case .answer(let response, let lingers): (response.status, lingers ? "early" : "answer")
        case .cut(let response): (response.status, "cut")
        case .close: (0, "close")
        }
    }

    @Test("the head is taken apart at the first question mark")
    func target() {
        #expect(Self.head([:]).path == "/x")
        #expect(Self.head([:]).query == "y=z")
        #expect(RequestHead(method: "GET", target: "/a?b?c").query == "b?c")
        #expect(RequestHead(method: "GET", target: "").path == "")
        #expect(Self.head(["Content-Length": "5"])["content-length"] == "5")
    }

    @Test(
        "the framing of a body is a length, chunks, none, or refused",
        arguments: [
            (["content-length": "0"], "length 0"), (["content-length": "17"], "length 17"),
            ([:], "none"), (["transfer-encoding": "Chunked"], "chunked"),
            (["transfer-encoding": "gzip"], "malformed"), (["content-length": "-1"], "malformed"),
            (["content-length": ""], "malformed"), (["content-length": "1, 1"], "malformed"),
            (["content-length": "99999999999999999999"], "malformed"),
            (["content-length": "1", "transfer-encoding": "chunked"], "malformed"),
        ]
    )
    func framing(headers: [String: String], expected: String) {
        let text =
            switch Self.head(headers).framing {
            case .none: "none"
            case .length(let length): "length \(length)"
            case .chunked: "chunked"
            case .malformed: "malformed"
            }
        #expect(text == expected)
    }

    @Test("a small body stays in memory, a larger one goes to a file that goes with it")
    func bodies() throws {
        try Self.withSpool { spool in
            for count in [0, 10, 64 << 10, (64 << 10) + 1, 1 << 20] {
                var state = ExchangeState()
                let head = Self.head(["content-length": "\(count)"])
                do {
                    let action = state.headArrived(head, .receive(limit: 1 << 20), spool: spool)
                    #expect(Self.status(action).1 == "proceed")
                }
                for start in stride(from: 0, to: count, by: 1000) {
                    do {
                        let action = Self.step(&state, min(1000, count - start))
                        #expect(Self.status(action).1 == "proceed")
                    }
                }
                guard case .handle(let request) = state.called(spool: spool) else {
                    Issue.record("not handled")
                    return
                }
                #expect(request.body.count == Int64(count))
                switch request.body {
                case .none: #expect(count == 0)
                case .bytes: #expect(count <= 64 << 10)
                case .file(let file):
                    #expect(count > 64 << 10)
                    #expect(try FileStatus.of(file.path)?.sizeInBytes == Int64(count))
                default: Issue.record("another body")
                }
            }
            let left = try DurableFiles.list(spool.directory)
            #expect(left == [])
        }
    }

    struct Refusal: CustomTestStringConvertible {
        var headers: [String: String]
        /// What the connection does at the head.
        var first: String
        var testDescription: String { "\(headers)" }
    }

    @Test(
        "what is refused is read to its end when it is short, and answered at once when it is not",
        arguments: [
            Refusal(headers: [:], first: "proceed"),
            Refusal(headers: ["content-length": "1000"], first: "proceed"),
            Refusal(headers: ["content-length": "1000", "expect": "100-continue"], first: "early"),
            Refusal(headers: ["content-length": "99999999"], first: "early"),
            Refusal(headers: ["transfer-encoding": "chunked"], first: "early"),
        ]
    )
    func refusals(test: Refusal) throws {
        try Self.withSpool { spool in
            var state = ExchangeState()
            let refused = Admission.refuse(.refusal(403, "no"))
            let action = state.headArrived(Self.head(test.headers), refused, spool: spool)
            #expect(Self.status(action).1 == test.first)
            guard test.first == "proceed" else { return }
            do {
                let action = Self.step(&state, 1000)
                #expect(Self.status(action).1 == "proceed")
            }
            let last = state.called(spool: spool)
            #expect(Self.status(last) == (403, "answer"))
        }
    }

    @Test("a body beyond its limit is refused amidst of it, and cut off when it does not end")
    func tooMuch() throws {
        try Self.withSpool { spool in
            var state = ExchangeState()
            let head = Self.head(["transfer-encoding": "chunked"])
            _ = state.headArrived(head, .receive(limit: 1 << 20), spool: spool)
            let part = 1 << 20
            var actions: [(Int, String)] = []
            while actions.last?.1 != "cut", actions.count < 100 {
                actions.append(Self.status(Self.step(&state, part)))
            }
            // Its limit, and what is thrown away.
            #expect(actions.last?.0 == 413)
            #expect((64...68).contains(actions.count), "\(actions.count) MiB")
            let left = try DurableFiles.list(spool.directory)
            #expect(left == [])
        }
    }

    @Test("a connection that ends amidst of a body gives up what feeds on it")
    func abandoned() throws {
        final class Sink: BodySink {
            nonisolated(unsafe) var bytes = 0
            nonisolated(unsafe) var isAbandoned = false

            func write(_ bytes: UnsafeRawBufferPointer) -> HTTPResponse? {
                self.bytes += bytes.count
                return nil
            }

            func abandon() {
                isAbandoned = true
            }
        }
        try Self.withSpool { spool in
            let sink = Sink()
            var state = ExchangeState()
            let head = Self.head(["content-length": "100"])
            do {
                let action = state.headArrived(head, .ask, spool: spool)
                #expect(Self.status(action).1 == "ask")
            }
            state.prepared(.feed(sink))
            do {
                let action = state.called(spool: spool)
                #expect(Self.status(action).1 == "proceed")
            }
            _ = Self.step(&state, 40)
            #expect(state.lacksBytes)
            #expect(sink.bytes == 40)
            #expect(!sink.isAbandoned)
            let wasCut = state.ended()
            #expect(wasCut)
            #expect(sink.isAbandoned)
            do {
                let action = state.called(spool: spool)
                #expect(Self.status(action).1 == "close")
            }
        }
    }
}
