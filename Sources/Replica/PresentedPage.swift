import LTXCodec

/// What page 1 of a mirror says instead of what the source's page 1 says.
///
/// Any SQLite may open a mirror, so it is presented as a rollback-journal database, and its change
/// counter moves with every apply, also where the source's did not (in WAL mode it hardly ever
/// does): readers throw their caches away by it. These ten bytes of the source are kept here, so
/// that the source's page can be had back.
///
/// Offsets: SQLite file format, section 1.3. Bytes 18 and 19 are the write and read version, 24
/// to 27 the change counter, 92 to 95 the counter for which the size in the header is valid.
/// What does not start as a SQLite database, such as an encrypted one, is left as it is.
struct PresentedPage: Equatable {
    var writeVersion: UInt8 = 0
    var readVersion: UInt8 = 0
    var changeCounter: UInt32 = 0
    var validFor: UInt32 = 0

    private static let magic: [UInt8] = Array("SQLite format 3\0".utf8)

    static func isSQLite(_ page: UnsafeRawBufferPointer) -> Bool {
        page.count >= 100 && page[..<16].elementsEqual(magic)
    }

    init() {}

    /// What a page 1 says as it is.
    init(of page: UnsafeRawBufferPointer) {
        guard Self.isSQLite(page) else { return }
        writeVersion = page[18]
        readVersion = page[19]
        changeCounter = Self.number(page, at: 24)
        validFor = Self.number(page, at: 92)
    }

    /// Changes the source's page 1 into the mirror's.
    ///
    /// - Parameters:
    ///   - page: Page 1 of the source.
    ///   - counter: The mirror's change counter from now on.
    /// - Returns: What was taken away.
    static func present(_ page: UnsafeMutableRawBufferPointer, counter: UInt32) -> PresentedPage {
        guard isSQLite(UnsafeRawBufferPointer(page)) else { return PresentedPage() }
        let source = PresentedPage(of: UnsafeRawBufferPointer(page))
        page[18] = 1
        page[19] = 1
        page.setCounter(counter, at: 24)
        // A size in the header that does not count must not begin to.
        let isSizeValid = source.changeCounter == source.validFor
        page.setCounter(isSizeValid ? counter : counter &- 1, at: 92)
        return source
    }

    /// Changes the mirror's page 1 back into the source's.
    func restore(_ page: UnsafeMutableRawBufferPointer) {
        guard Self.isSQLite(UnsafeRawBufferPointer(page)) else { return }
        page[18] = writeVersion
        page[19] = readVersion
        page.setCounter(changeCounter, at: 24)
        page.setCounter(validFor, at: 92)
    }

    /// Whether somebody else has put the mirror into WAL mode.
    static func isWAL(_ page: UnsafeRawBufferPointer) -> Bool {
        isSQLite(page) && (page[18] == 2 || page[19] == 2)
    }

    /// The page size that a header says; `nil` for what is no SQLite database.
    static func pageSize(of header: UnsafeRawBufferPointer) -> UInt32? {
        guard isSQLite(header) else { return nil }
        let stored = UInt32(header[16]) << 8 | UInt32(header[17])
        // 65536 does not fit in two bytes; 1 stands for it.
        let size = stored == 1 ? 65_536 : stored
        return isPageSize(size) ? size : nil
    }

    /// The size in pages that a header says, where that counts.
    static func commit(of header: UnsafeRawBufferPointer) -> UInt32? {
        guard isSQLite(header), number(header, at: 24) == number(header, at: 92) else {
            return nil
        }
        let commit = number(header, at: 28)
        return commit == 0 ? nil : commit
    }

    private static func number(_ page: UnsafeRawBufferPointer, at offset: Int) -> UInt32 {
        UInt32(bigEndian: page.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}

extension UnsafeMutableRawBufferPointer {
    fileprivate func setCounter(_ counter: UInt32, at offset: Int) {
        storeBytes(of: counter.bigEndian, toByteOffset: offset, as: UInt32.self)
    }
}
