import Configuration
import Foundation
import TestSupport
import Testing

@Suite("agent.yml: what is wrong")
struct RefusalTests {
    @Test("every problem is told with its line", arguments: Refusal.ofValues + Refusal.ofShape)
    func refuses(refusal: Refusal) throws {
        let error = #expect(throws: ConfigurationError.self) {
            try AgentConfig.parse(refusal.bytes, file: "a.yml")
        }
        #expect(error?.lines == refusal.lines)
    }

    @Test("every problem with streams is told with its line", arguments: Refusal.ofStreams)
    func refusesStreams(refusal: Refusal) throws {
        let error = #expect(throws: ConfigurationError.self) {
            try AgentConfig.parse(refusal.bytes, file: "a.yml")
        }
        #expect(error?.lines == refusal.lines)
    }

    @Test("a file that cannot be read gets one line")
    func unreadable() throws {
        try withTemporaryDirectory { directory in
            func lines(_ path: String) -> [String] {
                do {
                    _ = try AgentConfig.load(path: path)
                    return []
                } catch {
                    return error.lines
                }
            }
            let missing = directory.appending(path: "none.yml").path
            #expect(lines(missing) == ["\(missing): cannot be read: No such file or directory"])
            #expect(lines(directory.path) == ["\(directory.path): is a directory, not a file"])
            #expect(lines("/dev/null") == ["/dev/null: is not a regular file"])
            #expect(lines("") == [": not a file name"])
            let fifo = directory.appending(path: "fifo").path
            #expect(mkfifo(fifo, 0o600) == 0)
            #expect(lines(fifo) == ["\(fifo): is not a regular file"])
            let empty = directory.appending(path: "empty.yml")
            try Data().write(to: empty)
            #expect(lines(empty.path) == ["\(empty.path): has no settings"])
            let large = directory.appending(path: "large.yml")
            try Data(repeating: 0x23, count: (1 << 20) + 1).write(to: large)
            #expect(lines(large.path) == ["\(large.path): is larger than 1 MiB"])
        }
    }

    @Test(
        "1 MiB of one thing is answered",
        arguments: ["[", "{", "- ", "? ", "a: {", "a,", "\u{1}"]
    )
    func largeAndOdd(piece: String) {
        let text = String(repeating: piece, count: (1 << 20) / piece.utf8.count)
        #expect(throws: ConfigurationError.self) {
            try AgentConfig.parse(Array(text.utf8), file: "a.yml")
        }
    }

    @Test("a mutated file is read or refused, never a trap", arguments: 0..<64 as Range<UInt64>)
    func mutations(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<40 {
            let bytes = mutated(Array(good.utf8), by: &random)
            do {
                let config = try AgentConfig.parse(bytes, file: "a.yml")
                let again = try AgentConfig.parse(Array(config.yaml.utf8), file: "b.yml")
                #expect(again == config, "seed \(seed): \(String(decoding: bytes, as: UTF8.self))")
            } catch {
                #expect(!error.problems.isEmpty)
            }
        }
    }

    private func mutated(_ text: [UInt8], by random: inout SeededGenerator) -> [UInt8] {
        let marks = Array(":-{}[],&*!|>'\"%@`#?~ \n\t0".utf8)
        var bytes = text
        for _ in 0..<Int.random(in: 1...8, using: &random) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<9, using: &random) {
            case 0, 1: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 2, 3: bytes.remove(at: place)
            case 4, 5: bytes.insert(marks[place % marks.count], at: place)
            case 6, 7:
                let end = min(bytes.count, place + Int.random(in: 1...40, using: &random))
                let target = Int.random(in: 0...bytes.count, using: &random)
                bytes.insert(contentsOf: Array(bytes[place..<end]), at: target)
            default: bytes.removeSubrange(place...)
            }
        }
        return bytes
    }
}
