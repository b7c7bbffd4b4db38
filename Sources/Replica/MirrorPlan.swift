package import Bucket
package import LTXCodec

/// What a mirror does next, from where it is and what its bucket lists.
///
/// A plain value: the files go up one another, and pages are nobody's concern here.
package enum MirrorPlan: Equatable, Sendable {
    /// The mirror holds the bucket's newest state.
    case upToDate
    /// The bucket has no files; the mirror stays as it is.
    case empty
    /// The mirror differs from its source and waits for a rebase.
    case held
    /// These files join the mirror's state, in this order.
    case advance([BucketFile])
    /// These files make a whole state, which the mirror becomes whatever it holds.
    case restart([BucketFile])
    case unreachable(RestorePlanError)
    case gap(next: TXID)

    /// Facts of a mirror that the choice depends on.
    package struct Facts: Equatable, Sendable {
        package var position: TXID
        /// What the mirror holds is not the bucket's state at its position.
        package var mustRestart: Bool
        /// The mirror was found to differ from its source.
        package var isDiverged: Bool
        /// A snapshot of this TXID is to be applied whatever the mirror holds; zero for none.
        package var rebase: TXID

        package init(
            position: TXID,
            mustRestart: Bool = false,
            isDiverged: Bool = false,
            rebase: TXID = .zero
        ) {
            self.position = position
            self.mustRestart = mustRestart
            self.isDiverged = isDiverged
            self.rebase = rebase
        }
    }

    /// At most so many files, and so many bytes of them, go into one apply.
    package struct Limits: Equatable, Sendable {
        package var files: Int
        package var bytes: Int64

        package init(files: Int = 64, bytes: Int64 = 32 << 20) {
            self.files = files
            self.bytes = bytes
        }
    }

    /// Chooses from the files of all levels, in any order.
    package init(_ facts: Facts, listing: [BucketFile], limits: Limits = Limits()) {
        guard let head = listing.map(\.maxTXID).max() else {
            self = .empty
            return
        }
        let snapshots = listing.filter {
            $0.level == BucketFile.snapshotLevel && $0.name.isSnapshot
        }
        let newest = snapshots.max { $0.maxTXID < $1.maxTXID }
        if facts.rebase > .zero,
            let base = snapshots.first(where: { $0.isBase(at: facts.rebase) })
        {
            self = .restart([base])
        } else if facts.isDiverged {
            // Deltas would only be built on what is wrong.
            guard let newest, newest.maxTXID > facts.position else {
                self = .held
                return
            }
            self = .restart([newest])
        } else if facts.mustRestart || head < facts.position {
            self = Self.restart(listing, limits)
        } else if head == facts.position {
            self = .upToDate
        } else {
            let chain = Self.chain(listing, from: facts.position, limits)
            if !chain.isEmpty {
                self = .advance(chain)
            } else if let newest, newest.maxTXID > facts.position {
                self = .restart([newest])
            } else {
                let ahead = listing.filter { $0.maxTXID > facts.position }
                self = .gap(next: ahead.map(\.minTXID).min() ?? head)
            }
        }
    }

    private static func restart(_ listing: [BucketFile], _ limits: Limits) -> MirrorPlan {
        do throws(RestorePlanError) {
            return .restart(limits.cut(try RestorePlan(for: .newest, in: listing).files))
        } catch {
            return .unreachable(error)
        }
    }

    /// The files that lead on: of level 0 while they join, else the one that reaches furthest.
    ///
    /// A file that begins before the position does no harm: of each page it holds the version of
    /// its end, which is ahead.
    private static func chain(
        _ listing: [BucketFile],
        from position: TXID,
        _ limits: Limits
    ) -> [BucketFile] {
        let ahead = listing.filter {
            $0.level < BucketFile.snapshotLevel && $0.maxTXID > position
        }
        let fresh = Dictionary(
            ahead.filter { $0.level == 0 }.map { ($0.minTXID, $0) },
            uniquingKeysWith: { $0.maxTXID > $1.maxTXID ? $0 : $1 }
        )
        var chain: [BucketFile] = []
        var covered = position
        while chain.count < limits.files {
            let next =
                fresh[covered.next]
                ?? ahead.filter { $0.minTXID <= covered.next && $0.maxTXID > covered }
                .max { ($0.maxTXID, $0.minTXID) < ($1.maxTXID, $1.minTXID) }
            guard let next, next.maxTXID > covered else { break }
            chain.append(next)
            covered = next.maxTXID
        }
        return limits.cut(chain)
    }
}

extension MirrorPlan.Limits {
    /// The first files that keep within the limits, but at least one.
    func cut(_ chain: [BucketFile]) -> [BucketFile] {
        var bytes: Int64 = 0
        for (index, file) in chain.enumerated() {
            bytes = bytes.addingReportingOverflow(file.sizeInBytes).partialValue
            if index > 0, bytes > self.bytes || index == files { return Array(chain[..<index]) }
        }
        return chain
    }
}
