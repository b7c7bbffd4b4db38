extension WALReader {
    /// Bytes read at a time, rounded down to whole frames.
    private static let chunkSize = 256 * 1024

    /// Reads from a cursor to the last valid commit frame.
    ///
    /// The WAL header is not looked at: frames count if they carry the cursor's salts and
    /// continue its checksum. So the end of an old generation can still be read while the next
    /// one grows over the start of the file; whether the cursor's generation is the file's is
    /// for the caller to compare.
    ///
    /// Memory: one chunk of 256 KiB (at least a frame), up to 35 bytes for each page found, and
    /// 4 bytes for each frame of the transaction being read. Page data is checked and dropped.
    ///
    /// - Parameters:
    ///   - cursor: Where to begin; the start of a generation, or the end of an earlier scan.
    ///   - lastFrame: Frames behind this one, counted from 1, are left alone.
    ///   - onCommit: Called for each committed transaction in turn.
    /// - Returns: What lies between the cursor and the last commit frame.
    /// - Throws: ``WALError`` if no WAL has such a place; what `readAt` and `onCommit` throw.
    public func scan(
        from cursor: WALCursor,
        through lastFrame: UInt32 = .max,
        onCommit: (WALTransaction) throws -> Void = { _ in }
    ) throws -> WALScan {
        var end = cursor
        var commits = 0
        var validFrames = 0
        var map = WALPageMap.Builder()
        // Pages of a transaction whose commit frame has not come yet. SQLite rewrites a page's
        // frame in place within a transaction, so this is as long as the transaction has pages.
        var pending: [UInt32] = []
        let limit = lastFrame < cursor.nextFrame ? 0 : Int(lastFrame - cursor.nextFrame) + 1
        let stop = try walk(from: cursor, upTo: limit) { frame, header in
            validFrames += 1
            pending.append(header.pgno)
            guard header.commit > 0 else { return }
            let firstFrame = end.nextFrame
            map.commit(pages: pending, firstFrame: firstFrame, commit: header.commit)
            pending.removeAll(keepingCapacity: true)
            commits += 1
            end.nextFrame = frame + 1
            end.checksum = header.checksum
            end.commit = header.commit
            try onCommit(WALTransaction(firstFrame: firstFrame, end: end))
        }
        let smallestCommit = map.smallestCommit
        return WALScan(
            end: end,
            pages: map.finish(),
            smallestCommit: smallestCommit,
            commits: commits,
            frames: Int(end.nextFrame - cursor.nextFrame),
            validFrames: validFrames,
            stop: stop
        )
    }

    /// Whether the frame at a cursor continues its chain: same salts, and the right checksum.
    ///
    /// True means that something was appended behind the cursor, committed or not.
    ///
    /// - Throws: ``WALError`` if no WAL has such a place; what `readAt` throws.
    public func continues(_ cursor: WALCursor) throws -> Bool {
        var continues = false
        _ = try walk(from: cursor, upTo: 1) { _, _ in continues = true }
        return continues
    }

    /// Whether what lies before a cursor is still what it was: one small read.
    ///
    /// The frame before the cursor must carry the cursor's salts and checksum; before frame 1 it
    /// is the header that must be the same. After a restart that has not yet grown as far as the
    /// cursor this is still true, so compare the salts of the header first.
    ///
    /// - Throws: ``WALError`` if no WAL has such a place; what `readAt` throws.
    public func holds(_ cursor: WALCursor) throws -> Bool {
        try cursor.validate()
        guard cursor.nextFrame > 1 else {
            do {
                guard let header = try header() else { return false }
                return WALCursor.start(of: header, commit: cursor.commit) == cursor
            } catch is WALError {
                return false
            }
        }
        let before = try frameHeader(at: cursor.nextFrame - 1, pageSize: cursor.pageSize)
        return before?.salt == cursor.salt && before?.checksum == cursor.checksum
    }

    /// How many frames of a header's generation are valid, committed or not.
    ///
    /// This, and not the size of the file, is how far a WAL has grown since its last restart.
    ///
    /// - Throws: ``WALError`` if the header's fields are impossible; what `readAt` throws.
    public func writtenFrames(of header: WALHeader) throws -> UInt32 {
        var written: UInt32 = 0
        _ = try walk(from: .start(of: header)) { frame, _ in written = frame }
        return written
    }

    /// Makes the cursor behind a frame whose number comes from elsewhere, such as an LTX header.
    ///
    /// The frame's own salts and checksum are taken for the cursor, without reading the chain
    /// that leads to it.
    ///
    /// - Parameters:
    ///   - frame: The last frame before the place, counted from 1; 0 for the start.
    ///   - header: The WAL header of the generation.
    ///   - commit: Size of the database in pages at the place; 0 if that is not known.
    /// - Returns: `nil` if the file does not have that frame or it is of another generation.
    /// - Throws: ``WALError`` if the header's fields are impossible; what `readAt` throws.
    public func cursor(
        behind frame: UInt32,
        of header: WALHeader,
        commit: UInt32
    ) throws -> WALCursor? {
        var cursor = WALCursor.start(of: header, commit: commit)
        guard frame > 0 else { return cursor }
        guard frame < .max - 1,
            let last = try frameHeader(at: frame, pageSize: header.pageSize),
            last.salt == header.salt
        else { return nil }
        cursor.nextFrame = frame + 1
        cursor.checksum = last.checksum
        return cursor
    }

    /// Goes through the frames that continue a cursor's chain.
    ///
    /// - Parameters:
    ///   - cursor: Where to begin.
    ///   - limit: The most frames to look at.
    ///   - visit: Called with each valid frame's number and header.
    /// - Returns: Why there is no further frame; `.endOfFile` if the limit ended it.
    /// - Throws: ``WALError`` if no WAL has such a place; what `readAt` and `visit` throw.
    private func walk(
        from cursor: WALCursor,
        upTo limit: Int = .max,
        visit: (UInt32, WALFrameHeader) throws -> Void
    ) throws -> WALEnd {
        try cursor.validate()
        let frameSize = WALFrameHeader.size + Int(cursor.pageSize)
        let framesPerChunk = min(limit, max(1, Self.chunkSize / frameSize))
        let chunk = UnsafeMutableRawBufferPointer.allocate(
            byteCount: framesPerChunk * frameSize,
            alignment: 8
        )
        defer { chunk.deallocate() }

        var running = cursor.checksum
        var frame = cursor.nextFrame
        var remaining = limit
        var offset = cursor.offset
        while remaining > 0 {
            let filled = try fill(chunk, at: offset)
            let frames = min(filled / frameSize, remaining)
            for index in 0..<frames {
                let bytes = UnsafeRawBufferPointer(
                    rebasing: chunk[index * frameSize..<(index + 1) * frameSize]
                )
                guard let header = WALFrameHeader(decoding: bytes) else { return .tornFrame }
                guard header.salt == cursor.salt else { return .saltMismatch }
                guard header.pgno > 0 else { return .pageZero }
                running.update(
                    UnsafeRawBufferPointer(rebasing: bytes[..<8]),
                    bigEndian: cursor.bigEndianChecksums
                )
                running.update(
                    UnsafeRawBufferPointer(rebasing: bytes[WALFrameHeader.size...]),
                    bigEndian: cursor.bigEndianChecksums
                )
                guard running == header.checksum else { return .checksumMismatch }
                // The place behind the last frame number there is cannot be named.
                guard frame < .max else { throw WALError.frameNumber(frame) }
                try visit(frame, header)
                frame += 1
            }
            remaining -= frames
            if filled < chunk.count { return filled % frameSize == 0 ? .endOfFile : .tornFrame }
            offset += Int64(filled)
        }
        return .endOfFile
    }
}
