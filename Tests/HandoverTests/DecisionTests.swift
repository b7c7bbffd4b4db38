import Bucket
import Handover
import LTXCodec
import Testing

@Suite("What receipts mean")
struct ReconciliationTests {
    private func reconciled(_ receipts: [Receipt], acknowledged: UInt64 = 4) -> Reconciliation {
        Reconciliation(
            receipts,
            destination: Manifest.made(1).destination,
            writer: "6f1c",
            acknowledged: TXID(acknowledged)
        )
    }

    private func receipt(
        _ txid: UInt64,
        _ outcome: Receipt.Outcome = .stored(answer: "")
    ) -> Receipt { Receipt(.made(txid), at: 1, outcome) }

    @Test("the newest file that is said to be stored is what the bucket is asked about")
    func newest() {
        let found = reconciled([receipt(6), receipt(7), receipt(5)])
        #expect(found.claim?.file.maxTXID == TXID(7))
        #expect(found.news.map(\.file.maxTXID.rawValue) == [5, 6, 7])
        #expect(!found.isInDoubt)
    }

    @Test("what is acknowledged already is no news")
    func old() {
        let found = reconciled([receipt(3), receipt(4, .conflict(detail: ""))])
        #expect(found == reconciled([]))
    }

    @Test("receipts of another writer or another destination mean nothing")
    func foreign() {
        var other = receipt(9)
        other.destination = "/elsewhere"
        let stranger = Receipt(.made(9, writer: "ffff"), at: 1, .conflict(detail: ""))
        #expect(reconciled([other, stranger]) == reconciled([]))
    }

    @Test(
        "a refusal has the lineage looked at; what can pass by itself has not",
        arguments: [
            (Receipt.Outcome.conflict(detail: ""), true),
            (.unavailable(reason: "unauthorized", detail: ""), true),
            (.retryable(reason: "network", detail: ""), false),
            (.stored(answer: ""), false),
        ]
    )
    func doubt(outcome: Receipt.Outcome, isInDoubt: Bool) {
        let found = reconciled([receipt(5), receipt(6, outcome)])
        #expect(found.isInDoubt == isInDoubt)
        #expect(found.claim?.file.maxTXID == TXID(outcome == .stored(answer: "") ? 6 : 5))
    }

    /// What a bucket can say about a receipt for TXID 7.
    static let words: [(BucketWord, Bool)] = {
        let right = Manifest.made(7).fileChecksum
        let wrong = Manifest.made(8).fileChecksum
        return [
            (BucketWord(head: TXID(7), lineage: "6f1c", headChecksum: right), true),
            (BucketWord(head: TXID(7), lineage: nil, headChecksum: right), true),
            (BucketWord(head: TXID(7), lineage: "6f1c", headChecksum: nil), true),
            // Neither id nor bytes: nothing shows whose head this is.
            (BucketWord(head: TXID(7), lineage: nil, headChecksum: nil), false),
            (BucketWord(head: TXID(7), lineage: "6f1c", headChecksum: wrong), false),
            (BucketWord(head: TXID(7), lineage: "ffff", headChecksum: right), false),
            (BucketWord(head: TXID(6), lineage: "6f1c", headChecksum: right), false),
            (BucketWord(head: TXID(8), lineage: "6f1c", headChecksum: right), false),
            (BucketWord(head: .zero, lineage: nil, headChecksum: nil), false),
            (
                BucketWord(
                    head: TXID(7),
                    lineage: nil,
                    headChecksum: right,
                    reachesHead: false
                ), false
            ),
        ]
    }()

    @Test("only a bucket that has exactly this file at its head confirms", arguments: words)
    func confirmation(word: BucketWord, confirms: Bool) {
        #expect(word.confirms(receipt(7)) == confirms)
    }
}

@Suite("What may be appended to a bucket that does not compare")
struct AppendCheckTests {
    private let manifest = Manifest.made(7)
    private let before = Manifest.made(6).fileChecksum

    private func check(_ head: UInt64, _ checksum: Checksum?, isThere: Bool = false) -> String {
        switch AppendCheck(manifest, head: TXID(head), headChecksum: checksum, isThere: isThere) {
        case .append: "append"
        case .present: "present"
        case .conflict: "conflict"
        }
    }

    @Test("what continues the head is appended, also where the head was compacted")
    func append() {
        #expect(check(6, before) == "append")
        #expect(check(6, nil) == "append")
    }

    @Test("what does not is a conflict: a gap, a head further on, other bytes at the head")
    func conflict() {
        #expect(check(5, nil) == "conflict")
        #expect(check(0, nil) == "conflict")
        #expect(check(7, nil) == "conflict")
        #expect(check(8, nil) == "conflict")
        #expect(check(6, Manifest.made(60).fileChecksum) == "conflict")
    }

    @Test("what stands there is compared, wherever the head is")
    func present() {
        #expect(check(7, manifest.fileChecksum, isThere: true) == "present")
        #expect(check(9, nil, isThere: true) == "present")
    }
}
