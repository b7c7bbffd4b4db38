/// The rules by which a process goes from phase to phase: told what happened and when, nothing else.
///
/// What has to be done in a phase is the business of whoever runs it; that it is done comes back
/// as an event.
public struct Life: Hashable, Sendable {
    public typealias Instant = Phase.Instant

    /// How much time the phases grant; the stand-in for what a phone's system would decide.
    public struct Budgets: Hashable, Sendable {
        /// What background grants, also to a process that is resumed in it.
        public var background: Duration = .seconds(30)
        /// What one extension adds; zero refuses them all.
        public var extending: Duration = .zero
        /// Extensions in one background.
        public var extensions = 0
        /// What is left for a last push after the signal to end.
        public var termination: Duration = .seconds(10)

        public init() {}

        /// How long before the end of the background work is cut short, so that coming to rest
        /// ends in time.
        public var margin: Duration { min(background / 5, .seconds(2)) }
    }

    public enum Event: Hashable, Sendable {
        /// Custody is established, for the first time or again.
        case established
        case enterBackground
        case enterForeground
        /// Nothing runs and, where that is asked for, no lock is held.
        case atRest
        /// The process was stopped, or the machine slept.
        case woke
        case terminate
    }

    public private(set) var phase = Phase.launching
    public var budgets: Budgets
    /// What it becomes when custody is established.
    private var role = Phase.Role.foreground
    private var extensionsGranted = 0

    public init(_ budgets: Budgets = Budgets()) {
        self.budgets = budgets
    }

    /// Takes an event; one that means nothing in a phase changes nothing.
    ///
    /// - Returns: Whether the phase is another one now.
    @discardableResult
    public mutating func handle(_ event: Event, at now: Instant) -> Bool {
        let before = phase
        switch (phase, event) {
        case (.terminating, .terminate):
            // Asked twice: what is still going on is cut short.
            phase = .terminating(until: now)
        case (.terminating, .woke):
            phase = .terminating(until: now + budgets.termination)
        case (.terminating, _):
            break
        case (_, .terminate):
            phase = .terminating(until: now + budgets.termination)

        case (.launching, .established):
            enterRole(at: now)
        case (.launching, .enterBackground):
            role = .background
        case (.launching, .enterForeground):
            role = .foreground
        case (.launching, .atRest), (.launching, .woke):
            break

        case (.resuming(let role), .established):
            self.role = role
            enterRole(at: now)
        case (.resuming, .enterBackground):
            phase = .resuming(.background)
        case (.resuming, .enterForeground):
            phase = .resuming(.foreground)
        case (.resuming, .atRest), (.resuming, .woke):
            break

        case (.foreground, .enterBackground):
            role = .background
            enterRole(at: now)
        case (.foreground, .woke):
            phase = .resuming(.foreground)
        case (.foreground, .established), (.foreground, .enterForeground), (.foreground, .atRest):
            break

        case (.background, .enterForeground):
            role = .foreground
            enterRole(at: now)
        case (.background, .atRest):
            phase = .suspended
        case (.background, .woke):
            phase = .resuming(.background)
        case (.background, .established), (.background, .enterBackground):
            break

        case (.suspended, .enterForeground):
            phase = .resuming(.foreground)
        case (.suspended, .enterBackground), (.suspended, .woke):
            // Another window of time.
            phase = .resuming(.background)
        case (.suspended, .established), (.suspended, .atRest):
            break
        }
        return phase != before
    }

    private mutating func enterRole(at now: Instant) {
        switch role {
        case .foreground:
            phase = .foreground
        case .background:
            extensionsGranted = 0
            phase = .background(until: now + budgets.background)
        }
    }

    /// Why more time is not granted.
    public enum Refusal: String, Hashable, Sendable {
        case notInBackground = "only a process in the background has a budget to extend"
        case notAllowed = "the configuration grants no extensions"
        case exhausted = "all extensions of this background were granted"
        case late = "the budget is over"
    }

    /// Asks for more time in the background.
    ///
    /// - Returns: What was added.
    /// - Throws: `Refusal`, as an error of its own text.
    public mutating func extend(at now: Instant) throws(RefusedExtension) -> Duration {
        guard case .background(let until) = phase else {
            throw RefusedExtension(reason: .notInBackground)
        }
        guard budgets.extending > .zero, budgets.extensions > 0 else {
            throw RefusedExtension(reason: .notAllowed)
        }
        guard extensionsGranted < budgets.extensions else {
            throw RefusedExtension(reason: .exhausted)
        }
        guard now < until else { throw RefusedExtension(reason: .late) }
        extensionsGranted += 1
        phase = .background(until: until + budgets.extending)
        return budgets.extending
    }

    public struct RefusedExtension: Error, Hashable, Sendable, CustomStringConvertible {
        public var reason: Refusal

        public init(reason: Refusal) {
            self.reason = reason
        }

        public var description: String { reason.rawValue }
    }

    /// When what is still going on must be cut short; `nil` in a phase that lets it take its time.
    public var cutoff: Instant? {
        switch phase {
        case .background(let until): until - budgets.margin
        case .terminating(let until): until
        case .launching, .foreground, .suspended, .resuming: nil
        }
    }
}
