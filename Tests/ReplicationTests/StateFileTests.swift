import DurableFiles
import Foundation
import LTXCodec
import Replication
import SQLiteWAL
import TestSupport
import Testing

@Suite("The state file")
struct StateFileTests {
    private static let cursor = WALCursor(
        salt: WALSalt(salt1: 2_671_382_978, salt2: .max),
        sequence: 7,
        pageSize: 65_536,
        bigEndianChecksums: true,
        nextFrame: 121,
        checksum: WALChecksum(s1: 1_545_577_424, s2: 0),
        commit: .max
    )

    private static let fingerprint = FileFingerprint(
        identity: FileIdentity(device: .max, inode: 131_077),
        sizeInBytes: .max,
        modifiedNanoseconds: -1,
        changedNanoseconds: 1_700_000_000_123_456_789
    )

    static let states: [ReplicatorState] = {
        var states: [ReplicatorState] = []
        let plain = ReplicatorState(
            lineage: String(repeating: "0f", count: 16),
            database: FileIdentity(device: 2049, inode: 131_077)
        )
        states.append(plain)
        var full = plain
        full.made = ReplicatorState.Made(
            txid: TXID(.max),
            place: .cursor(cursor),
            checksum: Checksum(rawValue: .max)
        )
        full.making = ReplicatorState.Making(
            level: 9,
            name: LTXFileName(minTXID: TXID(1), maxTXID: TXID(.max)),
            fileChecksum: Checksum(rawValue: 1 << 63),
            made: ReplicatorState.Made(txid: TXID(3), place: .atRest(fingerprint))
        )
        full.highest = TXID(.max)
        full.acknowledged = [
            "/var/backups/health": .init(txid: TXID(41), fileChecksum: Checksum(rawValue: 77)),
            "/a path  with two spaces ": .init(txid: TXID(1), fileChecksum: .none),
            "/größe/ü": .init(txid: TXID(2), fileChecksum: .none),
        ]
        full.streak = RetryStreak(count: .max)
        states.append(full)
        var resting = plain
        resting.made = ReplicatorState.Made(txid: TXID(5), place: .atRest(fingerprint))
        resting.streak = RetryStreak(count: 3)
        states.append(resting)
        return states
    }()

    @Test("what is written is read", arguments: states.indices)
    func roundTrip(index: Int) throws {
        try withTemporaryDirectory { directory in
            let file = StateFile(path: directory.appending(path: "state").path)
            #expect(try file.load() == nil)
            try file.save(Self.states[index])
            #expect(try file.load() == Self.states[index])
        }
    }

    @Test("an address that would break the lines is left out")
    func lineBreak() throws {
        var state = Self.states[0]
        state.acknowledged["/a\nstreak 9"] = .init(txid: TXID(1), fileChecksum: .none)
        #expect(try StateFile.parse(StateFile.text(of: state)) == Self.states[0])
    }

    /// Loads bytes as a state file.
    private func load(_ bytes: [UInt8]) throws -> ReplicatorState? {
        try withTemporaryDirectory { directory in
            let url = directory.appending(path: "state")
            try Data(bytes).write(to: url)
            return try StateFile(path: url.path).load()
        }
    }

    @Test("no flipped bit goes unnoticed", arguments: states.indices)
    func flips(index: Int) throws {
        let good = Array(StateFile.text(of: Self.states[index]).utf8)
        for position in good.indices {
            for bit in 0..<8 {
                var bad = good
                bad[position] ^= 1 << bit
                let text = String(decoding: bad, as: UTF8.self)
                #expect(throws: StateFile.Unusable.self, "byte \(position), bit \(bit)") {
                    try StateFile.parse(text)
                }
            }
        }
    }

    @Test("a file that was cut anywhere is refused", arguments: states.indices)
    func truncations(index: Int) throws {
        let good = Array(StateFile.text(of: Self.states[index]).utf8)
        for length in good.indices {
            let text = String(decoding: good[..<length], as: UTF8.self)
            #expect(throws: StateFile.Unusable.self, "\(length) bytes") {
                try StateFile.parse(text)
            }
        }
    }

    @Test("what follows the checksum is not ignored")
    func trailing() {
        let good = StateFile.text(of: Self.states[1])
        for tail in ["\n", " ", "x", good] {
            #expect(throws: StateFile.Unusable.self) { try StateFile.parse(good + tail) }
        }
    }

    /// The text with a checksum of its own, as a program with other rules would write it.
    private func sealed(_ body: String) -> String {
        var crc = CRC64()
        var copy = body
        copy.withUTF8 { crc.update(UnsafeRawBufferPointer($0)) }
        let digits = String(crc.value, radix: 16)
        return body + "crc " + String(repeating: "0", count: 16 - digits.count) + digits + "\n"
    }

    @Test("a state from the future names its version")
    func future() {
        #expect(throws: StateFile.Unusable.version("2")) {
            try StateFile.parse(sealed("dormouse-state 2\nsomething new\n"))
        }
    }

    static let impossible: [(String, String)] = [
        ("no line at all", ""),
        ("another file", "hello\n"),
        ("two versions", "dormouse-state 1\ndormouse-state 1\n"),
        ("no lineage", "dormouse-state 1\ndatabase 1 2\n"),
        ("a cursor at frame 0", made("cursor 1 2 3 le 0 1 1 4096 5")),
        ("a page size of 100", made("cursor 1 2 3 le 1 1 1 100 5")),
        ("a page size of 0", made("cursor 1 2 3 le 1 1 1 0 5")),
        ("a byte order of its own", made("cursor 1 2 3 me 1 1 1 4096 5")),
        ("a number too large", made("cursor 1 2 3 le 4294967296 1 1 4096 5")),
        ("a number too few", made("cursor 1 2 3 le 1 1 1 4096")),
        ("a number too many", made("cursor 1 2 3 le 1 1 1 4096 5 6")),
        ("an unknown place", made("nowhere")),
        ("a fingerprint cut short", made("at-rest 1:2:3:4")),
        ("a negative inode", made("at-rest 1:-2:3:4:5")),
        ("no place", made("")),
    ]

    private static func made(_ place: String) -> String {
        """
        dormouse-state 1
        lineage 00
        database 1 2
        highest 0000000000000001
        made 0000000000000001 0000000000000000 - \(place)
        streak 0

        """
    }

    @Test("a line that makes no sense is refused", arguments: impossible)
    func refusesLine(name: String, body: String) {
        #expect(throws: StateFile.Unusable.self) { try StateFile.parse(sealed(body)) }
    }

    @Test("the same lines with sense are taken")
    func possible() throws {
        let body = Self.made("cursor 1 2 3 le 1 1 1 4096 5")
        #expect(try StateFile.parse(sealed(body)).made.txid == TXID(1))
        var state = try StateFile.parse(sealed(body))
        #expect(state.made.sealed == nil)
        state.made.sealed = FileFingerprint(
            identity: FileIdentity(device: 1, inode: 2),
            sizeInBytes: 3,
            modifiedNanoseconds: 4,
            changedNanoseconds: 5
        )
        #expect(try StateFile.parse(StateFile.text(of: state)) == state)
    }

    @Test("a file of two megabytes is refused unread, and of random bytes too")
    func garbage() throws {
        #expect(throws: FileError.self) { try load([UInt8](repeating: 10, count: 2 << 20)) }
        var random = SeededGenerator(seed: 7)
        for count in [0, 1, 60, 4096] {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(throws: StateFile.Unusable.self) { try load(bytes) }
        }
    }
}
