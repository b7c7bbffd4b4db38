import Bucket
package import LTXCodec

/// Who may write, and what continues the history: decided from facts alone.
///
/// The facts are read and the verdict is carried out without a break, by the database's actor; an
/// earlier look before the body comes only spares a doomed upload.
package struct Fence: Hashable, Sendable {
    /// The highest TXID on any level.
    package var head: TXID
    /// Whether there is no file on any level.
    package var isEmpty: Bool
    /// The lineage that the files belong to, once it is known.
    package var lineage: String?
    package var lease: WriterLease?
    /// Milliseconds since 1970.
    package var now: Int64
    /// How long a lease lasts without a write, milliseconds.
    package var leaseDuration: Int64

    package init(
        head: TXID,
        isEmpty: Bool,
        lineage: String? = nil,
        lease: WriterLease? = nil,
        now: Int64 = 0,
        leaseDuration: Int64 = 86_400_000
    ) {
        self.head = head
        self.isEmpty = isEmpty
        self.lineage = lineage
        self.lease = lease
        self.now = now
        self.leaseDuration = leaseDuration
    }

    package enum Verdict: Hashable, Sendable {
        case accept
        /// A file of that name is there: the same bytes are a success, others a conflict.
        case mustBeIdentical
        /// A file of that name is there, and a summary may be made anew.
        case replace
        /// 409, with a line that says why.
        case reject(String)
    }

    /// Judges a file that is offered.
    ///
    /// - Parameters:
    ///   - file: Where it would stand.
    ///   - claim: Who offers it, and what else they say.
    ///   - isTaken: Whether a file of that name stands there already.
    /// - Returns: What is to be done.
    package func judge(_ file: OfferedFile, by claim: WriteClaim, isTaken: Bool) -> Verdict {
        if let reason = leaseRefusal(claim) { return .reject(reason) }
        if let reason = lineageRefusal(claim) { return .reject(reason) }
        if file.level == 0 { return judgeAppend(file.name, isTaken: isTaken) }
        let beginsBase =
            file.level == BucketFile.snapshotLevel && file.name.isSnapshot
            && claim.baseTXID == file.name.maxTXID && file.name.maxTXID > head
        guard file.name.maxTXID <= head || beginsBase else {
            return .reject(
                "level \(file.level) push ahead of the log: \(file.name.minTXID)-"
                    + "\(file.name.maxTXID) offered, bucket at \(head)"
            )
        }
        guard file.level != BucketFile.snapshotLevel || file.name.isSnapshot else {
            return .reject(
                "level \(file.level) holds whole databases, whose range begins at \(TXID(1)), "
                    + "not at \(file.name.minTXID)"
            )
        }
        return isTaken ? .replace : .accept
    }

    private func judgeAppend(_ name: LTXFileName, isTaken: Bool) -> Verdict {
        if isTaken { return .mustBeIdentical }
        if isEmpty || (name.minTXID > head && name.minTXID == head.next) { return .accept }
        return .reject(
            "non-monotonic L0 push: \(name.minTXID)-\(name.maxTXID) offered, bucket at \(head)"
        )
    }

    /// Judges a deletion, which the lease alone can forbid.
    package func judgeDeletion(by claim: WriteClaim) -> Verdict {
        leaseRefusal(claim).map { .reject($0) } ?? .accept
    }

    /// Judges a whole database: its own lineage's from the head on, or somebody's file.
    package func judgeIngest(by claim: WriteClaim) -> Verdict {
        if let reason = leaseRefusal(claim) { return .reject(reason) }
        guard let base = claim.baseTXID else { return .accept }
        if let reason = lineageRefusal(claim) { return .reject(reason) }
        guard base >= head else {
            return .reject("the upload is of TXID \(base), the bucket is at \(head)")
        }
        return .accept
    }

    private func lineageRefusal(_ claim: WriteClaim) -> String? {
        guard let offered = claim.lineage, let lineage, !isEmpty, offered != lineage else {
            return nil
        }
        return "the database has another lineage: \(lineage)"
    }

    private func leaseRefusal(_ claim: WriteClaim) -> String? {
        guard let writer = claim.writer, !claim.takesOver, let lease, lease.writer != writer,
            now - lease.writtenAt < leaseDuration
        else { return nil }
        return "bucket is owned by writer \(lease.writer)"
    }
}

/// The last writer that gave its name, and when it last wrote.
package struct WriterLease: Hashable, Sendable {
    package var writer: String
    /// Milliseconds since 1970.
    package var writtenAt: Int64

    package init(writer: String, writtenAt: Int64) {
        self.writer = writer
        self.writtenAt = writtenAt
    }
}

/// Where a file that is offered would stand.
package struct OfferedFile: Hashable, Sendable {
    package var level: Int
    package var name: LTXFileName

    package init(level: Int, name: LTXFileName) {
        self.level = level
        self.name = name
    }
}
