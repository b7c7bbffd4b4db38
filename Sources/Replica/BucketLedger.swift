package import Bucket
package import LTXCodec

/// Computes the page ledger of what a bucket really holds, by reading its files.
package enum BucketLedger {
    /// Reads a state to its end; memory is 8 bytes a page and one page.
    ///
    /// - Parameters:
    ///   - bucket: The bucket.
    ///   - txid: Its head.
    /// - Returns: The ledger at that TXID.
    /// - Throws: `RestoreError` for a bucket that cannot be restored, `BucketError`.
    nonisolated(nonsending) package static func compute(
        _ bucket: any BucketClient,
        at txid: TXID
    ) async throws -> PageLedger {
        let collector = ChecksumCollector()
        let result = try await StateWalk(bucket: bucket, target: .txid(txid))
            .run(into: collector, progress: nil)
        return PageLedger(
            pageSize: result.state.pageSize,
            txid: txid,
            checksums: collector.checksums
        )
    }
}

/// Keeps the checksum of each page and nothing of the page.
private final class ChecksumCollector: PageConsumer {
    private(set) var checksums: [UInt64] = []
    private var page = UnsafeMutableRawBufferPointer(start: nil, count: 0)

    deinit {
        page.deallocate()
    }

    func begin(_ state: BucketState) throws {
        page.deallocate()
        page = .allocate(byteCount: Int(state.pageSize), alignment: 16)
        checksums = [UInt64](repeating: 0, count: Int(state.commit))
    }

    func slot() throws -> UnsafeMutableRawBufferPointer { page }

    func take(_ pgno: Pgno) throws {
        let checksum = pageChecksum(pgno: pgno, page: UnsafeRawBufferPointer(page))
        checksums[Int(pgno) - 1] = checksum.rawValue
    }
}
