/// Reads a page index, which may be longer than memory allows for, entry by entry.
enum LTXIndexParser {
    struct RawEntry {
        let pgno: UInt64
        let offset: UInt64
        let size: UInt64
    }

    /// Reads to the zero byte that ends the index; `input` then stands behind it.
    ///
    /// - Parameters:
    ///   - input: Stands where the index starts.
    ///   - crc: Gets all bytes of the index.
    ///   - body: Takes an entry and where it stands in the file.
    /// - Throws: `LTXError` for an index that is cut short or has a varint of more than 64 bits;
    ///   whatever the source or the body throws.
    static func parse(
        _ input: inout InputBuffer,
        crc: inout CRC64,
        body: (RawEntry, Int64) throws -> Void
    ) throws {
        while true {
            // Short of that, the file ends here, and what is at hand is all there is.
            let isWhole = try input.require(3 * Varint.maxSize)
            let bytes = input.bytes
            let start = input.position
            var place = 0
            var ended = false
            while !ended, !isWhole || bytes.count - place >= 3 * Varint.maxSize {
                let entryStart = place
                let pgno = try number(bytes, at: &place, from: start)
                guard pgno != 0 else {
                    ended = true
                    break
                }
                let offset = try number(bytes, at: &place, from: start)
                let size = try number(bytes, at: &place, from: start)
                try body(
                    RawEntry(pgno: pgno, offset: offset, size: size),
                    start + Int64(entryStart)
                )
            }
            crc.update(UnsafeRawBufferPointer(rebasing: bytes[..<place]))
            input.consume(place)
            if ended { return }
        }
    }

    private static func number(
        _ bytes: UnsafeRawBufferPointer,
        at place: inout Int,
        from start: Int64
    ) throws(LTXError) -> UInt64 {
        switch Varint.decode(bytes, at: place) {
        case .value(let value, let size):
            place += size
            return value
        case .incomplete:
            throw .truncated(.index, offset: start + Int64(bytes.count))
        case .overflow:
            throw .index(.overflow, offset: start + Int64(place))
        }
    }
}
