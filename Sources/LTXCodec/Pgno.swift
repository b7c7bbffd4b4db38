/// A page number, counted from 1.
public typealias Pgno = UInt32

/// The page that holds byte 0x40000000, where SQLite keeps its locks and never data.
///
/// It is never carried in an LTX file and never counted in a checksum; a restored database holds
/// zeros there.
///
/// Source: SQLite file format, section 1.4 ("The Lock-Byte Page").
///
/// - Parameter pageSize: Bytes a page, not 0.
/// - Returns: The page's number.
public func lockPgno(pageSize: UInt32) -> Pgno {
    0x4000_0000 / pageSize + 1
}
