public import LTXCodec

/// One checksum a page of a database at one TXID.
///
/// A lost place then costs one scan instead of a whole upload: pages whose checksum differs are
/// the delta. 8 bytes a page: 1.5 MB for 187,000 pages. The checksums are LTX's own, so their
/// exclusive or is the database checksum that an LTX trailer would carry.
public struct PageLedger: Equatable, Sendable {
    public let pageSize: UInt32
    public private(set) var txid: TXID
    /// Size of the database in pages; as many checksums, that of the lock page zero.
    public var commit: UInt32 { UInt32(checksums.count) }
    /// Of each page; 0 for none yet, and for the lock page.
    public private(set) var checksums: [UInt64]
    private var rolling = DatabaseChecksum()

    /// The database checksum at `txid`.
    public var checksum: Checksum { rolling.value }

    public init(pageSize: UInt32, txid: TXID = .zero) {
        self.pageSize = pageSize
        self.txid = txid
        checksums = []
    }

    /// A ledger of given checksums, 0 for the lock page.
    public init(pageSize: UInt32, txid: TXID, checksums: [UInt64]) {
        self.init(pageSize: pageSize, txid: txid)
        self.checksums = checksums
        for checksum in checksums where checksum != 0 {
            rolling.toggle(Checksum(rawValue: checksum))
        }
    }

    /// The checksum of a page; `nil` beyond the end and for the lock page.
    public subscript(pgno: Pgno) -> Checksum? {
        guard pgno > 0, pgno <= checksums.count else { return nil }
        let value = checksums[Int(pgno) - 1]
        return value == 0 ? nil : Checksum(rawValue: value)
    }

    /// Moves on to the state after a file.
    ///
    /// - Parameters:
    ///   - txid: The file's maximum TXID.
    ///   - commit: Database size in pages after it.
    ///   - pages: The pages it holds, with their checksums; those above `commit` are left out.
    /// - Returns: The page numbers whose entries changed, ascending, for who keeps a file of it.
    @discardableResult
    public mutating func apply(
        txid: TXID,
        commit: UInt32,
        pages: [(pgno: Pgno, checksum: Checksum)]
    ) -> [Pgno] {
        self.txid = txid
        if commit < self.commit {
            for checksum in checksums[Int(commit)...] where checksum != 0 {
                rolling.toggle(Checksum(rawValue: checksum))
            }
            checksums.removeLast(checksums.count - Int(commit))
        } else {
            checksums.append(
                contentsOf: repeatElement(0, count: Int(commit) - checksums.count)
            )
        }
        var changed: [Pgno] = []
        for (pgno, checksum) in pages where pgno > 0 && pgno <= commit {
            let index = Int(pgno) - 1
            guard checksums[index] != checksum.rawValue else { continue }
            if checksums[index] != 0 { rolling.toggle(Checksum(rawValue: checksums[index])) }
            rolling.toggle(checksum)
            checksums[index] = checksum.rawValue
            changed.append(pgno)
        }
        return changed
    }

    /// The first page without a checksum, the lock page apart; `nil` in a complete ledger.
    public var firstUnknown: Pgno? {
        let lock = lockPgno(pageSize: pageSize)
        for (index, checksum) in checksums.enumerated()
        where checksum == 0 && Pgno(index + 1) != lock {
            return Pgno(index + 1)
        }
        return nil
    }
}
