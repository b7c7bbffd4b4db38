/// How much a record matters, by syslog's levels; smaller numbers matter more.
///
/// `error`: replication is not happening. `warning`: it happens with help. `notice`: a step of
/// the lifecycle. `info`: one line a push or flush. `debug`: one line a file.
public enum Priority: Int, CaseIterable, Comparable, Sendable {
    case emergency, alert, critical, error, warning, notice, info, debug

    /// The word in a logfmt line.
    public var name: String {
        switch self {
        case .emergency: "emergency"
        case .alert: "alert"
        case .critical: "critical"
        case .error: "error"
        case .warning: "warning"
        case .notice: "notice"
        case .info: "info"
        case .debug: "debug"
        }
    }

    public static func < (left: Priority, right: Priority) -> Bool {
        left.rawValue < right.rawValue
    }
}
