import TestSupport
import Testing
import Transfer

@Suite("the head of an answer")
struct HeadReaderTests {
    private func read(_ text: String) -> (HeadReader, HeadReader.Step) {
        var reader = HeadReader()
        var step = HeadReader.Step.more
        let newline = UInt8(ascii: "\n")
        for line in text.utf8.split(separator: newline, omittingEmptySubsequences: false) {
            step = (Array(line) + [newline]).withUnsafeBytes { reader.take($0) }
            if step != .more { break }
        }
        return (reader, step)
    }

    @Test("names count in any case, values without the blanks around them")
    func headers() {
        let (reader, step) = read("HTTP/1.1 200 OK\r\nX-Liters-PROTOCOL:  1 \r\nA:\r\n\r\n")
        #expect(step == .complete)
        #expect(reader.response.status == 200)
        #expect(reader.response.headers["x-liters-protocol"] == "1")
        #expect(reader.response.headers["A"] == "")
        #expect(reader.response.headers["b"] == nil)
    }

    @Test("interim answers are left out, with their headers")
    func interim() {
        let (reader, step) = read(
            "HTTP/1.1 103 Early\r\nA: 1\r\n\r\nHTTP/1.1 104 Up\r\nA: 2\r\n\r\nHTTP/1.1 409 No\r\nB: 3\r\n\r\n"
        )
        #expect(step == .complete)
        #expect(reader.response.status == 409)
        #expect(reader.response.headers["a"] == nil)
        #expect(reader.response.headers["b"] == "3")
    }

    @Test("HTTP/2 has no reason phrase")
    func version2() {
        let (reader, step) = read("HTTP/2 204 \r\n\r\n")
        #expect(step == .complete)
        #expect(reader.response.majorVersion == 2)
    }

    @Test(
        "what is no head is refused",
        arguments: [
            "SSH-2.0-OpenSSH\r\n", "HTTP/1.1 2 OK\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n",
            "HTTP/1.1 200 OK\r\n: x\r\n",
        ]
    )
    func malformed(text: String) {
        guard case .malformed = read(text).1 else {
            Issue.record("taken for a head")
            return
        }
    }

    @Test("a head has a limit")
    func limit() {
        let header = "A: \(String(repeating: "x", count: 1000))\r\n"
        let text = "HTTP/1.1 200 OK\r\n" + String(repeating: header, count: 70)
        #expect(read(text).1 == .malformed("the answer's head is too large"))
    }

    @Test("an answer left in a socket is found with its reason")
    func early() {
        let plain = "HTTP/1.1 401 No\r\nContent-Length: 5\r\n\r\nwhy?\n"
        #expect(EarlyAnswer.parse(Array(plain.utf8))?.reason == "why?")
        let chunked =
            "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 409 No\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbusy\r\n0\r\n\r\n"
        #expect(EarlyAnswer.parse(Array(chunked.utf8))?.reason == "busy")
        #expect(EarlyAnswer.parse(Array(chunked.utf8))?.status == 409)
        #expect(EarlyAnswer.parse(Array("HTTP/1.1 401 No\r\nA: b\r\n".utf8)) == nil)
        #expect(EarlyAnswer.parse([]) == nil)
    }

    @Test("no bytes at all make it trap", arguments: 0..<200 as Range<UInt64>)
    func anyBytes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let seeds = Array(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\nffffffffffffffff\r\n"
                .utf8
        )
        var bytes = seeds
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(
                in: 0...255,
                using: &random
            )
        }
        bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random))
        let answer = EarlyAnswer.parse(bytes)
        #expect(answer == nil || answer?.body.count ?? 0 <= bytes.count)
    }
}
