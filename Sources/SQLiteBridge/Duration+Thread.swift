#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

extension Duration {
    /// Whole milliseconds, cut to what SQLite takes.
    var milliseconds: Int32 {
        let (seconds, attoseconds) = components
        let product = seconds.multipliedReportingOverflow(by: 1000)
        guard !product.overflow else { return seconds < 0 ? 0 : .max }
        return Int32(clamping: max(0, product.partialValue + attoseconds / 1_000_000_000_000_000))
    }

    /// Blocks the calling thread for a moment; for threads of our own only.
    package func pauseThread() {
        let (seconds, attoseconds) = components
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        nanosleep(&time, nil)
    }
}
