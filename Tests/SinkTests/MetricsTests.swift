import Sink
import Testing

@Suite("Metrics of a sink")
struct MetricsTests {
    @Test("metrics are printed with help and type, in a fixed order, labels escaped")
    func text() {
        let metrics = Metrics()
        metrics.add(to: .swept, .init("kind", "tmp"))
        metrics.add(2, to: .swept, .init("kind", "a\"b\\c\nd"))
        metrics.set(.txid, to: 402_105_931, .database("health"))
        metrics.set(.lagSeconds, to: 1.5, .database("health"))
        metrics.set(.connections, to: 3)
        #expect(
            metrics.text == """
                # HELP litestream_txid The TXID that the mirror holds
                # TYPE litestream_txid gauge
                litestream_txid{db="health"} 402105931
                # HELP dormouse_mirror_lag_seconds How long the oldest change that is not in the \
                mirror has waited
                # TYPE dormouse_mirror_lag_seconds gauge
                dormouse_mirror_lag_seconds{db="health"} 1.5
                # HELP dormouse_swept_total Corpses removed, by kind
                # TYPE dormouse_swept_total counter
                dormouse_swept_total{kind="a\\"b\\\\c\\nd"} 2
                dormouse_swept_total{kind="tmp"} 1
                # HELP dormouse_http_connections Open connections
                # TYPE dormouse_http_connections gauge
                dormouse_http_connections 3

                """
        )
    }

    @Test("a counter adds up, and a database that is gone takes its series along")
    func values() {
        let metrics = Metrics()
        for _ in 0..<3 { metrics.add(to: .pushes, .database("a"), .init("outcome", "accepted")) }
        #expect(metrics.value(.pushes, .database("a"), .init("outcome", "accepted")) == 3)
        metrics.forget(.database("a"))
        #expect(metrics.value(.pushes, .database("a"), .init("outcome", "accepted")) == 0)
        #expect(metrics.text.isEmpty)
    }

    @Test("every metric has a name of its own that Prometheus takes")
    func names() {
        #expect(Set(Metric.allCases.map(\.rawValue)).count == Metric.allCases.count)
        for metric in Metric.allCases {
            #expect(metric.rawValue.wholeMatch(of: /(litestream|dormouse)_[a-z_]+/) != nil)
            #expect(!metric.help.isEmpty)
        }
    }
}
