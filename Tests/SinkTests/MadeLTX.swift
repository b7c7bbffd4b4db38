import LTXCodec

/// LTX files with made-up pages of 512 bytes, each filled with one byte.
enum MadeLTX {
    static func file(
        _ min: UInt64,
        _ max: UInt64,
        commit: UInt32,
        _ pages: [(Pgno, UInt8)],
        pageSize: UInt32 = 512,
        timestamp: Int64? = nil
    ) throws -> [UInt8] {
        let output = Output()
        var encoder = try LTXEncoder(
            header: LTXHeader(
                pageSize: pageSize,
                commit: commit,
                minTXID: TXID(min),
                maxTXID: TXID(max),
                timestamp: timestamp ?? Int64(max & 0xFF_FFFF) * 1000
            )
        ) { output.bytes += $0 }
        for (pgno, byte) in pages {
            let page = [UInt8](repeating: byte, count: Int(pageSize))
            try page.withUnsafeBytes { try encoder.append(pgno: pgno, page: $0) }
        }
        _ = try encoder.finish()
        return output.bytes
    }

    /// A snapshot of two pages, then deltas of one page each.
    static func step(_ txid: UInt64, _ byte: UInt8 = 7) throws -> [UInt8] {
        txid == 1
            ? try file(1, 1, commit: 2, [(1, byte), (2, byte)])
            : try file(txid, txid, commit: 2, [(2, byte)])
    }

    static func name(_ min: UInt64, _ max: UInt64) -> String {
        LTXFileName(minTXID: TXID(min), maxTXID: TXID(max)).description
    }

    private final class Output {
        var bytes: [UInt8] = []
    }
}
