public import Bucket
public import LTXCodec

/// Which state of the database is wanted.
public enum RestoreTarget: Hashable, Sendable {
    /// The last one in the bucket.
    case newest
    /// Exactly this one.
    case txid(TXID)
    /// The last one before a time, milliseconds since 1970, exclusive.
    ///
    /// A time after the newest file means the newest state.
    case timestamp(Int64)
}

/// The files that make a state of the database, oldest first.
///
/// Of each page the last version wins, and pages beyond the last file's commit size do not exist.
///
/// The choice is Litestream's: the newest snapshot on level 9 that does not pass the target; then,
/// again and again, of levels 8 to 0 the file that reaches furthest among those that start no
/// later than one behind what is covered and do not pass the target. That finds the target
/// whenever any choice of files does.
public struct RestorePlan: Hashable, Sendable {
    /// Never empty; the first one holds every page of the database of its time.
    public let files: [BucketFile]
    /// The state that the files make.
    public let txid: TXID

    /// Bytes of all files.
    public var sizeInBytes: Int64 { files.reduce(0) { $0 + $1.sizeInBytes } }

    /// Plans from the files of all levels, in any order.
    ///
    /// - Throws: Why the bucket does not hold that state, and what it holds around it.
    public init(
        for target: RestoreTarget,
        in listing: [BucketFile]
    ) throws(RestorePlanError) {
        let history = try History(listing)
        switch target {
        case .newest: files = try history.newest()
        case .txid(let txid): files = try history.exactly(txid)
        case .timestamp(let time): files = try history.before(time)
        }
        txid = files.reduce(.zero) { max($0, $1.maxTXID) }
    }
}

/// What a listing says about the states of a database.
private struct History {
    /// Files that can be part of a plan.
    private let files: [BucketFile]
    /// The highest TXID.
    private let head: TXID

    init(_ listing: [BucketFile]) throws(RestorePlanError) {
        guard let oldest = listing.min(by: { $0.name < $1.name }) else { throw .empty }
        // Level 9 is for snapshots; what else stands there can be the base of nothing.
        files = listing.filter { $0.level < BucketFile.snapshotLevel || $0.name.isSnapshot }
        guard !files.isEmpty else { throw .noBase(first: oldest) }
        head = files.reduce(.zero) { max($0, $1.maxTXID) }
    }

    func newest() throws(RestorePlanError) -> [BucketFile] {
        let chain = Self.chain(files, upTo: head)
        guard let reached = chain.last?.maxTXID else { throw noBase() }
        guard reached == head else { throw gap(after: reached, in: files) }
        return chain
    }

    func exactly(_ txid: TXID) throws(RestorePlanError) -> [BucketFile] {
        guard txid > .zero else { throw .zero }
        guard txid <= head else { throw .beyondNewest(txid, newest: head) }
        let chain = Self.chain(files, upTo: txid)
        if let reached = chain.last?.maxTXID, reached == txid { return chain }
        let states = restorable()
        guard !states.isEmpty else { throw noBase() }
        throw .notRestorable(
            txid,
            inside: files.filter { $0.minTXID <= txid && txid < $0.maxTXID }
                .min { $0.name.length < $1.name.length },
            below: states.last { $0.maxTXID < txid }?.maxTXID,
            above: states.first { $0.maxTXID > txid }?.maxTXID
        )
    }

    func before(_ time: Int64) throws(RestorePlanError) -> [BucketFile] {
        guard files.contains(where: { $0.timestamp >= time }) else { return try newest() }
        let earlier = files.filter { $0.timestamp < time }
        let chain = Self.chain(earlier, upTo: head)
        guard let reached = chain.last?.maxTXID else {
            let states = restorable()
            guard !states.isEmpty else { throw noBase() }
            throw .beforeFirst(time, first: states.map(\.timestamp).min())
        }
        guard earlier.contains(where: { $0.maxTXID > reached }) else { return chain }
        // Later changes from before that time cannot be had. If a compacted file holds them, then
        // the history is only as fine as that file; if none does, they are missing.
        let isCompacted = files.contains {
            $0.level < BucketFile.snapshotLevel && $0.minTXID <= reached.next
                && $0.maxTXID > reached
        }
        guard isCompacted else { throw gap(after: reached, in: earlier) }
        return chain
    }

    /// The files that reach furthest towards a target, in order; empty without a base.
    private static func chain(_ files: [BucketFile], upTo target: TXID) -> [BucketFile] {
        let files = files.filter { $0.maxTXID <= target }
        var chain: [BucketFile] = []
        var covered = TXID.zero
        let snapshots = files.filter { $0.level == BucketFile.snapshotLevel }
        if let base = snapshots.max(by: { $0.maxTXID < $1.maxTXID }) {
            chain.append(base)
            covered = base.maxTXID
        }
        var rest = files.filter { $0.level < BucketFile.snapshotLevel }
            .sorted { $0.name < $1.name }[...]
        var furthest: BucketFile?
        while true {
            while let file = rest.first, file.minTXID <= covered.next {
                rest.removeFirst()
                if furthest.map({ $0.reaches(lessFarThan: file) }) ?? true { furthest = file }
            }
            guard let next = furthest, next.maxTXID > covered else { return chain }
            chain.append(next)
            covered = next.maxTXID
        }
    }

    /// The last files of all plans that exist, in TXID order.
    ///
    /// A state can be had if its file starts at 1, or no later than one behind the highest state
    /// below it that can be had.
    private func restorable() -> [BucketFile] {
        var states: [BucketFile] = []
        for file in files.sorted(by: { $0.maxTXID < $1.maxTXID }) {
            let covered = states.last?.maxTXID ?? .zero
            if file.minTXID <= covered.next { states.append(file) }
        }
        return states
    }

    private func noBase() -> RestorePlanError {
        guard let first = files.min(by: { $0.name < $1.name }) else { return .empty }
        return .noBase(first: first)
    }

    private func gap(after reached: TXID, in files: [BucketFile]) -> RestorePlanError {
        let next = files.filter { $0.maxTXID > reached }.map(\.minTXID).min() ?? head
        return .gap(after: reached, next: next)
    }
}

extension BucketFile {
    /// Of two files that reach equally far, the higher level is the one a chain needs fewer of,
    /// and on one level the shorter range is the smaller file.
    fileprivate func reaches(lessFarThan other: BucketFile) -> Bool {
        (maxTXID, level, minTXID) < (other.maxTXID, other.level, other.minTXID)
    }
}

extension LTXFileName {
    fileprivate var length: UInt64 { maxTXID.rawValue - minTXID.rawValue }
}
