public import LTXCodec

/// What comparing a bucket with what it acknowledged has shown (BUGS B30–B32).
///
/// The raw values are stable: they stand in journals and tests.
public enum LineageFinding: String, Equatable, Sendable, CaseIterable {
    /// The bucket's head is the file that was acknowledged last.
    case agrees
    /// The bucket is empty, and nothing was ever acknowledged.
    case fresh
    /// The bucket is one or more files ahead, and they are our own: the acknowledgement was lost.
    case acknowledgementLost = "acknowledgement-lost"
    /// The bucket has a history, and we know of none: a restored device, a lost state file.
    case adopted
    /// The bucket is empty, though it acknowledged something.
    case wiped
    /// Somebody else appended.
    case ahead
    /// The bucket was set back.
    case behind
    /// The head has the TXID that was acknowledged, but not its bytes.
    case reseeded
    /// The server keeps another lineage now: somebody posted a whole database, or it is another
    /// device's.
    case replaced
    /// The server's live copy differs from what we said the database is.
    case diverged
    /// The head is as it should be, but files before it are missing: nothing can be restored.
    case broken

    /// Nothing has to be repaired before an append.
    public var isSound: Bool {
        switch self {
        case .agrees, .fresh, .acknowledgementLost: true
        case .adopted, .wiped, .ahead, .behind, .reseeded, .replaced, .diverged, .broken: false
        }
    }

    /// Compares.
    ///
    /// - Parameters:
    ///   - acknowledged: What the bucket is known to have taken last; `nil` if nothing.
    ///   - head: The highest TXID it holds now.
    ///   - headIsAcknowledged: Its head is the acknowledged file, byte for byte as far as known.
    ///   - newerAreOurs: All it holds above the acknowledged TXID is also here, with equal bytes.
    ///   - reachesHead: Its files lead to its head without a gap.
    ///   - lineageIsOurs: It keeps the lineage that acknowledged; also where it keeps none.
    ///   - wantsRebase: It has found that its copy differs from ours.
    public init(
        acknowledged: TXID?,
        head: TXID,
        headIsAcknowledged: Bool,
        newerAreOurs: Bool,
        reachesHead: Bool = true,
        lineageIsOurs: Bool = true,
        wantsRebase: Bool = false
    ) {
        guard lineageIsOurs || head == .zero else {
            self = .replaced
            return
        }
        self.init(acknowledged, head, headIsAcknowledged, newerAreOurs)
        if wantsRebase, isSound, head > .zero { self = .diverged }
        // What is no sound base anyhow is compared with whatever can be restored of it.
        if isSound, head > .zero, !reachesHead { self = .broken }
    }

    private init(
        _ acknowledged: TXID?,
        _ head: TXID,
        _ headIsAcknowledged: Bool,
        _ newerAreOurs: Bool
    ) {
        switch (acknowledged, head) {
        case (nil, .zero): self = .fresh
        case (_, .zero): self = .wiped
        case (nil, _): self = newerAreOurs ? .acknowledgementLost : .adopted
        case (let acknowledged?, _) where head > acknowledged:
            self = newerAreOurs ? .acknowledgementLost : .ahead
        case (let acknowledged?, _) where head < acknowledged: self = .behind
        default: self = headIsAcknowledged ? .agrees : .reseeded
        }
    }
}
