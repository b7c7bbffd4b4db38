#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A moment on the monotonic clock.
struct Milliseconds: Comparable {
    var value: Int64

    static var now: Milliseconds {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Milliseconds(value: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    static func + (moment: Milliseconds, duration: Duration) -> Milliseconds {
        Milliseconds(value: moment.value &+ Int64(duration.milliseconds))
    }

    static func < (one: Milliseconds, other: Milliseconds) -> Bool {
        one.value < other.value
    }

    /// From here to another moment, at least 0, cut to what `poll` takes.
    func until(_ other: Milliseconds) -> Int32 {
        Int32(clamping: max(0, other.value &- value))
    }
}

extension Duration {
    /// Whole milliseconds, at least 1 for what is above zero, cut to 32 bits.
    var milliseconds: Int32 {
        let (seconds, attoseconds) = components
        let product = seconds.multipliedReportingOverflow(by: 1000)
        guard !product.overflow else { return seconds < 0 ? 0 : .max }
        let whole = product.partialValue + attoseconds / 1_000_000_000_000_000
        return self > .zero ? Int32(clamping: max(1, whole)) : 0
    }
}
