internal import CSystemd
import Glibc

/// Tells the service manager how the service is doing; does nothing without one.
///
/// Source: sd_notify(3). The manager is found through `$NOTIFY_SOCKET`.
public enum Notify {
    /// Whether a service manager listens.
    public static let isManaged = getenv("NOTIFY_SOCKET") != nil

    /// `READY=1`, with a sentence for `systemctl status`.
    ///
    /// - Returns: False when there is no service manager, or it could not be told.
    @discardableResult
    public static func ready(_ status: String) -> Bool {
        send("READY=1\n" + line("STATUS", status))
    }

    /// `STATUS=`, a sentence for people.
    @discardableResult
    public static func status(_ status: String) -> Bool {
        send(line("STATUS", status))
    }

    /// `RELOADING=1`, when the configuration is read again; `ready` ends it.
    @discardableResult
    public static func reloading() -> Bool {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
        return send("RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
    }

    /// `STOPPING=1`, when the final sync begins.
    @discardableResult
    public static func stopping(_ status: String) -> Bool {
        send("STOPPING=1\n" + line("STATUS", status))
    }

    /// `WATCHDOG=1`; send it only after real progress.
    @discardableResult
    public static func watchdog() -> Bool {
        send("WATCHDOG=1")
    }

    /// `EXTEND_TIMEOUT_USEC=`, during a long start or stop.
    @discardableResult
    public static func extendTimeout(by duration: Duration) -> Bool {
        send("EXTEND_TIMEOUT_USEC=\(FieldValue(microseconds: duration))")
    }

    /// How often the manager wants to hear `WATCHDOG=1` at least; `nil` when it does not.
    public static var watchdogInterval: Duration? {
        var microseconds: UInt64 = 0
        guard sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
        return .microseconds(Int64(clamping: microseconds))
    }

    /// A newline would begin another assignment.
    private static func line(_ key: String, _ value: String) -> String {
        let scalars = value.unicodeScalars.map { $0.value < 0x20 ? " " : $0 }
        return "\(key)=" + String(String.UnicodeScalarView(scalars))
    }

    private static func send(_ state: String) -> Bool {
        sd_notify(0, state) > 0
    }
}
