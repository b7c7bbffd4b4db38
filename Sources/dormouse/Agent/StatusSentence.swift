import CommandLineKit
import LTXCodec
import Lifecycle
import Replication

/// Where a resident replicator stands, in the sentence that `systemctl status` shows.
struct StatusSentence {
    typealias Instant = ContinuousClock.Instant

    var phase = Phase.launching
    var lastPush: (record: PushRecord, at: Instant)?
    /// What stands still, where something does.
    var stuck: [Watchdog.Stuck] = []

    /// Such as `pushed TXID 4711, 125 KB, 3 s ago; backlog 0; WAL 1.2 MB; background 18 s left`.
    func text(at now: Instant) -> String {
        var parts: [String] = []
        for stuck in stuck {
            parts.append("\(stuck.actor) does not get on with \(stuck.operation)")
        }
        if let (record, at) = lastPush {
            parts.append("\(record.sentence), \(Self.ago(now - at))")
            parts.append(
                record.backlogFiles == 0
                    ? "backlog 0"
                    : "backlog \(HumanText.count(record.backlogFiles)) files, "
                        + HumanText.bytes(record.backlogBytes)
            )
            parts.append("WAL \(HumanText.bytes(record.walBytes))")
        } else {
            parts.append("nothing pushed yet")
        }
        parts.append(phase.name + left(at: now))
        return parts.joined(separator: "; ")
    }

    private func left(at now: Instant) -> String {
        guard let deadline = phase.deadline else { return "" }
        return " \(max((deadline - now).components.seconds, 0)) s left"
    }

    private static func ago(_ duration: Duration) -> String {
        let seconds = max(duration.components.seconds, 0)
        return switch seconds {
        case ..<120: "\(seconds) s ago"
        case ..<7_200: "\(seconds / 60) min ago"
        default: "\(seconds / 3_600) h ago"
        }
    }
}

extension PushRecord {
    /// The outcome with what a person asks for first; TXIDs in decimal, as they are counted.
    fileprivate var sentence: String {
        switch outcome {
        case .pushed: "pushed TXID \(txid.rawValue), \(HumanText.bytes(bytes))"
        case .inSync(verified: true): "in sync at TXID \(txid.rawValue)"
        case .inSync(verified: false): "nothing to push, not verified"
        case .retryable(let reason, _):
            "push failed (\(reason.rawValue), \(streak.count) in a row)"
        case .unavailable(let reason, _): "cannot push (\(reason.rawValue))"
        }
    }
}
