#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The time that people know, which may jump.
///
/// `DORMOUSE_CLOCK_OFFSET_FILE` names a file with a signed number of milliseconds that is added at
/// each reading, so that a bench can make this program's clock jump and no other's.
public enum WallClock {
    /// Milliseconds since 1970.
    public static let now: @Sendable () -> Int64 = {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let system = Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
        guard let offsetFile else { return system }
        return system.addingReportingOverflow(offset(in: offsetFile)).partialValue
    }

    private static let offsetFile = getenv("DORMOUSE_CLOCK_OFFSET_FILE").map { String(cString: $0) }

    /// What a file says; zero for one that is not there or says nothing.
    static func offset(in path: String) -> Int64 {
        guard let bytes = try? DurableFiles.read(path, limit: 64) else { return 0 }
        let text = String(decoding: bytes, as: UTF8.self)
        return Int64(text.filter { !$0.isWhitespace }) ?? 0
    }
}
