import LTXCodec
import TestSupport
import Testing

@Suite("LTX compactor")
struct LTXCompactorTests {
    /// One page, filled with the last TXID.
    private func file(_ range: ClosedRange<UInt64>, pgno: Pgno = 1) throws -> [UInt8] {
        let header = LTXHeader(
            pageSize: 512,
            commit: 1,
            minTXID: TXID(range.lowerBound),
            maxTXID: TXID(range.upperBound),
            timestamp: Int64(range.upperBound * 1000),
            walOffset: 32,
            walSize: 536,
            walSalt1: 1,
            nodeID: range.upperBound
        )
        let page = [UInt8](repeating: UInt8(range.upperBound), count: 512)
        return try encoded(header, [DecodedFile.Page(pgno: pgno, bytes: page)])
    }

    private func compact(_ files: [[UInt8]]) throws -> [UInt8] {
        var result: [UInt8] = []
        let inputs = files.enumerated().map { number, file in
            LTXMergeInput(name: "input \(number)", read: source(of: file))
        }
        let summary = try LTXCompactor.compact(inputs) { result.append(contentsOf: $0) }
        #expect(summary.sizeInBytes == result.count)
        return result
    }

    // BUGS B04
    @Test(
        "what counts as the next file does not depend on the order of a listing",
        arguments: [
            ([1...5, 6...6], 1...6), ([1...5, 4...8], 1...8), ([1...5, 2...4], 1...5),
            ([1...1, 1...4], 1...4), ([1...1], 1...1), ([3...5, 4...5, 4...4], 3...5),
            ([2...2, 3...3, 4...4], 2...4), ([1...4, 2...3, 5...5], 1...5),
        ] as [([ClosedRange<UInt64>], ClosedRange<UInt64>)]
    )
    func joins(ranges: [ClosedRange<UInt64>], expected: ClosedRange<UInt64>) throws {
        for order in [ranges, ranges.reversed()] {
            let result = try DecodedFile(compact(order.map { try file($0) }))
            #expect(result.header.minTXID == TXID(expected.lowerBound))
            #expect(result.header.maxTXID == TXID(expected.upperBound))
            #expect(result.pages.map(\.bytes[0]) == [UInt8(expected.upperBound)])
            #expect(result.header.timestamp == Int64(expected.upperBound * 1000))
            #expect(result.header.nodeID == expected.upperBound)
            #expect(result.header.walOffset == 0)
            #expect(result.header.walSalt1 == 0)
        }
    }

    // BUGS B04
    @Test("a gap is an error that names the file behind it")
    func gap() throws {
        let files = try [file(1...5), file(7...7)]
        for (files, culprit) in [(files, "input 1"), (files.reversed(), "input 0")] {
            #expect {
                try compact(files)
            } throws: { error in
                guard
                    case LTXMergeError.gap(let covered, let input, let minTXID) = error
                else { return false }
                return covered == TXID(5) && input == culprit && minTXID == TXID(7)
            }
        }
    }

    @Test("nothing cannot be merged")
    func noInputs() {
        #expect {
            try compact([])
        } throws: { error in
            if case LTXMergeError.noInputs = error { true } else { false }
        }
    }

    @Test("files of different page sizes cannot be merged")
    func pageSizes() throws {
        let other = LTXHeader(pageSize: 1024, commit: 1, minTXID: TXID(2), maxTXID: TXID(2))
        #expect {
            try compact([file(1...1), encoded(other, [])])
        } throws: { error in
            if case LTXMergeError.pageSize(1024, "input 1", 512) = error { true } else { false }
        }
    }

    // BUGS B05
    @Test(
        "an input without a good header fails the call by name, before anything is written",
        arguments: [
            (50, LTXError.truncated(.header, offset: 50)), (200, .magic(0x5854_4C31)),
            (0, .truncated(.header, offset: 0)),
        ]
    )
    func badHeader(size: Int, fault: LTXError) throws {
        var bad = try Array(file(2...2).prefix(size))
        if size == 200 {
            bad += [UInt8](repeating: 0, count: 200 - bad.count)
            bad.replaceSubrange(0..<4, with: Array("XTL1".utf8))
        }
        let inputs = [
            LTXMergeInput(name: "good", read: source(of: try file(1...1))),
            LTXMergeInput(name: "bad", read: source(of: bad)),
        ]
        #expect {
            _ = try LTXCompactor.compact(inputs) { _ in
                Issue.record("something was written")
            }
        } throws: { error in
            guard case LTXMergeError.unreadable("bad", let cause) = error else { return false }
            return cause as? LTXError == fault
        }
    }

    // BUGS B05
    @Test("an input that is damaged further on fails the call by name")
    func badBody() throws {
        var bad = try file(2...2)
        bad[bad.count - 1] ^= 1
        #expect {
            try compact([file(1...1), bad])
        } throws: { error in
            guard case LTXMergeError.unreadable("input 1", let cause) = error else { return false }
            return (cause as? LTXError)?.category == .fileChecksum
        }
    }

    @Test("being cancelled is no fault of an input")
    func cancelled() {
        let input = LTXMergeInput(name: "slow") { _ in throw CancellationError() }
        #expect(throws: CancellationError.self) {
            _ = try LTXCompactor.compact([input]) { _ in }
        }
    }

    @Test(
        "merged, then applied, is one after the other applied",
        arguments: 0..<40 as Range<UInt64>
    )
    func property(seed: UInt64) throws {
        let pageSize = [512, 1024, 4096][Int(seed % 3)]
        var history = History(pageSize: pageSize, seed: seed)
        var files: [[UInt8]] = []
        var states: [[UInt8]] = [[]]
        for _ in 0..<12 {
            files.append(try history.advance())
            states.append(history.database)
        }
        var random = SeededGenerator(seed: seed)
        for _ in 0..<12 {
            let start = Int.random(in: 0..<files.count, using: &random)
            let end = Int.random(in: start..<files.count, using: &random)
            let merged = try compact(Array(files[start...end]).shuffled(using: &random))
            let decoded = try DecodedFile(merged)
            #expect(decoded.applied(to: states[start]) == states[end + 1])

            // And merges merge, overlapping or not.
            let middle = Int.random(in: start...end, using: &random)
            let again = try compact([
                compact(Array(files[start...middle])), compact(Array(files[middle...end])),
            ])
            #expect(try DecodedFile(again) == decoded)
        }
    }

    @Test("pages above the last commit are dropped")
    func truncates() throws {
        var history = History(pageSize: 512, seed: 11)
        var files = [try history.advance()]
        let header = LTXHeader(pageSize: 512, commit: 0, minTXID: TXID(2), maxTXID: TXID(2))
        files.append(try encoded(header, []))
        let result = try DecodedFile(compact(files))
        #expect(result.header.commit == 0)
        #expect(result.header.isSnapshot)
        #expect(result.pages.isEmpty)
    }

    @Test("a page that was cut off does not come back when the database grows again")
    func cutOffStaysOff() throws {
        let page = [UInt8](repeating: 1, count: 512)
        func file(_ txid: UInt64, commit: UInt32, _ numbers: [Pgno]) throws -> [UInt8] {
            let header = LTXHeader(
                pageSize: 512,
                commit: commit,
                minTXID: TXID(txid),
                maxTXID: TXID(txid)
            )
            return try encoded(header, numbers.map { DecodedFile.Page(pgno: $0, bytes: page) })
        }
        // The last file should hold page 2, as SQLite writes every page a database grows by.
        let files = try [
            file(1, commit: 3, [1, 2, 3]), file(2, commit: 1, []), file(3, commit: 3, [3]),
        ]
        #expect {
            try compact(files)
        } throws: { error in
            guard case LTXError.missingPage(2, found: 3, offset: _) = error else { return false }
            return true
        }
    }

    @Test("checksums are kept if all inputs keep them, and must join")
    func checksums() throws {
        let page = [UInt8](repeating: 1, count: 512)
        var database = DatabaseChecksum()
        page.withUnsafeBytes { database.toggle(pgno: 1, page: $0) }
        let first = LTXHeader(
            flags: 0,
            pageSize: 512,
            commit: 1,
            minTXID: TXID(1),
            maxTXID: TXID(1)
        )
        let snapshot = try encoded(
            first,
            [DecodedFile.Page(pgno: 1, bytes: page)],
            postApplyChecksum: database.value
        )
        func next(_ preApply: Checksum) throws -> [UInt8] {
            let header = LTXHeader(
                flags: 0,
                pageSize: 512,
                commit: 1,
                minTXID: TXID(2),
                maxTXID: TXID(2),
                preApplyChecksum: preApply
            )
            return try encoded(header, [], postApplyChecksum: database.value)
        }
        let joined = try DecodedFile(compact([snapshot, next(database.value)]))
        #expect(!joined.header.hasNoChecksum)
        #expect(joined.trailer.postApplyChecksum == database.value)

        #expect {
            try compact([snapshot, next(Checksum(crc: 5))])
        } throws: { error in
            if case LTXMergeError.checksum(_, "input 1", _) = error { true } else { false }
        }

        let mixed = try DecodedFile(compact([snapshot, file(2...2)]))
        #expect(mixed.header.hasNoChecksum)
        #expect(mixed.trailer.postApplyChecksum == .none)
    }

    @Test(
        "level-0 files merge to what Litestream made of them",
        .enabled(if: Shared.isPresent, Shared.missing),
        arguments: CompactedFile.all
    )
    func sameAsLitestream(file: CompactedFile) throws {
        let golden = try DecodedFile(goldenBytes(file.path))
        let ours = try DecodedFile(compact(file.inputs.map { try goldenBytes($0) }))
        #expect(ours.pages == golden.pages)
        #expect(ours.header.commit == golden.header.commit)
        #expect(ours.header.minTXID == golden.header.minTXID)
        #expect(ours.header.maxTXID == golden.header.maxTXID)
        #expect(ours.header.timestamp == golden.header.timestamp)
    }
}

/// A golden file of levels 1 to 8 whose level-0 files are all still there.
struct CompactedFile: Sendable, CustomTestStringConvertible {
    let path: String
    let inputs: [String]

    var testDescription: String { path }

    static let all: [CompactedFile] = (Manifest.shared?.buckets ?? []).flatMap { bucket in
        let singles = bucket.files.filter { $0.level == 0 }
            .compactMap { file in LTXFileName(file.name).map { ($0, file) } }
        return bucket.files.filter { (1...8).contains($0.level) }.compactMap {
            file -> CompactedFile? in
            guard let name = LTXFileName(file.name) else { return nil }
            let inputs = singles.filter {
                name.minTXID <= $0.0.minTXID && $0.0.maxTXID <= name.maxTXID
            }
            let count = name.maxTXID.rawValue - name.minTXID.rawValue + 1
            guard UInt64(inputs.count) == count else { return nil }
            return CompactedFile(
                path: "\(bucket.path)/ltx/\(file.level)/\(file.name)",
                inputs: inputs.map { "\(bucket.path)/ltx/0/\($0.1.name)" }
            )
        }
    }
}
