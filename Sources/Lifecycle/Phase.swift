/// Where a process stands in the life that a phone's system gives it.
public enum Phase: Hashable, Sendable {
    public typealias Instant = ContinuousClock.Instant

    /// Custody is not established yet.
    case launching
    case foreground
    /// It may work until then, and must have come to rest by then.
    case background(until: Instant)
    /// It has said that it may be stopped at any moment: nothing runs.
    case suspended
    /// It was stopped and looks at what is left of what it knew; then it goes on.
    case resuming(Role)
    /// What must be over by then.
    case terminating(until: Instant)

    /// What a process that runs is for.
    public enum Role: Hashable, Sendable {
        case foreground, background
    }

    /// As records say it.
    public var name: String {
        switch self {
        case .launching: "launching"
        case .foreground: "foreground"
        case .background: "background"
        case .suspended: "suspended"
        case .resuming: "resuming"
        case .terminating: "terminating"
        }
    }

    /// When it must be over, where there is such a time.
    public var deadline: Instant? {
        switch self {
        case .background(let until), .terminating(let until): until
        case .launching, .foreground, .suspended, .resuming: nil
        }
    }
}
