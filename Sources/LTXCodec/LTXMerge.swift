/// One file that goes into a merge.
public struct LTXMergeInput {
    /// What errors call the file, such as its path.
    public var name: String
    /// Fills a buffer with the next bytes of the file and says how many, 0 at its end.
    public var read: (UnsafeMutableRawBufferPointer) throws -> Int

    public init(name: String, read: @escaping (UnsafeMutableRawBufferPointer) throws -> Int) {
        self.name = name
        self.read = read
    }
}

/// Several LTX files read as the one that does what they do one after the other.
///
/// Of each page the newest version wins; pages that a later file has cut off are left out. The
/// order of the inputs does not matter, they go by their TXID ranges: each must start at or before
/// the TXID behind what is covered so far, and one that reaches no further is left out as already
/// covered. Memory is a buffer and a page an input, whatever the size of the files.
///
/// ```swift
/// var merge = try LTXMerge(inputs)
/// try merge.forEachPage { pgno, page in … }
/// ```
public struct LTXMerge: ~Copyable {
    /// Describes the result: all TXIDs covered; commit, timestamp and node ID of the last input;
    /// no WAL place; checksums only if all inputs keep them.
    public let header: LTXHeader

    private let sources: [LTXMergeSource]
    private var isRead = false

    /// Reads the headers of all inputs.
    ///
    /// - Throws: `LTXMergeError` if there are no inputs, if one cannot be read, or if they do not
    ///   join; `CancellationError` as an input threw it.
    public init(_ inputs: [LTXMergeInput]) throws {
        let sources = try LTXMerge.chain(
            inputs.map { try LTXMergeSource($0, sharedBy: inputs.count) }
        )
        guard let first = sources.first?.header, let last = sources.last?.header else {
            throw LTXMergeError.noInputs
        }
        let keepsChecksums = sources.allSatisfy { !$0.header.hasNoChecksum }
        header = LTXHeader(
            flags: keepsChecksums ? 0 : LTXHeader.noChecksumFlag,
            pageSize: last.pageSize,
            commit: last.commit,
            minTXID: first.minTXID,
            maxTXID: last.maxTXID,
            timestamp: last.timestamp,
            preApplyChecksum: keepsChecksums ? first.preApplyChecksum : .none,
            nodeID: last.nodeID
        )
        self.sources = sources

        // What a later file cuts off is gone, even if a still later one grows past it again.
        var limit = UInt32.max
        for source in sources.reversed() {
            limit = min(limit, source.header.commit)
            source.limit = limit
        }
    }

    /// Reads all pages of the result in order, and all inputs to their ends.
    ///
    /// - Precondition: Called once.
    /// - Returns: The post-apply checksum of the result; none if the header says so.
    /// - Throws: `LTXMergeError` that names the input at fault; whatever the body throws.
    public mutating func forEachPage(
        _ body: (Pgno, UnsafeRawBufferPointer) throws -> Void
    ) throws -> Checksum {
        precondition(!isRead, "a merge is read once")
        isRead = true

        var queue = LTXMergeQueue()
        for (rank, source) in sources.enumerated() {
            if let pgno = try source.advance() { queue.push(pgno, rank: rank) }
        }
        var last: Pgno = 0
        while let (pgno, rank) = queue.pop() {
            let source = sources[rank]
            if pgno != last, pgno <= source.limit {
                try source.withPage { try body(pgno, $0) }
            }
            last = pgno
            if let next = try source.advance() { queue.push(next, rank: rank) }
        }
        try checkChecksums()
        return header.hasNoChecksum ? .none : sources.last?.trailer?.postApplyChecksum ?? .none
    }

    /// Puts the inputs in order and leaves out those already covered.
    private static func chain(_ sources: [LTXMergeSource]) throws -> [LTXMergeSource] {
        let ordered = sources.sorted {
            ($0.header.minTXID, $0.header.maxTXID) < ($1.header.minTXID, $1.header.maxTXID)
        }
        var chain: [LTXMergeSource] = []
        for source in ordered {
            guard let last = chain.last else {
                chain.append(source)
                continue
            }
            guard source.header.pageSize == last.header.pageSize else {
                throw LTXMergeError.pageSize(
                    source.header.pageSize,
                    input: source.name,
                    expected: last.header.pageSize
                )
            }
            if source.header.maxTXID <= last.header.maxTXID { continue }
            guard source.header.minTXID <= last.header.maxTXID.next else {
                throw LTXMergeError.gap(
                    covered: last.header.maxTXID,
                    input: source.name,
                    minTXID: source.header.minTXID
                )
            }
            chain.append(source)
        }
        return chain
    }

    /// Checks that inputs that follow each other exactly agree on the database between them.
    private func checkChecksums() throws {
        for (source, next) in zip(sources, sources.dropFirst())
        where next.header.minTXID == source.header.maxTXID.next
            && next.header.preApplyChecksum.isPresent
        {
            guard
                let before = source.trailer?.postApplyChecksum, before.isPresent,
                before != next.header.preApplyChecksum
            else { continue }
            throw LTXMergeError.checksum(
                next.header.preApplyChecksum,
                input: next.name,
                expected: before
            )
        }
    }
}

/// Why files cannot be merged.
public enum LTXMergeError: Error, CustomStringConvertible {
    /// There is nothing to merge.
    case noInputs
    /// An input is no good LTX file, or cannot be read.
    case unreadable(input: String, cause: any Error)
    /// TXIDs are missing between what is covered and the input that comes next.
    case gap(covered: TXID, input: String, minTXID: TXID)
    /// An input has another page size than those before it.
    case pageSize(UInt32, input: String, expected: UInt32)
    /// An input was made for another database than those before it leave.
    case checksum(Checksum, input: String, expected: Checksum)

    public var description: String {
        switch self {
        case .noInputs:
            "no LTX files to merge"
        case .unreadable(let input, let cause):
            "\(input): \(cause)"
        case .gap(let covered, let input, let minTXID):
            "\(input): starts at TXID \(minTXID), but only \(covered) is covered"
        case .pageSize(let size, let input, let expected):
            "\(input): page size is \(size), not \(expected) as before"
        case .checksum(let checksum, let input, let expected):
            "\(input): pre-apply checksum is \(checksum), the file before leaves \(expected)"
        }
    }
}
