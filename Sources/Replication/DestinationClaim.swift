import Handover

/// What a push may do with its destination, where a transfer service may be at work on it too.
enum DestinationClaim {
    /// No transfer service is configured, or its spool cannot be used.
    case unshared
    /// Nobody else uploads until this is released.
    case ours(DestinationLock, Spool, handsOver: Bool)
    /// The transfer service uploads; what is new can only be handed over.
    case theirs(Spool)

    /// Whether this process may send anything to the bucket.
    var maySend: Bool {
        if case .theirs = self { false } else { true }
    }

    var handsOver: Bool {
        switch self {
        case .unshared: false
        case .ours(_, _, let handsOver): handsOver
        case .theirs: true
        }
    }

    var spool: Spool? {
        switch self {
        case .unshared: nil
        case .ours(_, let spool, _), .theirs(let spool): spool
        }
    }

    /// Lets go of the lock, which lives as long as somebody names it.
    func release() {
        withExtendedLifetime(self) {}
    }
}
