/// What becomes of files that no bucket takes, by their sizes alone.
///
/// Deltas wait in full up to the budget. Past it they are merged into one, in which each page is
/// once, and again when what came since is worth it. Past the limit they are given up: the pages
/// are in the database, and a comparison finds them again when there is a bucket.
public struct BacklogPolicy: Equatable, Sendable {
    public enum Action: Equatable, Sendable {
        case keep
        /// Merge all files into one.
        case merge
        /// Delete all files.
        case giveUp
    }

    /// Bytes.
    public var budget: Int64
    /// Bytes; not below the budget.
    public var limit: Int64

    public init(budget: Int64 = 256 << 20, limit: Int64 = 1 << 30) {
        self.budget = max(0, budget)
        self.limit = max(self.budget, limit)
    }

    /// What to do now.
    ///
    /// - Parameter sizes: Bytes of the files, oldest first; the first may be a merged one.
    /// - Returns: The action; after a merge, ask again.
    public func action(sizes: [Int64]) -> Action {
        let total = sizes.reduce(0, +)
        guard total > budget else { return .keep }
        // Merging for every delta that comes would copy the big file again and again.
        let isWorthIt = total - (sizes.first ?? 0) >= max(1, budget / 4)
        if sizes.count > 1, isWorthIt || total > limit { return .merge }
        return total > limit ? .giveUp : .keep
    }
}

/// Something that was done about the backlog.
public enum BacklogEvent: Equatable, Sendable {
    /// So many files of so many bytes became one.
    case merged(files: Int, bytes: Int64, into: Int64)
    /// So many files of so many bytes were deleted; the next push compares.
    case gaveUp(files: Int, bytes: Int64)
}
