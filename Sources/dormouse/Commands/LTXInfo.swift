import CommandLineKit
import LTXCodec
import Wire

extension Command {
    /// `dormouse ltx info`: header, trailer and sizes of LTX files.
    static let ltxInfo = Command(
        "ltx info",
        summary: "show header, trailer, page count, encodings and sizes of LTX files",
        discussion: "Header, index and trailer are checked; for the pages, see ltx verify.",
        positionals: [Positional("FILE", .oneOrMore, help: "LTX files")],
        options: [CommonOptions.json],
        examples: [
            Example(
                "ltx info /var/backups/health/ltx/0/0000000000000001-0000000000000001.ltx",
                "what the first file of a bucket holds"
            )
        ],
        body: showInfo
    )

    private static let showInfo: Body = { arguments, console in
        guard !arguments[CommonOptions.json] else {
            var objects: [JSONValue] = []
            let code = try LTXFiles.each(arguments, console: console) { path in
                objects.append(try LTXFacts(path).json)
            } faulty: { path, fault in
                objects.append(fault.json(for: path))
            }
            try console.out.print(JSONValue.array(objects).pretty)
            return code
        }
        var isFirst = true
        return try LTXFiles.each(arguments, console: console) { path in
            let facts = try LTXFacts(path)
            try console.out.write((isFirst ? "" : "\n") + facts.text)
            isFirst = false
        }
    }
}

/// What a file says of itself, without its pages.
private struct LTXFacts {
    let path: String
    let sizeInBytes: Int64
    let header: LTXHeader
    let trailer: LTXTrailer
    let indexSize: Int64
    let pageCount: Int
    /// Pages stored as LZ4 blocks; the others are LZ4 frames.
    let blockCount: Int
    let storedSize: Int64

    init(_ path: String) throws {
        let input = try LTXInput(path)
        let reader = try input.pages()
        self.path = path
        sizeInBytes = input.sizeInBytes
        header = reader.header
        trailer = reader.trailer
        indexSize = Int64(reader.indexRange.count)
        pageCount = reader.index.count
        storedSize = reader.index.reduce(0) { $0 + $1.size }
        var blockCount = 0
        for entry in reader.index where try Self.isBlock(entry, in: input) { blockCount += 1 }
        self.blockCount = blockCount
    }

    /// The flags stand behind the page number: bit 0 is set for a block.
    private static func isBlock(_ entry: LTXPageIndex.Entry, in input: LTXInput) throws -> Bool {
        var flags: (UInt8, UInt8) = (0, 0)
        let count = try withUnsafeMutableBytes(of: &flags) {
            try input.read(at: entry.offset + 4, into: $0)
        }
        guard count == 2 else { throw CommandFailure("\(input.path) became shorter meanwhile") }
        return flags.1 & 1 == 1
    }

    private var kind: String {
        if header.commit == 0 { return "deletion" }
        return header.isSnapshot ? "snapshot" : "delta"
    }

    private var pageBytes: Int64 { Int64(pageCount) * Int64(header.pageSize) }

    private func checksum(_ checksum: Checksum) -> String {
        checksum.isPresent ? "\(checksum)" : "none"
    }

    private func hex(_ value: UInt32) -> String {
        let digits = String(value, radix: 16)
        return "0x" + String(repeating: "0", count: 8 - digits.count) + digits
    }

    var text: String {
        var rows = [
            ("kind", kind),
            ("TXIDs", "\(header.minTXID)-\(header.maxTXID)"),
            ("timestamp", "\(HumanText.timestamp(milliseconds: header.timestamp))"),
            ("page size", "\(header.pageSize)"),
            ("commit", "\(HumanText.count(header.commit)) pages"),
            ("pages", "\(HumanText.count(pageCount))"),
            ("encodings", "\(blockCount) LZ4 blocks, \(pageCount - blockCount) LZ4 frames"),
            ("size", size),
            ("flags", hex(header.flags) + (header.hasNoChecksum ? " (no checksums)" : "")),
            ("checksum before", checksum(header.preApplyChecksum)),
            ("checksum after", checksum(trailer.postApplyChecksum)),
            ("file checksum", checksum(trailer.fileChecksum)),
        ]
        if header.walOffset != 0 || header.walSize != 0 {
            let salts = "\(hex(header.walSalt1)) \(hex(header.walSalt2))"
            rows.append(
                ("WAL", "offset \(header.walOffset), \(header.walSize) bytes, salts \(salts)")
            )
        }
        if header.nodeID != 0 { rows.append(("node", String(header.nodeID, radix: 16))) }
        var table = Table([Table.Column("file"), Table.Column(path)])
        for (name, value) in rows { table.add([name, value]) }
        return table.text
    }

    private var size: String {
        let share = pageBytes > 0 ? " (\(storedSize * 100 / pageBytes)% of the pages)" : ""
        return "\(HumanText.count(sizeInBytes)) bytes" + share
            + ", index \(HumanText.count(indexSize))"
    }

    var json: JSONValue {
        [
            "file": .string(path),
            "kind": .string(kind),
            "min_txid": .string("\(header.minTXID)"),
            "max_txid": .string("\(header.maxTXID)"),
            "timestamp_ms": .integer(header.timestamp),
            "flags": .number(header.flags),
            "page_size": .number(header.pageSize),
            "commit": .number(header.commit),
            "pages": .number(pageCount),
            "lz4_blocks": .number(blockCount),
            "lz4_frames": .number(pageCount - blockCount),
            "bytes": .integer(sizeInBytes),
            "stored_page_bytes": .integer(storedSize),
            "page_bytes": .integer(pageBytes),
            "index_bytes": .integer(indexSize),
            "pre_apply_checksum": checksumJSON(header.preApplyChecksum),
            "post_apply_checksum": checksumJSON(trailer.postApplyChecksum),
            "file_checksum": checksumJSON(trailer.fileChecksum),
            "wal_offset": .integer(header.walOffset),
            "wal_size": .integer(header.walSize),
            "wal_salt1": .number(header.walSalt1),
            "wal_salt2": .number(header.walSalt2),
            "node_id": .string(String(header.nodeID, radix: 16)),
        ]
    }

    private func checksumJSON(_ checksum: Checksum) -> JSONValue {
        checksum.isPresent ? .string("\(checksum)") : .null
    }
}
