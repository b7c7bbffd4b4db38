import Bucket
import Foundation
import LTXCodec
import Replica
import SQLiteBridge
import TestSupport
import Testing

@Suite("restoring")
struct RestoreTests {
    @Test(
        "of each page the last version wins, and a shrunken database has no old pages",
        arguments: [
            (RestoreTarget.txid(1), [11, 12, 13, 14]),
            (.txid(2), [11, 22, 13, 14, 25]),
            (.txid(3), [11, 22, 33]),
            (.newest, [11, 22, 33]),
            (.timestamp(2001), [11, 22, 13, 14, 25]),
        ] as [(RestoreTarget, [UInt8])]
    )
    func lastVersionWins(target: RestoreTarget, expected: [UInt8]) async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            let summary = try await restore(bucket, in: directory, target)
            #expect(try fills(summary.path) == expected)
            #expect(summary.commit == UInt32(expected.count))
            #expect(summary.pageSize == 512)
            #expect(summary.timestamp == Int64(summary.txid.rawValue) * 1000)
        }
    }

    @Test("pages of all sizes, in long and short runs, come out right", arguments: 0..<24)
    func randomHistories(seed: Int) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let pageSize = UInt32(512 << (seed % 8))
        let most: UInt32 = pageSize == 65_536 ? 40 : 3000
        try await withTemporaryDirectory { directory in
            let bucket = MadeBucket(in: directory)
            var database: [[UInt8]] = []
            for txid in 1...UInt64(8) {
                let before = UInt32(database.count)
                let commit = UInt32.random(in: 1...most, using: &random)
                let share = Int.random(in: 1...100, using: &random)
                var pages: [(Pgno, [UInt8])] = []
                for pgno in 1...commit {
                    let isDue = pgno > before || Int.random(in: 0..<100, using: &random) < share
                    guard isDue else { continue }
                    var page = [UInt8](repeating: UInt8(txid), count: Int(pageSize))
                    page[3] = UInt8(truncatingIfNeeded: pgno)
                    page[Int(pageSize) - 1] = UInt8.random(in: 0...255, using: &random)
                    pages.append((pgno, page))
                }
                database.removeLast(max(0, database.count - Int(commit)))
                for (pgno, page) in pages {
                    if Int(pgno) <= database.count {
                        database[Int(pgno) - 1] = page
                    } else {
                        database.append(page)
                    }
                }
                try await bucket.add(
                    txid,
                    txid,
                    commit: commit,
                    pageSize: pageSize,
                    pages: pages
                )
            }
            let summary = try await restore(bucket, in: directory)
            #expect(try contents(summary.path) == database.flatMap { $0 })
        }
    }

    @Test("a deleted database restores to an empty file")
    func deletion() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            try await bucket.add(4, 4, commit: 0, [])
            let summary = try await restore(bucket, in: directory, check: .quick)
            #expect(try contents(summary.path).isEmpty)
            #expect(summary.commit == 0)
        }
    }

    @Test("only WAL mode in a SQLite header is presented otherwise")
    func presentation() async throws {
        try await withTemporaryDirectory { directory in
            var page = [UInt8](repeating: 2, count: 512)
            let bucket = MadeBucket(in: directory)
            try await bucket.add(1, 1, commit: 1, pageSize: 512, pages: [(1, page)])
            #expect(try contents(await restore(bucket, in: directory).path) == page)
            page.replaceSubrange(0..<16, with: "SQLite format 3\0".utf8)
            try await bucket.add(2, 2, commit: 1, pageSize: 512, pages: [(1, page)])
            let verbatim = try await restore(bucket, in: directory, overwrite: true)
            #expect(try contents(verbatim.path) == page)
            page[18] = 1
            page[19] = 1
            let output = directory.appending(path: "presented.db").path
            _ = try await Restore(
                bucket: bucket.client,
                output: output,
                options: .init(integrityCheck: .none)
            ).run()
            #expect(try contents(output) == page)
        }
    }

    // MARK: What is refused

    @Test("a page that no file holds is named, and nothing is left")
    func hole() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            try await bucket.add(4, 4, commit: 8, [(4, 44), (5, 45), (8, 48)])
            let address = bucket.client.address
            await #expect(
                throws: RestoreError.notCovered(
                    page: 6,
                    commit: 8,
                    txid: 4,
                    address: address
                )
            ) { _ = try await restore(bucket, in: directory) }
            #expect(try entries(directory) == ["bucket"])
        }
    }

    @Test("a commit size that the files cannot hold reserves nothing")
    func hugeCommit() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            try await bucket.add(4, 4, commit: .max, [(4, 44)])
            let address = bucket.client.address
            await #expect(
                throws: RestoreError.notCovered(
                    page: nil,
                    commit: .max,
                    txid: 4,
                    address: address
                )
            ) { _ = try await restore(bucket, in: directory) }
            #expect(try entries(directory) == ["bucket"])
        }
    }

    @Test("a file under a wrong name is refused")
    func misnamed() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            let file = try await bucket.add(4, 4, commit: 3, header: (5, 5), [(1, 1)])
            let name = LTXFileName(minTXID: 5, maxTXID: 5)
            let address = bucket.client.address
            await #expect(
                throws: RestoreError.misnamed(file, header: name, address: address)
            ) { _ = try await restore(bucket, in: directory) }
            #expect(try entries(directory) == ["bucket"])
        }
    }

    @Test("files of two page sizes are refused")
    func pageSizes() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            try await bucket.add(4, 4, commit: 3, pageSize: 1024, [(1, 1), (2, 2), (3, 3)])
            await #expect {
                _ = try await restore(bucket, in: directory)
            } throws: { error in
                guard case .pageSize(_, 512, last: 1024, _) = error as? RestoreError else {
                    return false
                }
                return "\(error)".contains("was replaced")
            }
            #expect(try entries(directory) == ["bucket"])
        }
    }

    @Test("a file of a few bytes is refused unread", arguments: [0, 1, 99, 115])
    func tinyFile(size: Int) async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            let file = try await bucket.put(4, 4, [UInt8](repeating: 0, count: size))
            let client = ScriptedBucket(bucket.client)
            await #expect(
                throws: RestoreError.damaged(
                    file,
                    .truncated(.trailer, offset: Int64(size)),
                    address: client.address
                )
            ) {
                _ = try await Restore(
                    bucket: client,
                    output: directory.appending(path: "out.db").path
                ).run()
            }
            #expect(client.opened.isEmpty)
        }
    }

    // B49: the restore must not stop at an empty or unsound database with success.
    @Test(
        "a state that fails the integrity check does not appear",
        arguments: [IntegrityCheck.quick, .full]
    )
    func unsound(check: IntegrityCheck) async throws {
        try await withTemporaryDirectory { directory in
            let database = directory.appending(path: "source.db").path
            let connection = try Connection(path: database, mode: .create)
            try connection.execute("CREATE TABLE t(a, b); CREATE INDEX i ON t(b);")
            for row in 0..<500 {
                try connection.execute("INSERT INTO t VALUES(\(row), 'value \(row % 7)')")
            }
            try connection.close()
            let bytes = try contents(database)
            let size = Int(bytes[16]) << 8 | Int(bytes[17])
            var pages = stride(from: 0, to: bytes.count, by: size).map {
                Array(bytes[$0..<$0 + size])
            }
            func snapshot(_ txid: UInt64, _ bucket: MadeBucket) async throws {
                try await bucket.add(
                    level: 9,
                    1,
                    txid,
                    commit: UInt32(pages.count),
                    pageSize: UInt32(size),
                    pages: pages.enumerated().map { (Pgno($0 + 1), $1) }
                )
            }
            let bucket = MadeBucket(in: directory)
            try await snapshot(1, bucket)
            let sound = try await restore(bucket, in: directory, check: check)
            #expect(try contents(sound.path) == bytes)
            try FileManager.default.removeItem(atPath: sound.path)

            for offset in 100..<116 { pages[0][offset] ^= 0xFF }
            try await snapshot(2, bucket)
            pages[0] = [UInt8](repeating: 0x5A, count: size)
            try await snapshot(3, bucket)
            for txid in [2, 3] as [TXID] {
                await #expect {
                    _ = try await restore(bucket, in: directory, .txid(txid), check: check)
                } throws: { error in
                    guard case .integrity(let problems, _, txid) = error as? RestoreError else {
                        return false
                    }
                    return !problems.isEmpty
                }
                #expect(try entries(directory) == ["bucket", "source.db"])
            }
            _ = try await restore(bucket, in: directory, .txid(3), check: .none)
        }
    }

    @Test("an empty or foreign place is refused as what it is")
    func noBucket() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = MadeBucket(in: directory)
            let address = bucket.client.address
            await #expect(throws: RestoreError.plan(.empty, address: address)) {
                _ = try await restore(bucket, in: directory)
            }
            let foreign = Restore(
                bucket: DirectoryBucket(directory.path + "/none/bucket"),
                output: directory.appending(path: "out.db").path
            )
            await #expect(throws: BucketError.missing(path: directory.path + "/none")) {
                _ = try await foreign.run()
            }
            let left = try entries(directory)
            #expect(left.isEmpty)
        }
    }

    // MARK: A bucket that changes meanwhile

    // B39: retention is faster than the restore that has planned with its files.
    @Test("a file that is deleted after the plan was made leads to another plan")
    func plansAnew() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            let client = ScriptedBucket(bucket.client)
            client.beforeOpen = { number, _ in
                guard number == 2 else { return }
                try await bucket.add(level: 9, 1, 4, commit: 2, [(1, 41), (2, 42)])
                let level0 = try await bucket.client.list(level: 0)
                try await bucket.client.delete(level0)
            }
            let output = directory.appending(path: "out.db").path
            let summary = try await Restore(
                bucket: client,
                output: output,
                options: .init(integrityCheck: .none)
            ).run()
            #expect(summary.txid == 4)
            #expect(try fills(output) == [41, 42])
            #expect(summary.plan.files.count == 1)
            #expect(summary.bytesRead > summary.plan.sizeInBytes)
        }
    }

    @Test("compaction behind the plan's back does not change what an exact TXID gives")
    func compactedMeanwhile() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            let client = ScriptedBucket(bucket.client)
            client.beforeOpen = { number, _ in
                guard number == 1 else { return }
                try await bucket.add(
                    level: 1,
                    1,
                    2,
                    commit: 5,
                    [(1, 11), (2, 22), (3, 13), (4, 14), (5, 25)]
                )
                let level0 = try await bucket.client.list(level: 0)
                try await bucket.client.delete(level0.filter { $0.maxTXID < 3 })
            }
            let output = directory.appending(path: "out.db").path
            let summary = try await Restore(
                bucket: client,
                target: .txid(2),
                output: output,
                options: .init(integrityCheck: .none)
            ).run()
            #expect(try fills(output) == [11, 22, 13, 14, 25])
            #expect(summary.plan.files.map(\.level) == [1])
        }
    }

    @Test("a bucket whose files always vanish is given up on, and nothing is left")
    func vanishing() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            let client = ScriptedBucket(bucket.client)
            client.beforeOpen = { _, file in
                throw BucketError.notFound(level: file.level, name: file.name)
            }
            let restore = Restore(
                bucket: client,
                output: directory.appending(path: "out.db").path
            )
            await #expect {
                _ = try await restore.run()
            } throws: { error in
                guard case .vanishing = error as? RestoreError else { return false }
                return true
            }
            #expect(client.opened.count == 3)
            #expect(try entries(directory) == ["bucket"])
        }
    }

    @Test("cancelling stops in the middle of a file and leaves nothing")
    func cancellation() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            let client = ScriptedBucket(bucket.client)
            client.beforeOpen = { number, _ in
                if number == 2 { withUnsafeCurrentTask { $0?.cancel() } }
            }
            let output = directory.appending(path: "out.db").path
            let task = Task {
                try await Restore(bucket: client, output: output).run()
            }
            await #expect(throws: CancellationError.self) { _ = try await task.value }
            #expect(client.opened.count == 2)
            #expect(try entries(directory) == ["bucket"])
        }
    }

    @Test("progress grows to its totals")
    func progress() async throws {
        try await withTemporaryDirectory { directory in
            var random = SeededGenerator(seed: 7)
            let bucket = MadeBucket(in: directory)
            let pages = (1...Pgno(3000)).map { pgno in
                (pgno, (0..<4096).map { _ in UInt8.random(in: 0...255, using: &random) })
            }
            try await bucket.add(1, 1, commit: 3000, pageSize: 4096, pages: pages)
            try await bucket.add(2, 2, commit: 3000, pageSize: 4096, pages: [pages[5]])
            var seen: [RestoreProgress] = []
            let summary = try await Restore(
                bucket: bucket.client,
                output: directory.appending(path: "out.db").path,
                options: .init(integrityCheck: .none)
            ).run { seen.append($0) }
            #expect(seen.count > 5 && seen.count < 202)
            #expect(seen == seen.sorted { ($0.bytes, $0.pages) < ($1.bytes, $1.pages) })
            let last = try #require(seen.last)
            #expect(last.bytes == summary.bytesRead && last.totalBytes == summary.bytesRead)
            #expect(last.pages == 3000 && last.totalPages == 3000)
        }
    }

    private func restore(
        _ bucket: MadeBucket,
        in directory: URL,
        _ target: RestoreTarget = .newest,
        overwrite: Bool = false,
        check: IntegrityCheck = .none
    ) async throws -> RestoreSummary {
        try await Restore(
            bucket: bucket.client,
            target: target,
            output: directory.appending(path: "out.db").path,
            options: .init(overwrite: overwrite, verbatim: true, integrityCheck: check)
        ).run()
    }
}
