// Compiled together with the sources of SQLiteWAL by `scripts/fuzz wal`; not part of the package.

/// Reads an input as a WAL and as a wal-index header, and stops the process where an answer
/// contradicts another.
///
/// Each input is read twice: as it is, and with every salt and checksum put right, since mutation
/// alone would hardly ever get past the first checksum.
@_cdecl("LLVMFuzzerTestOneInput")
public func walReaderFuzz(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: data, count: data == nil ? 0 : size)
    if let header = WALIndexHeader.read(from: input) {
        expect(WALHeader.isPageSize(header.pageSize))
    }
    var bytes = Array(input)
    check(bytes)
    reseal(&bytes)
    check(bytes)
    return 0
}

/// Stops the process and says where, in optimized builds too.
private func expect(_ condition: Bool, line: UInt = #line) {
    guard condition else { fatalError("the condition of line \(line) does not hold") }
}

private func check(_ bytes: [UInt8]) {
    let reader = WALReader { offset, buffer in
        guard offset >= 0, offset < bytes.count else { return 0 }
        let start = Int(offset)
        let count = min(buffer.count, bytes.count - start)
        buffer.copyBytes(from: bytes[start..<start + count])
        return count
    }
    // Places that a damaged state file could remember: the input's last bytes.
    if bytes.count >= 33 { probe(reader, remembered(bytes.suffix(33)), bytes) }
    do {
        guard let header = try reader.header() else {
            expect(bytes.count < WALHeader.size)
            return
        }
        let start = WALCursor.start(of: header)
        var places = [start]
        let whole = try reader.scan(from: start) { places.append($0.end) }
        expect(whole.commits == places.count - 1)
        expect(whole.end == places.last)
        let written = try reader.writtenFrames(of: header)
        expect(Int(written) == whole.validFrames)
        // The ends and some places between them; all of them would take quadratic time.
        for index in stride(from: 0, to: places.count, by: max(1, places.count / 8)) {
            let place = places[index]
            let rest = try reader.scan(from: place)
            expect(rest.end == whole.end)
            expect(rest.stop == whole.stop)
            expect(rest.commits == whole.commits - index)
            expect(rest.validFrames == whole.validFrames - Int(place.nextFrame - 1))
            expect(rest.pages.allSatisfy { whole.pages[$0.pgno] == $0.frame })
            expect(
                whole.pages.allSatisfy {
                    $0.frame < place.nextFrame || rest.pages[$0.pgno] == $0.frame
                }
            )
            let holds = try reader.holds(place)
            expect(holds)
            let found = try reader.cursor(
                behind: place.nextFrame - 1,
                of: header,
                commit: place.commit
            )
            expect(found == place)
            probe(reader, place, bytes)
        }
        for frame in [0, 1, whole.end.nextFrame, UInt32.max] {
            _ = try reader.frameHeader(at: frame, pageSize: header.pageSize)
        }
    } catch {
        expect(error is WALError)
    }
}

/// Asks everything about one place.
private func probe(_ reader: WALReader, _ place: WALCursor, _ bytes: [UInt8]) {
    let possible =
        WALHeader.isPageSize(place.pageSize) && place.nextFrame > 0 && place.nextFrame < .max
    do {
        _ = try reader.holds(place)
        let follows = try reader.continues(place)
        let scan = try reader.scan(from: place)
        expect(possible)
        expect(follows == (scan.validFrames > 0))
        expect(scan.frames == Int(scan.end.nextFrame - place.nextFrame))
        expect(scan.frames <= scan.validFrames)
        expect(scan.frames == 0 ? scan.end == place : scan.end.offset <= bytes.count)
        var previous: UInt32 = 0
        for entry in scan.pages {
            expect(entry.pgno > previous && entry.pgno <= scan.end.commit)
            expect(entry.frame >= place.nextFrame && entry.frame < scan.end.nextFrame)
            previous = entry.pgno
        }
        let hole = scan.pages.firstHole(growingFrom: 0, to: scan.end.commit, lockPage: 5)
        expect(hole.map { scan.pages[$0] == nil && $0 != 5 } ?? true)
        let frame = WALFrameHeader.frame(atOffset: place.offset, pageSize: place.pageSize)
        expect(frame == place.nextFrame)
    } catch {
        expect(error is WALError && !possible)
    }
}

private func remembered(_ bytes: ArraySlice<UInt8>) -> WALCursor {
    let words = stride(from: bytes.startIndex, to: bytes.endIndex - 1, by: 4).map {
        word(bytes, at: $0)
    }
    return WALCursor(
        salt: WALSalt(salt1: words[0], salt2: words[1]),
        sequence: words[2],
        pageSize: words[3],
        bigEndianChecksums: bytes[bytes.endIndex - 1] & 1 == 1,
        nextFrame: words[4],
        checksum: WALChecksum(s1: words[5], s2: words[6]),
        commit: words[7]
    )
}

/// Puts magic, version, salts and checksums right.
private func reseal(_ bytes: inout [UInt8]) {
    guard bytes.count >= WALHeader.size else { return }
    let bigEndian = bytes[3] & 1 == 1
    put(bigEndian ? 0x377f_0683 : 0x377f_0682, in: &bytes, at: 0)
    put(WALHeader.version, in: &bytes, at: 4)
    // Small pages, so that small inputs have many frames.
    if !WALHeader.isPageSize(word(bytes[...], at: 8)) { put(512, in: &bytes, at: 8) }
    let step = WALFrameHeader.size + Int(word(bytes[...], at: 8))
    var running = WALChecksum.zero
    seal(24, after: [0..<24], in: &bytes, bigEndian, &running)
    for at in stride(from: WALHeader.size, through: bytes.count - step, by: step) {
        bytes.replaceSubrange(at + 8..<at + 16, with: bytes[16..<24])
        seal(at + 16, after: [at..<at + 8, at + 24..<at + step], in: &bytes, bigEndian, &running)
    }
}

private func seal(
    _ offset: Int,
    after ranges: [Range<Int>],
    in bytes: inout [UInt8],
    _ bigEndian: Bool,
    _ running: inout WALChecksum
) {
    bytes.withUnsafeBytes { raw in
        for range in ranges {
            running.update(UnsafeRawBufferPointer(rebasing: raw[range]), bigEndian: bigEndian)
        }
    }
    put(running.s1, in: &bytes, at: offset)
    put(running.s2, in: &bytes, at: offset + 4)
}

private func word(_ bytes: ArraySlice<UInt8>, at offset: Int) -> UInt32 {
    bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
}

private func put(_ word: UInt32, in bytes: inout [UInt8], at offset: Int) {
    for index in 0..<4 {
        bytes[offset + index] = UInt8(truncatingIfNeeded: word >> (24 - 8 * index))
    }
}
