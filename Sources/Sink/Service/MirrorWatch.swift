package import LTXCodec
package import Replica

/// What a person should hear of one live copy, told once when it begins and once when it ends.
package struct MirrorWatch: Hashable, Sendable {
    package enum Finding: Hashable, Sendable {
        case diverged(txid: TXID, expected: Checksum, actual: Checksum)
        case converged(txid: TXID)
        case lagging(applied: TXID, bucket: TXID, holder: Int32?, why: String?)
        case caughtUp(txid: TXID)
    }

    private var isDiverged = false
    private var isLagging = false
    /// Where it stood behind the bucket at the last look.
    private var behindAt: TXID?

    package init() {}

    /// Compares what there is with the last look.
    ///
    /// A copy that is behind lags only if it stood at the same TXID the time before: one that is
    /// merely busy has moved.
    package mutating func look(_ status: MirrorStatus) -> [Finding] {
        var findings = lookForDivergence(status)
        // A diverged copy stands still on purpose, and has been told of.
        let isBehind = status.lag > 0 && !isDiverged
        if isBehind, !isLagging, behindAt == status.appliedTXID {
            isLagging = true
            findings.append(
                .lagging(
                    applied: status.appliedTXID,
                    bucket: status.bucketTXID,
                    holder: status.blockedBy?.processID,
                    why: status.failure
                )
            )
        } else if isLagging, status.lag == 0 {
            isLagging = false
            findings.append(.caughtUp(txid: status.appliedTXID))
        }
        behindAt = isBehind ? status.appliedTXID : nil
        return findings
    }

    /// Looks at nothing but whether the copy is what its writer said.
    package mutating func lookForDivergence(_ status: MirrorStatus) -> [Finding] {
        var findings: [Finding] = []
        if let divergence = status.divergence, !isDiverged {
            findings.append(
                .diverged(
                    txid: divergence.txid,
                    expected: divergence.expected,
                    actual: divergence.actual
                )
            )
        } else if status.divergence == nil, isDiverged {
            findings.append(.converged(txid: status.appliedTXID))
        }
        isDiverged = status.divergence != nil
        return findings
    }
}
