import Bucket
import Foundation
import LTXCodec
import Replica
import TestSupport
import Testing

@Suite("comparing a database with its bucket")
struct VerificationTests {
    @Test(
        "exactly the pages that differ are named",
        arguments: [
            ([11, 22, 33], []),
            ([11, 22, 34], [3]),
            ([12, 22, 34], [1, 3]),
            ([11, 22], [3]),
            ([], [1, 2, 3]),
            ([11, 22, 33, 44, 55], [4, 5]),
            ([0, 0, 0, 0], [1, 2, 3, 4]),
        ] as [([UInt8], [Pgno])]
    )
    func names(source: [UInt8], differing: [Pgno]) async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            let report = try await Verification(bucket: bucket.client).run(
                source: database(source)
            )
            #expect(report.differing == differing)
            #expect(report.differingCount == differing.count)
            #expect(report.isEqual == differing.isEmpty)
            #expect(report.pagesCompared == min(source.count, 3))
            #expect(report.txid == 3)
            #expect(report.bucketCommit == 3)
            #expect(report.sourceCommit == UInt32(source.count))
        }
    }

    @Test("an earlier state can be compared too")
    func earlierState() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            let report = try await Verification(bucket: bucket.client, target: .txid(2)).run(
                source: database([11, 22, 13, 14, 25])
            )
            #expect(report.isEqual)
        }
    }

    @Test("of many differing pages the lowest are named and all counted")
    func manyDiffer() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = MadeBucket(in: directory)
            let pages = (1...Pgno(500)).map { ($0, UInt8(1)) }
            try await bucket.add(1, 1, commit: 500, pages)
            try await bucket.add(2, 2, commit: 500, [(400, 2), (500, 2)])
            let report = try await Verification(bucket: bucket.client).run(
                source: database([UInt8](repeating: 0, count: 700))
            )
            #expect(report.differing == Array(1...Pgno(Verification.namedPages)))
            #expect(report.differingCount == 700)
            let longer = try await Verification(bucket: bucket.client).run(
                source: Verification.Source(pageSize: 512, commit: .max) { _, page in
                    for index in page.indices { page[index] = 1 }
                }
            )
            #expect(longer.differingCount == 2 + Int(UInt32.max) - 500 - 1)
            #expect(longer.differing.prefix(3) == [400, 500, 501])
        }
    }

    @Test("the lock page is nobody's")
    func lockPage() async throws {
        try await withTemporaryDirectory { directory in
            let pageSize: UInt32 = 65_536
            let lock = lockPgno(pageSize: pageSize)
            let bucket = MadeBucket(in: directory)
            let zeros = [UInt8](repeating: 0, count: Int(pageSize))
            try await bucket.add(
                1,
                1,
                commit: lock + 1,
                pageSize: pageSize,
                pages: (1...lock + 1).filter { $0 != lock }.map { ($0, zeros) }
            )
            for (commit, differing) in [
                (lock - 1, [lock + 1]), (lock, [lock + 1]), (lock + 1, []), (lock + 2, [lock + 2]),
            ] {
                var asked = 0
                let report = try await Verification(bucket: bucket.client).run(
                    source: Verification.Source(pageSize: pageSize, commit: commit) { pgno, page in
                        if pgno == lock { throw BucketError.missing(path: "the lock page") }
                        _ = page.initializeMemory(as: UInt8.self, repeating: 0)
                        asked += 1
                    }
                )
                #expect(report.differing == differing)
                #expect(report.pagesCompared == asked)
                #expect(asked == Int(min(commit, lock + 1)) - (commit < lock ? 0 : 1))
            }
        }
    }

    @Test("databases of two page sizes are not compared")
    func pageSizes() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            await #expect(throws: VerifyError.pageSize(source: 1024, bucket: 512)) {
                _ = try await Verification(bucket: bucket.client).run(
                    source: Verification.Source(pageSize: 1024, commit: 1) { _, _ in }
                )
            }
        }
    }

    @Test("a damaged file and a failing source are errors, not differences")
    func failures() async throws {
        struct Unreadable: Error {}
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            let failing = Verification.Source(pageSize: 512, commit: 3) { _, _ in
                throw Unreadable()
            }
            await #expect(throws: Unreadable.self) {
                _ = try await Verification(bucket: bucket.client).run(source: failing)
            }
            try await bucket.put(4, 4, [UInt8](repeating: 9, count: 500))
            await #expect(throws: RestoreError.self) {
                _ = try await Verification(bucket: bucket.client).run(source: database([]))
            }
        }
    }

    @Test("a bucket that changes meanwhile is compared from the start")
    func plansAnew() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            let client = ScriptedBucket(bucket.client)
            client.beforeOpen = { number, _ in
                guard number == 3 else { return }
                try await bucket.add(
                    level: 9,
                    1,
                    3,
                    commit: 3,
                    [(1, 11), (2, 22), (3, 33)]
                )
                let level0 = try await bucket.client.list(level: 0)
                try await bucket.client.delete(level0)
            }
            let report = try await Verification(bucket: client).run(
                source: database([11, 22, 99])
            )
            #expect(report.differing == [3])
            #expect(report.pagesCompared == 3)
        }
    }

    @Test(
        "every golden bucket equals what it restores to",
        .enabled(if: Shared.isPresent, Shared.missing),
        arguments: Manifest.shared?.buckets ?? []
    )
    func golden(bucket: Manifest.Bucket) async throws {
        try await withTemporaryDirectory { directory in
            let client = DirectoryBucket(try copyGoldenBucket(bucket, to: directory).path)
            let restored = try await Restore(
                bucket: client,
                output: directory.appending(path: "out.db").path,
                options: .init(verbatim: true, integrityCheck: .none)
            ).run()
            let bytes = try contents(restored.path)
            let size = Int(restored.pageSize)
            let report = try await Verification(bucket: client).run(
                source: Verification.Source(
                    pageSize: restored.pageSize,
                    commit: restored.commit
                ) { pgno, page in
                    page.copyBytes(from: bytes[(Int(pgno) - 1) * size..<Int(pgno) * size])
                }
            )
            #expect(report.isEqual)
            #expect(report.pagesCompared == Int(restored.commit))
        }
    }

    private func database(_ fills: [UInt8]) -> Verification.Source {
        Verification.Source(pageSize: 512, commit: UInt32(fills.count)) { pgno, page in
            for index in page.indices { page[index] = fills[Int(pgno) - 1] }
        }
    }
}
