public import Bucket
public import LTXCodec

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Compares a database with a state in its bucket, page by page, without restoring it.
///
/// Every file of the plan is read once and checked in full; memory is a few bits a page. The
/// bytes of the bucket count as they are, WAL mode in page 1 included.
public struct Verification: Sendable {
    /// The database to compare with, which must not change meanwhile: a read transaction sees to
    /// that.
    public struct Source {
        /// Bytes a page.
        public let pageSize: UInt32
        /// Size in pages.
        public let commit: UInt32
        /// Reads a page from 1 to `commit` into a buffer of one page.
        ///
        /// Pages are asked for in ascending runs, never the lock page, and none twice unless the
        /// walk has to start over.
        public let readPage: (Pgno, UnsafeMutableRawBufferPointer) throws -> Void

        public init(
            pageSize: UInt32,
            commit: UInt32,
            readPage: @escaping (Pgno, UnsafeMutableRawBufferPointer) throws -> Void
        ) {
            self.pageSize = pageSize
            self.commit = commit
            self.readPage = readPage
        }
    }

    /// How many page numbers a report names.
    public static let namedPages = 100

    private let walk: StateWalk

    public init(bucket: any BucketClient, target: RestoreTarget = .newest) {
        walk = StateWalk(bucket: bucket, target: target)
    }

    /// Compares; blocks the caller's executor while it works.
    ///
    /// - Parameters:
    ///   - source: The database.
    ///   - progress: Called about every half percent of the bytes, and at the end.
    /// - Returns: Which pages differ, if any.
    /// - Throws: `VerifyError`, `RestoreError`, `BucketError`, `CancellationError`, and what
    ///   reading the source throws.
    nonisolated(nonsending) public func run(
        source: Source,
        progress: ((RestoreProgress) -> Void)? = nil
    ) async throws -> VerifyReport {
        let comparison = PageComparison(source)
        let result = try await walk.run(into: comparison, progress: progress)
        return comparison.report(result.state)
    }
}

/// Why a database cannot be compared with a state.
public enum VerifyError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Pages of different sizes have nothing to compare.
    case pageSize(source: UInt32, bucket: UInt32)

    public var description: String {
        switch self {
        case .pageSize(let source, let bucket):
            "the database has pages of \(source) bytes, the bucket of \(bucket): "
                + "they are not the same database"
        }
    }
}

/// What comparing a database with its bucket found.
public struct VerifyReport: Hashable, Sendable {
    /// The state that was compared.
    public let state: BucketState
    /// Size in pages of the database.
    public let sourceCommit: UInt32
    /// Pages that both sides have.
    public let pagesCompared: Int
    /// The lowest pages that differ or that one side lacks, at most `Verification.namedPages`.
    public let differing: [Pgno]
    /// All pages that differ or that one side lacks.
    public let differingCount: Int

    public var txid: TXID { state.txid }
    public var bucketCommit: UInt32 { state.commit }
    public var isEqual: Bool { differingCount == 0 }
}

/// Compares each page as it comes.
private final class PageComparison: PageConsumer {
    private let source: Verification.Source
    /// One page of the bucket, and one of the source.
    private let pages: UnsafeMutableRawBufferPointer
    private let pageSize: Int
    private var differing = PageSet(upTo: 0)
    private var compared = 0

    init(_ source: Verification.Source) {
        self.source = source
        pageSize = Int(source.pageSize)
        pages = .allocate(byteCount: 2 * pageSize, alignment: 16)
    }

    deinit {
        pages.deallocate()
    }

    func begin(_ state: BucketState) throws {
        guard state.pageSize == source.pageSize else {
            throw VerifyError.pageSize(source: source.pageSize, bucket: state.pageSize)
        }
        differing = PageSet(upTo: state.commit)
        compared = 0
    }

    func slot() throws -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: pages[..<pageSize])
    }

    func take(_ pgno: Pgno) throws {
        guard pgno <= source.commit else {
            _ = differing.insert(pgno)
            return
        }
        let theirs = UnsafeMutableRawBufferPointer(rebasing: pages[pageSize...])
        try source.readPage(pgno, theirs)
        compared += 1
        guard let ours = pages.baseAddress, let base = theirs.baseAddress else { return }
        if memcmp(ours, base, pageSize) != 0 { _ = differing.insert(pgno) }
    }

    func report(_ state: BucketState) -> VerifyReport {
        var named = differing.first(Verification.namedPages)
        var count = differing.count
        if source.commit > state.commit {
            // Those that the bucket lacks are above all that it has.
            let lacking = state.commit + 1...source.commit
            let isLockPageLacking = lacking.contains(state.lockPgno)
            count += lacking.count - (isLockPageLacking ? 1 : 0)
            for pgno in lacking where pgno != state.lockPgno {
                guard named.count < Verification.namedPages else { break }
                named.append(pgno)
            }
        }
        return VerifyReport(
            state: state,
            sourceCommit: source.commit,
            pagesCompared: compared,
            differing: named,
            differingCount: count
        )
    }
}
