import Bucket
import Handover
import LTXCodec
import Testing

@Suite("Manifests and receipts as text")
struct ManifestTests {
    @Test("a manifest reads back as it was written")
    func roundTrip() throws {
        var manifest = Manifest.made(7)
        #expect(try Manifest(parsing: Array(manifest.text.utf8)) == manifest)
        manifest.lineage = nil
        manifest.takesOver = true
        manifest.destination = "/a directory/with spaces"
        #expect(try Manifest(parsing: Array(manifest.text.utf8)) == manifest)
    }

    @Test(
        "a receipt reads back as it was written, whatever the outcome",
        arguments: [
            Receipt.Outcome.stored(answer: "0/x 12"),
            .retryable(reason: "network", detail: "cannot connect"),
            .conflict(detail: ""), .unavailable(reason: "unauthorized", detail: "HTTP 401"),
        ]
    )
    func receiptRoundTrip(outcome: Receipt.Outcome) throws {
        let receipt = Receipt(.made(7), at: -5, outcome)
        #expect(try Receipt(parsing: Array(receipt.text.utf8)) == receipt)
    }

    @Test("words of a server that would be lines are one line in a receipt")
    func detailIsOneLine() throws {
        let outcome = Receipt.Outcome.conflict(detail: "one\r\noutcome stored\n\ncrc 0")
        let receipt = try Receipt(parsing: Array(Receipt(.made(7), at: 1, outcome).text.utf8))
        #expect(receipt.outcome == .conflict(detail: "one outcome stored crc 0"))
    }

    @Test("cut anywhere it is refused")
    func cut() {
        for (text, parse) in Self.texts {
            let bytes = Array(text.utf8)
            for count in 0..<bytes.count { #expect(!parse(Array(bytes[..<count])), "\(count)") }
            #expect(parse(bytes))
        }
    }

    @Test("with any bit turned it is refused, and never traps")
    func damaged() {
        for (text, parse) in Self.texts {
            let bytes = Array(text.utf8)
            for index in bytes.indices {
                for bit in 0..<8 {
                    var damaged = bytes
                    damaged[index] ^= 1 << bit
                    #expect(!parse(damaged), "byte \(index), bit \(bit)")
                }
            }
        }
    }

    private static let texts: [(String, @Sendable ([UInt8]) -> Bool)] = [
        (Manifest.made(7).text, { (try? Manifest(parsing: $0)) != nil }),
        (
            Receipt(.made(7), at: 1, .stored(answer: "x")).text,
            { (try? Receipt(parsing: $0)) != nil }
        ),
    ]

    @Test("a value that would end a header of a request is refused, though its checksum is right")
    func headers() throws {
        for writer in ["", "a b", "a\u{1}", "ä", String(repeating: "x", count: 201)] {
            var manifest = Manifest.made(7)
            manifest.writer = writer
            #expect(throws: UnusableFacts.self, "\(writer)") {
                try Manifest(parsing: Array(manifest.text.utf8))
            }
        }
    }

    @Test("another version, another heading and an empty file say what they are")
    func heading() {
        #expect(throws: UnusableFacts.heading("dormouse-manifest")) { try Manifest(parsing: []) }
        #expect(throws: UnusableFacts.heading("dormouse-receipt")) {
            try Receipt(parsing: Array(Manifest.made(7).text.utf8))
        }
        #expect(throws: UnusableFacts.version("2")) {
            try Manifest(parsing: Array("dormouse-manifest 2\nx\n".utf8))
        }
    }

    @Test("keys sort in the order of the TXIDs, as text too")
    func keys() throws {
        let keys = [1, 2, 9, 10, 255, 256, 1 << 40].map { Manifest.made($0).key }
        #expect(keys.sorted() == keys)
        #expect(keys.map(\.description).sorted() == keys.map(\.description))
        for key in keys { #expect(SpoolKey("\(key)") == key) }
        for text in ["", "-", "1-2", "x-y", "\(keys[0])-", "\(keys[0])".uppercased() + " "] {
            #expect(SpoolKey(text) == nil, "\(text)")
        }
    }
}

extension Manifest {
    /// The manifest of a delta that ends at a TXID and continues the one before it.
    static func made(_ txid: UInt64, writer: String = "6f1c") -> Manifest {
        Manifest(
            destination: "https://sink.example/db/health",
            writer: writer,
            lineage: "6f1c",
            file: BucketFile(
                level: 0,
                name: LTXFileName(minTXID: TXID(txid), maxTXID: TXID(txid)),
                sizeInBytes: 1000 + Int64(txid),
                timestamp: 1_767_225_600_000
            ),
            fileChecksum: Checksum(crc: txid &* 77),
            databaseChecksum: Checksum(crc: txid &* 99),
            after: Head(txid: TXID(txid - 1), fileChecksum: Checksum(crc: (txid &- 1) &* 77))
        )
    }
}
