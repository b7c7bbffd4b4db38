import Bucket
public import LTXCodec

/// What the receipts in a spool mean to the one who handed over, by themselves.
///
/// Nothing in them is believed: `claim` is asked of the bucket, and `isInDoubt` has the lineage
/// looked at as after any other refusal.
public struct Reconciliation: Hashable, Sendable {
    /// The newest file that is said to be stored and was not acknowledged yet.
    public var claim: Receipt?
    /// A file was refused for more than a while.
    public var isInDoubt: Bool
    /// Receipts that say something new, oldest first, for the records.
    public var news: [Receipt]

    /// Sorts receipts out.
    ///
    /// - Parameters:
    ///   - receipts: All there are.
    ///   - destination: The bucket that is asked about; receipts of others mean nothing.
    ///   - writer: Our own id: those of an earlier history mean nothing.
    ///   - acknowledged: What the bucket is known to hold.
    public init(
        _ receipts: [Receipt],
        destination: String,
        writer: String,
        acknowledged: TXID
    ) {
        news = receipts.filter {
            $0.destination == destination && $0.writer == writer
                && $0.file.maxTXID > acknowledged
        }.sorted { $0.key < $1.key }
        claim = news.last { $0.isStored }
        isInDoubt = news.contains { receipt in
            switch receipt.outcome {
            case .conflict, .unavailable: true
            case .stored, .retryable: false
            }
        }
    }
}

/// What a bucket says when it is asked whether it holds what a receipt says.
public struct BucketWord: Hashable, Sendable {
    public var head: TXID
    public var lineage: String?
    /// The checksum of the file that ends at the head; `nil` where it cannot be told.
    public var headChecksum: Checksum?
    /// Its files lead to the head without a gap.
    public var reachesHead: Bool

    public init(
        head: TXID,
        lineage: String?,
        headChecksum: Checksum?,
        reachesHead: Bool = true
    ) {
        self.head = head
        self.lineage = lineage
        self.headChecksum = headChecksum
        self.reachesHead = reachesHead
    }

    /// Whether this is exactly what the receipt claims.
    ///
    /// A head that is further on is none: whose it is, a look at the lineage tells.
    public func confirms(_ receipt: Receipt) -> Bool {
        guard head == receipt.file.maxTXID, reachesHead else { return false }
        if let lineage, let held = receipt.lineage, lineage != held { return false }
        guard let headChecksum, headChecksum.isPresent else { return lineage != nil }
        return headChecksum == receipt.fileChecksum
    }
}

/// Whether a file may be put into a bucket that does not check that by itself.
public enum AppendCheck: Hashable, Sendable {
    case append
    /// It stands there already.
    case present
    case conflict(String)

    /// Compares.
    ///
    /// - Parameters:
    ///   - manifest: Of the file.
    ///   - head: The bucket's.
    ///   - headChecksum: The checksum of the file that ends there; `nil` where there is none.
    ///   - isThere: Something stands under the file's name.
    public init(
        _ manifest: Manifest,
        head: TXID,
        headChecksum: Checksum?,
        isThere: Bool
    ) {
        let after = manifest.after
        if isThere {
            self = .present
        } else if head != after.txid {
            self = .conflict("its head is \(head), the file continues \(after.txid)")
        } else if let headChecksum, after.fileChecksum.isPresent,
            headChecksum != after.fileChecksum
        {
            self = .conflict("its file at \(head) is another than the one that is continued")
        } else {
            self = .append
        }
    }
}
