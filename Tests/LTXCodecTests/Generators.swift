import LTXCodec
import TestSupport

extension SeededGenerator {
    /// A page of one of the kinds that databases have: zeros, text, records, noise.
    mutating func page(_ size: Int) -> [UInt8] {
        switch Int.random(in: 0..<5, using: &self) {
        case 0:
            return [UInt8](repeating: 0, count: size)
        case 1:
            return bytes(size)
        case 2:
            let words = (0..<8).map { _ in bytes(Int.random(in: 1...20, using: &self)) }
            var page: [UInt8] = []
            while page.count < size { page += words.randomElement(using: &self) ?? [0] }
            return Array(page.prefix(size))
        case 3:
            var page = [UInt8](repeating: 0, count: size)
            for place in stride(from: 8, to: size, by: 24) {
                page[place] = UInt8(place / 24 & 0xFF)
            }
            return page
        default:
            return [UInt8](repeating: 0, count: size / 2) + bytes(size - size / 2)
        }
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }
}

/// A database and the files of its history, every one following the rules of SQLite.
struct History {
    let pageSize: Int
    private(set) var database: [UInt8] = []
    private(set) var txid = TXID.zero
    private var random: SeededGenerator

    init(pageSize: Int, seed: UInt64) {
        self.pageSize = pageSize
        random = SeededGenerator(seed: seed)
    }

    /// Changes some pages and perhaps the size, and gives the file of it.
    mutating func advance() throws -> [UInt8] {
        txid = txid.next
        let before = UInt32(database.count / pageSize)
        let commit = UInt32.random(in: 1...12, using: &random)
        let header = LTXHeader(
            pageSize: UInt32(pageSize),
            commit: commit,
            minTXID: txid,
            maxTXID: txid,
            timestamp: Int64(1000 + txid.rawValue)
        )
        var pages: [DecodedFile.Page] = []
        for pgno in 1...commit where pgno > before || Bool.random(using: &random) {
            pages.append(DecodedFile.Page(pgno: pgno, bytes: random.page(pageSize)))
        }
        let file = try encoded(header, pages)
        database = try DecodedFile(file).applied(to: database)
        return file
    }
}
