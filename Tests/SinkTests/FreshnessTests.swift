import LTXCodec
import Sink
import Testing
import Wire

@Suite("Freshness")
struct FreshnessTests {
    private let name: DatabaseName

    init() throws {
        name = try #require(DatabaseName("health"))
    }

    private func freshness(
        applied: (txid: UInt64, timestamp: Int64)?,
        bucket: UInt64,
        at timestamp: Int64?
    ) -> Freshness {
        Freshness(
            database: name,
            lineage: nil,
            applied: applied.map {
                .init(txid: TXID($0.txid), timestamp: $0.timestamp, appliedAt: 9, writer: .ingest)
            },
            bucketTXID: TXID(bucket),
            bucketTimestamp: timestamp
        )
    }

    @Test(
        "the lag is how far the mirror is behind the bucket, never below 0",
        arguments: [
            (5, 100, 5, 100, 0, 0), (5, 100, 8, 350, 3, 250), (5, 100, 8, nil, 3, nil),
            (8, 100, 5, 50, 0, 0), (5, 100, 8, 90, 3, 0), (5, .min, 8, .max, 3, nil),
        ] as [(UInt64, Int64, UInt64, Int64?, UInt64, Int64?)]
    )
    func lag(
        applied: UInt64,
        timestamp: Int64,
        bucket: UInt64,
        bucketTimestamp: Int64?,
        txids: UInt64,
        milliseconds: Int64?
    ) {
        let freshness = freshness(
            applied: (applied, timestamp),
            bucket: bucket,
            at: bucketTimestamp
        )
        #expect(freshness.lagTXIDs == txids)
        #expect(freshness.lagMilliseconds == milliseconds)
    }

    @Test("without a mirror everything is still to come, and nobody knows how old it is")
    func nothing() {
        let freshness = freshness(applied: nil, bucket: 7, at: 1)
        #expect(freshness.lagTXIDs == 7)
        #expect(freshness.lagMilliseconds == nil)
        #expect(
            freshness.json(now: 2).line
                == #"{"database":"health","lineage":null,"applied_txid":null,"#
                + #""applied_timestamp_ms":null,"applied_at_ms":null,"applied_by":null,"#
                + #""bucket_txid":"0000000000000007","bucket_timestamp_ms":1,"lag_txids":7,"#
                + #""lag_ms":null,"diverged":false,"lock_holder":null,"now_ms":2}"#
        )
    }

    @Test("what is known is told, and what is not configured is left out")
    func everything() {
        var freshness = freshness(applied: (5, 100), bucket: 6, at: 130)
        freshness.lineage = "ab"
        freshness.newestSample = .time(99)
        freshness.isDiverged = true
        freshness.lockHolder = 7
        #expect(
            freshness.json(now: 200).line
                == #"{"database":"health","lineage":"ab","applied_txid":"0000000000000005","#
                + #""applied_timestamp_ms":100,"applied_at_ms":9,"applied_by":"ingest","#
                + #""bucket_txid":"0000000000000006","bucket_timestamp_ms":130,"lag_txids":1,"#
                + #""lag_ms":30,"newest_sample":99,"diverged":true,"#
                + #""lock_holder":7,"now_ms":200}"#
        )
        freshness.newestSample = .failed("no such table: s")
        #expect(
            freshness.json(now: 200).line.contains(
                #""newest_sample":null,"newest_sample_error":"no such table: s""#
            )
        )
    }
}
