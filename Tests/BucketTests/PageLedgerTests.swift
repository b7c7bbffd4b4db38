import Foundation
import LTXCodec
import Bucket
import TestSupport
import Testing

/// A checksum that a page could have.
private func sum(_ value: UInt64) -> Checksum { Checksum(rawValue: 1 << 63 | value) }

private func entries(_ values: [(Pgno, UInt64)]) -> [(pgno: Pgno, checksum: Checksum)] {
    values.map { ($0.0, sum($0.1)) }
}

/// The exclusive or over all entries, the slow way.
private func rolling(_ ledger: PageLedger) -> Checksum {
    var checksum = DatabaseChecksum()
    if ledger.commit > 0 {
        for pgno in 1...ledger.commit {
            if let page = ledger[pgno] { checksum.toggle(page) }
        }
    }
    return checksum.value
}

@Suite("The page ledger")
struct PageLedgerTests {
    private func ledger(_ count: UInt32, pageSize: UInt32 = 4096) -> PageLedger {
        var ledger = PageLedger(pageSize: pageSize)
        ledger.apply(
            txid: TXID(1),
            commit: count,
            pages: (0..<count).map { (pgno: $0 + 1, checksum: sum(UInt64($0) * 7 + 1)) }
        )
        return ledger
    }

    @Test("a delta changes its entries and says which")
    func applies() {
        var ledger = ledger(10)
        let changed = ledger.apply(
            txid: TXID(2),
            commit: 10,
            pages: entries([(2, 100), (3, 15), (9, 101)])
        )
        // Page 3 has that checksum already.
        #expect(changed == [2, 9])
        #expect(ledger[2] == sum(100) && ledger[3] == sum(15) && ledger[9] == sum(101))
        #expect(ledger.txid == TXID(2) && ledger.commit == 10)
        #expect(ledger.checksum == rolling(ledger))
        #expect(ledger.firstUnknown == nil)
    }

    @Test("a database that shrinks loses the entries behind its end")
    func shrinks() {
        var ledger = ledger(10)
        // Page 9 is above the commit: it is not part of the database.
        ledger.apply(txid: TXID(2), commit: 4, pages: entries([(4, 44), (9, 99)]))
        #expect(ledger.commit == 4)
        #expect(ledger[5] == nil && ledger[9] == nil && ledger[4] == sum(44))
        #expect(ledger.checksum == rolling(ledger))
        ledger.apply(txid: TXID(3), commit: 0, pages: [])
        #expect(ledger.commit == 0)
        #expect(ledger.checksum == DatabaseChecksum().value)
    }

    @Test("a growth without all its pages is found out")
    func grows() {
        var ledger = ledger(3)
        ledger.apply(txid: TXID(2), commit: 6, pages: entries([(4, 4), (6, 6)]))
        #expect(ledger.firstUnknown == 5)
        #expect(ledger[5] == nil)
        ledger.apply(txid: TXID(3), commit: 6, pages: entries([(5, 5)]))
        #expect(ledger.firstUnknown == nil)
        #expect(ledger.checksum == rolling(ledger))
    }

    @Test("the lock page has no entry and needs none", arguments: [65_536, 32_768] as [UInt32])
    func lockPage(pageSize: UInt32) {
        let lock = lockPgno(pageSize: pageSize)
        var ledger = PageLedger(pageSize: pageSize)
        let pages = (1...lock + 2).filter { $0 != lock }
        ledger.apply(
            txid: TXID(1),
            commit: lock + 2,
            pages: pages.map { (pgno: $0, checksum: sum(UInt64($0))) }
        )
        #expect(ledger[lock] == nil)
        #expect(ledger.firstUnknown == nil)
        #expect(ledger.checksum == rolling(ledger))
    }

    @Test("there is no page 0 and none behind the end")
    func bounds() {
        var ledger = ledger(3)
        ledger.apply(txid: TXID(2), commit: 3, pages: entries([(0, 9), (4, 9)]))
        #expect(ledger[0] == nil && ledger[4] == nil && ledger[.max] == nil)
        #expect(ledger.checksum == rolling(ledger))
    }

    @Test("a delta played twice is a delta played once", arguments: [1, 2, 3] as [UInt64])
    func replays(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var deltas: [(commit: UInt32, pages: [(pgno: Pgno, checksum: Checksum)])] = []
        var size: UInt32 = 20
        for _ in 0..<40 {
            let commit = UInt32.random(in: 1...40, using: &random)
            var pages = Set((0..<5).map { _ in UInt32.random(in: 1...commit, using: &random) })
            if commit > size { pages.formUnion(size + 1...commit) }
            deltas.append(
                (commit, pages.sorted().map { ($0, sum(.random(in: 1...99, using: &random))) })
            )
            size = commit
        }
        var once = ledger(20)
        var states = [once]
        for (index, delta) in deltas.enumerated() {
            once.apply(txid: TXID(UInt64(index) + 2), commit: delta.commit, pages: delta.pages)
            #expect(once.checksum == rolling(once))
            states.append(once)
        }
        // From any state on, the last delta again and then the rest.
        for start in 1...deltas.count {
            var again = states[start]
            for index in start - 1..<deltas.count {
                again.apply(
                    txid: TXID(UInt64(index) + 2),
                    commit: deltas[index].commit,
                    pages: deltas[index].pages
                )
            }
            #expect(again == once, "seed \(seed), from \(start)")
        }
    }
}

@Suite("The ledger on disk")
struct LedgerFileTests {
    private func withLedger(
        _ pages: UInt32 = 50,
        _ body: (LedgerFile, PageLedger, URL) throws -> Void
    ) throws {
        try withTemporaryDirectory { directory in
            let url = directory.appending(path: "ledger")
            let file = LedgerFile(path: url.path)
            var ledger = PageLedger(pageSize: 4096)
            ledger.apply(
                txid: TXID(9),
                commit: pages,
                pages: (0..<pages).map { (pgno: $0 + 1, checksum: sum(UInt64($0) * 31 + 5)) }
            )
            try file.replace(with: ledger)
            try body(file, ledger, url)
        }
    }

    @Test("what is written is read", arguments: [0, 1, 50, 5000] as [UInt32])
    func roundTrip(pages: UInt32) throws {
        try withLedger(pages) { file, ledger, _ in
            let loaded = try #require(try file.load())
            #expect(loaded.ledger == ledger)
            #expect(loaded.checksum == ledger.checksum)
        }
    }

    @Test("no file is no ledger")
    func missing() throws {
        try withTemporaryDirectory { directory in
            let file = LedgerFile(path: directory.appending(path: "none").path)
            let loaded = try file.load()
            #expect(loaded == nil)
        }
    }

    @Test("changes in place give what a new file gives", arguments: [1, 2, 3, 4] as [UInt64])
    func updates(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        try withLedger { file, first, _ in
            var ledger = first
            for round in 0..<60 {
                let before = ledger.commit
                let commit = UInt32.random(in: 1...90, using: &random)
                var pages = Set((0..<9).map { _ in UInt32.random(in: 1...commit, using: &random) })
                if commit > before { pages.formUnion(before + 1...commit) }
                let changed = ledger.apply(
                    txid: ledger.txid.next,
                    commit: commit,
                    pages: pages.sorted().map {
                        ($0, sum(UInt64.random(in: 0...3, using: &random)))
                    }
                )
                try file.update(to: ledger, changed: changed, grownFrom: before)
                let loaded = try #require(try file.load())
                #expect(loaded.ledger == ledger, "seed \(seed), round \(round)")
                #expect(loaded.checksum == ledger.checksum)
            }
        }
    }

    @Test("no flipped bit goes unnoticed")
    func flips() throws {
        try withLedger(8) { file, ledger, url in
            let good = try Data(contentsOf: url)
            for index in good.indices {
                for bit in 0..<8 {
                    var bad = good
                    bad[index] ^= 1 << bit
                    try bad.write(to: url)
                    guard let loaded = try? file.load() else { continue }
                    // Bytes 40–63 mean nothing.
                    guard !(40..<64).contains(index) else { continue }
                    #expect(
                        loaded.ledger.checksum != loaded.checksum,
                        "byte \(index), bit \(bit)"
                    )
                }
            }
            try good.write(to: url)
            #expect(try file.load()?.ledger == ledger)
        }
    }

    @Test("a file that was cut anywhere is refused")
    func truncations() throws {
        try withLedger(8) { file, _, url in
            let good = try Data(contentsOf: url)
            for length in 0..<good.count {
                try good.prefix(length).write(to: url)
                #expect(throws: LedgerFile.Damage.self, "\(length) bytes") { try file.load() }
            }
        }
    }

    @Test("a header that promises more than there is allocates nothing")
    func hugePromise() throws {
        try withLedger(8) { file, _, url in
            var bytes = [UInt8](try Data(contentsOf: url))
            bytes.replaceSubrange(12..<16, with: [0xFF, 0xFF, 0xFF, 0xFF])
            var crc = CRC64()
            bytes[..<32].withUnsafeBytes { crc.update($0) }
            let value = crc.value
            bytes.replaceSubrange(
                32..<40,
                with: (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
            )
            try Data(bytes).write(to: url)
            #expect(throws: LedgerFile.Damage.self) { try file.load() }
        }
    }
}
