import Foundation
import LTXCodec
import Sink
import TestSupport
import Testing

/// The story of a client that knows the v1 protocol and nothing of ours.
@Suite("Story: old friends")
struct OldFriendsTests {
    @Test("a v1 client pushes, lists, reads ranges, follows and deletes", .timeLimit(.minutes(3)))
    func v1Client() async throws {
        try await withRunningSink({ $0.pingInterval = .milliseconds(200) }) { sink in
            let port = sink.port
            let files = try (UInt64(1)...3).map { try MadeLTX.step($0) }
            let names = (UInt64(1)...4).map { MadeLTX.name($0, $0) }

            // A writer looks before it pushes, and finds an empty level and no error.
            for level in 0...9 {
                let listing = try await RawClient.once(port, "GET", "/db/old/ltx/\(level)")
                #expect(listing.status == 200)
                #expect(listing.headers["content-length"] == "0")
            }

            // It pushes with a length, and in chunks.
            let first = try await RawClient.once(
                port,
                "PUT",
                "/db/old/ltx/0/\(names[0])",
                body: files[0]
            )
            #expect(first.status == 200)
            #expect(first.text == "\(names[0]) \(files[0].count) 1000\n")
            let second = try await blocking {
                let client = try RawClient(port)
                try client.send(
                    "PUT /db/old/ltx/0/\(names[1]) HTTP/1.1\r\nhost: x\r\n"
                        + "transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
                )
                for start in stride(from: 0, to: files[1].count, by: 100) {
                    let part = files[1][start..<min(start + 100, files[1].count)]
                    try client.send(Array("\(String(part.count, radix: 16))\r\n".utf8))
                    try client.send(Array(part) + Array("\r\n".utf8))
                }
                try client.send("0\r\n\r\n")
                return try client.response()
            }
            #expect(second?.status == 200)

            // It lists from a place on.
            let listing = try await RawClient.once(port, "GET", "/db/old/ltx/0?seek=2&meta=1")
            #expect(listing.text == "\(names[1]) \(files[1].count) 2000\n")
            #expect(listing.headers["content-length"] == "\(listing.body.count)")

            // It reads a file, and a part of one, in chunks.
            let whole = try await RawClient.once(port, "GET", "/db/old/ltx/0/\(names[0])")
            #expect(whole.headers["transfer-encoding"] == "chunked")
            #expect(whole.body == files[0])
            let range = try await RawClient.once(
                port,
                "GET",
                "/db/old/ltx/0/\(names[0])?offset=10&size=20"
            )
            #expect(range.body == Array(files[0][10..<30]))
            let rest = try await RawClient.once(port, "GET", "/db/old/ltx/0/\(names[0])?offset=100")
            #expect(rest.body == Array(files[0][100...]))

            // It follows: what is there, what comes, and that it is not forgotten.
            let third = files[2]
            try await blocking {
                let follower = try Follower(port, "/db/old/stream?seek=1")
                try follower.expect("liters-stream 1")
                for index in 0...1 {
                    try follower.expect(
                        "ltx 0 \(TXID(UInt64(index + 1))) \(TXID(UInt64(index + 1))) \(files[index].count)"
                    )
                    #expect(try follower.take(files[index].count) == files[index])
                }
                try follower.expect("ping 0000000000000002")
                let push = try RawClient(port).request(
                    "PUT",
                    "/db/old/ltx/0/\(names[2])",
                    body: third
                )
                #expect(push.status == 200)
                var line = try follower.line()
                while line.hasPrefix("ping") { line = try follower.line() }
                #expect(line == "ltx 0 \(TXID(3)) \(TXID(3)) \(third.count)")
                #expect(try follower.take(third.count) == third)
            }

            // It is fenced: the same bytes are welcome, others are not.
            let again = try await RawClient.once(
                port,
                "PUT",
                "/db/old/ltx/0/\(names[2])",
                body: third
            )
            #expect(again.status == 200)
            let gap = try await RawClient.once(
                port,
                "PUT",
                "/db/old/ltx/0/\(MadeLTX.name(9, 9))",
                body: try MadeLTX.step(9)
            )
            #expect(gap.status == 409)
            #expect(
                gap.text
                    == "non-monotonic L0 push: \(TXID(9))-\(TXID(9)) offered, bucket at \(TXID(3))\n"
            )

            // It prunes, finds the gap, and wipes.
            let pruned = try await RawClient.once(port, "DELETE", "/db/old/ltx/0/\(names[0])")
            #expect(pruned.status == 200)
            try await blocking {
                let follower = try Follower(port, "/db/old/stream?seek=1")
                try follower.expect("liters-stream 1")
                try follower.expect("gap 0000000000000002")
                #expect(try follower.isEnded())
                let ahead = try Follower(port, "/db/old/stream?seek=9")
                try ahead.expect("liters-stream 1")
                try ahead.expect("reset 0000000000000003")
                #expect(try ahead.isEnded())
            }
            let wiped = try await RawClient.once(port, "DELETE", "/db/old/all")
            #expect(wiped.status == 200)
            let empty = try await RawClient.once(port, "GET", "/db/old/ltx/0")
            #expect(empty.body == [])
        }
    }

    @Test("a sink that is stopped ends a stream between two frames", .timeLimit(.minutes(1)))
    func cleanEnd() async throws {
        let reader = try await withRunningSink { sink in
            let port = sink.port
            let put = try await RawClient.once(
                port,
                "PUT",
                "/db/old/ltx/0/\(MadeLTX.name(1, 1))",
                body: try MadeLTX.step(1)
            )
            #expect(put.status == 200)
            let (opened, open) = AsyncStream<Void>.makeStream()
            let reader = Task {
                try await blocking {
                    let follower = try Follower(port, "/db/old/stream?seek=2")
                    try follower.expect("liters-stream 1")
                    open.yield()
                    return try follower.isEnded()
                }
            }
            for await _ in opened { break }
            return reader
        }
        #expect(try await reader.value)
    }

    /// The body of a stream, out of its chunks.
    private final class Follower {
        private let client: RawClient
        private var buffer: [UInt8] = []
        private var isDone = false

        init(_ port: UInt16, _ target: String) throws {
            client = try RawClient(port)
            try client.send("GET \(target) HTTP/1.1\r\nhost: x\r\n\r\n")
            let head = try client.head()
            #expect(head?.status == 200)
            #expect(head?.headers["x-liters-protocol"] == "1")
            #expect(head?.headers["x-accel-buffering"] == "no")
        }

        private func fill() throws {
            guard !isDone, let chunk = try client.chunk() else {
                throw RawClient.Failure(what: "the stream broke off")
            }
            if chunk.isEmpty { isDone = true } else { buffer += chunk }
        }

        func line() throws -> String {
            while true {
                if let end = buffer.firstIndex(of: 0x0A) {
                    defer { buffer.removeFirst(end + 1) }
                    return String(decoding: buffer[..<end], as: UTF8.self)
                }
                guard !isDone else { throw RawClient.Failure(what: "the stream ended") }
                try fill()
            }
        }

        func expect(_ line: String) throws {
            let next = try self.line()
            #expect(next == line)
        }

        func take(_ count: Int) throws -> [UInt8] {
            while buffer.count < count { try fill() }
            defer { buffer.removeFirst(count) }
            return Array(buffer[..<count])
        }

        /// Waits for the end of the chunks: nothing may come before it.
        func isEnded() throws -> Bool {
            while !isDone, buffer.isEmpty { try fill() }
            return isDone && buffer.isEmpty
        }
    }
}
