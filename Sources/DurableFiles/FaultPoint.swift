import Synchronization

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A place where the chaos bench may kill the process or make the system refuse.
///
/// Every step that changes a file passes here first, so "killed at each step in turn" is a loop
/// over a number. `DORMOUSE_FAULT=N:ACTION` in the environment acts at the N-th step of the
/// process (from 1); `ACTION` is `kill`, or an error name of `Fault.Action`. Without the variable
/// a step costs one load. `DORMOUSE_SLOW_FILE` names a file with a number of microseconds, read at
/// each step, by which the step is held up: a slow disk.
public enum FaultPoint {
    private static let armed: Fault? = Fault(environment: "DORMOUSE_FAULT")
    private static let slowFile = getenv("DORMOUSE_SLOW_FILE").map { String(cString: $0) }
    private static let passed = Atomic<Int>(0)

    /// Sees each step of the current task before it happens, and may make it fail.
    ///
    /// What lies on the disk at that moment is what a kill there would leave.
    @TaskLocal package static var observer: (any FaultObserver)?

    /// Passes a step, or fails as the environment asks.
    public static func pass(_ operation: FileOperation, _ path: String) throws(FileError) {
        Progress.current?.step()
        try observer?.pass(operation, path)
        if let slowFile { delay(slowFile) }
        guard let armed else { return }
        let step = passed.add(1, ordering: .relaxed).newValue
        guard step == armed.step else { return }
        switch armed.action {
        case .kill:
            kill(getpid(), SIGKILL)
        case .fail(let code):
            throw FileError(operation, path, code: code)
        }
    }
}

extension FaultPoint {
    /// Waits as long as a file says; not at all when it cannot be read.
    private static func delay(_ path: String) {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        var digits = [UInt8](repeating: 0, count: 16)
        let count = read(file, &digits, digits.count)
        guard count > 0 else { return }
        let text = String(decoding: digits[..<count].prefix { $0 > 0x20 }, as: UTF8.self)
        if let microseconds = UInt32(text) { usleep(min(microseconds, 60_000_000)) }
    }
}

/// Sees the steps of a task before they happen; see `FaultPoint.observer`.
package protocol FaultObserver: Sendable {
    func pass(_ operation: FileOperation, _ path: String) throws(FileError)
}

/// Which step fails, and how.
public struct Fault: Equatable, Sendable {
    public enum Action: Equatable, Sendable {
        case kill
        case fail(Int32)
    }

    public let step: Int
    public let action: Action

    /// Reads `N:kill`, `N:EIO`, `N:ENOSPC`, `N:EDQUOT`, `N:EROFS` or `N:EACCES`; `nil` for anything else.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let step = Int(parts[0]), step > 0 else { return nil }
        switch parts[1] {
        case "kill": action = .kill
        case "EIO": action = .fail(EIO)
        case "ENOSPC": action = .fail(ENOSPC)
        case "EDQUOT": action = .fail(EDQUOT)
        case "EROFS": action = .fail(EROFS)
        case "EACCES": action = .fail(EACCES)
        default: return nil
        }
        self.step = step
    }

    init?(environment name: String) {
        guard let value = getenv(name) else { return nil }
        self.init(String(cString: value))
    }
}
