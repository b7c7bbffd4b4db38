import DurableFiles
import LTXCodec

/// Writes one local LTX file and notes the checksum of each page for the ledger.
struct LTXFileWriter {
    /// What a finished, synced, not yet visible file holds.
    struct Written {
        let file: DurableFile
        let summary: LTXSummary
        let pages: [(pgno: Pgno, checksum: Checksum)]
    }

    let path: String
    let header: LTXHeader

    /// Writes the pages that `pages` hands over, in ascending order.
    ///
    /// The file's modification time becomes the header's timestamp, as buckets keep it.
    func write(
        pages: ((Pgno, UnsafeRawBufferPointer) throws -> Void) throws -> Void
    ) throws -> Written {
        try DurableFiles.makeDirectories(Path.parent(of: path))
        let file = try DurableFile(path)
        var encoder = try LTXEncoder(header: header) { try file.write($0) }
        var checksums: [(pgno: Pgno, checksum: Checksum)] = []
        try pages { pgno, page in
            try encoder.append(pgno: pgno, page: page)
            checksums.append((pgno, pageChecksum(pgno: pgno, page: page)))
        }
        let summary = try encoder.finish()
        try file.setModified(header.timestamp)
        try file.sync()
        return Written(file: file, summary: summary, pages: checksums)
    }
}
