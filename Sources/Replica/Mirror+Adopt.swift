import Bucket
import DurableFiles
import LTXCodec

extension Mirror {
    /// Whether nothing of it is there: no file, and nobody who could have one open.
    package nonisolated var takesImages: Bool {
        do throws(FileError) {
            for path in [path, path + "-journal", path + "-wal"]
            where try FileStatus.ofEntry(path) != nil {
                return false
            }
            return true
        } catch {
            return false
        }
    }

    /// Becomes a whole state that was made beside it, if nothing of it is there yet.
    ///
    /// The file appears at once, whole, durable, and only where no file is: `link(2)` fails on a
    /// name that is taken. A file that somebody may have open is never replaced, not even an empty
    /// one; then nothing happens here, and the state is taken from the bucket as any other. The
    /// record is there before the file is. A kill in between leaves a record of no file, which
    /// counts for nothing.
    ///
    /// - Parameter image: The state of a file that is in the bucket.
    /// - Throws: `FileError`, `MirrorError`.
    package func adopt(_ image: MirrorImage) async throws {
        try await exclusively {
            guard !isSettled, file == nil, takesImages, try rebaseNote.load() == .zero else {
                return
            }
            try self.take(image)
        }
    }

    private func take(_ image: MirrorImage) throws {
        loadExpectations()
        let known = try records.load()
        lastSequence = known.map(\.sequence).max() ?? 0
        lastCounter = known.map(\.counter).max() ?? 0
        let (next, firstPage) = prepare(
            Incoming(
                header: image.header,
                checksum: image.ledger.checksum,
                last: image.file,
                fileChecksum: image.fileChecksum
            ),
            firstPage: image.firstPage,
            .replication
        )
        let staged = image.staged.path
        try firstPage.withUnsafeBytes { bytes throws in
            try image.staged.use { file throws(FileError) in
                try file.write(bytes, at: 0)
                try file.sync()
            }
        }
        image.staged.close()
        try records.save(next, keeping: nil)
        do throws(FileError) {
            try DurableFiles.link(staged, to: path)
        } catch {
            if error.isTaken || error.isLinkUnsupported { return }
            throw error
        }
        // Two names would be one too many for SQLite, which warns of them.
        try DurableFiles.remove(staged)
        try DurableFiles.syncDirectory(of: path)
        file = try MirrorFile(path)
        (record, ledger) = (next, image.ledger)
        expectations = expectations.filter { $0.key > record.txid }
        dropExpectations()
        isSettled = true
        mustList = true
        publish()
        do {
            try ledgerFile.replace(with: ledger)
            isLedgerFileCurrent = true
        } catch {
            // The next start computes it from the pages.
            isLedgerFileCurrent = false
        }
    }
}
