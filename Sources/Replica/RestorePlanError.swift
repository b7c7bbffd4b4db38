public import Bucket
public import LTXCodec

/// Why a bucket does not hold the state that is wanted.
public enum RestorePlanError: Error, Hashable, Sendable {
    /// There is no LTX file at all.
    case empty
    /// Nothing holds the whole database: no snapshot, and no file that starts at TXID 1.
    case noBase(first: BucketFile)
    /// Files are missing between `after` and `next`; states up to `after` can be had.
    case gap(after: TXID, next: TXID)
    /// TXIDs count from 1.
    case zero
    /// The TXID has not been reached yet.
    case beyondNewest(TXID, newest: TXID)
    /// The TXID is inside a file, or files before it are missing; `below` and `above` are the
    /// nearest that can be had.
    case notRestorable(TXID, inside: BucketFile?, below: TXID?, above: TXID?)
    /// Nothing that can be had is earlier than the time; `first` is the earliest that can.
    case beforeFirst(Int64, first: Int64?)
}

extension RestorePlanError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .empty:
            return "no LTX files there: nothing was backed up yet, or the address is wrong"
        case .noBase(let first):
            return "the beginning is missing: the oldest file is \(first), and there is no "
                + "snapshot; let the source push a snapshot"
        case .gap(let after, let next):
            let missing = Self.range(after.next, before: next)
            return "\(missing) missing: the files end at \(after) and go on at \(next); "
                + "push the missing files, or restore TXID \(after) or an earlier one"
        case .zero:
            return "TXIDs count from 1"
        case .beyondNewest(let txid, let newest):
            return "TXID \(txid) is not there yet: the newest is \(newest)"
        case .notRestorable(let txid, let file, let below, let above):
            let place =
                file.map { "is inside \($0), which cannot be taken apart" }
                ?? "cannot be reached, files before it are missing"
            let choices = [below, above].compactMap { $0 }.map { "\($0)" }
            return "TXID \(txid) \(place); restorable next to it: "
                + (choices.isEmpty ? "none" : choices.joined(separator: " and "))
        case .beforeFirst(let time, let first):
            let known =
                first.map { "the first restorable state is of \(RFC3339.text($0))" }
                ?? "no state has a time"
            return "nothing from before \(RFC3339.text(time)): \(known) (file times count: a copy "
                + "of a bucket must keep modification times)"
        }
    }

    private static func range(_ first: TXID, before next: TXID) -> String {
        next <= first.next ? "TXID \(first) is" : "TXIDs \(first) to \(TXID(next.rawValue - 1)) are"
    }
}
