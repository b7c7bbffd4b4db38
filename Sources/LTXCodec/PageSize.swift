/// Whether SQLite knows a page size: a power of two in 512…65536.
public func isPageSize(_ size: UInt32) -> Bool {
    (512...65_536).contains(size) && size.nonzeroBitCount == 1
}
