import DurableFiles

/// What a sink counts and measures; names are Litestream's where they mean the same.
public enum Metric: String, CaseIterable, Sendable {
    /// The TXID of the mirror, as Litestream has that of its database.
    case txid = "litestream_txid"
    case databaseSize = "litestream_db_size"
    case diskFull = "litestream_disk_full"

    case bucketTXID = "dormouse_bucket_txid"
    case lagTXIDs = "dormouse_mirror_lag_txids"
    case lagSeconds = "dormouse_mirror_lag_seconds"
    case diverged = "dormouse_mirror_diverged"
    case pushes = "dormouse_pushes_total"
    case pushBytes = "dormouse_push_bytes_total"
    case ingests = "dormouse_ingests_total"
    case uploads = "dormouse_uploads"
    case swept = "dormouse_swept_total"
    case requests = "dormouse_http_requests_total"
    case connections = "dormouse_http_connections"
    case diskAvailable = "dormouse_disk_available_bytes"
    case diskReserve = "dormouse_disk_reserve_bytes"

    /// A counter never falls while the process lives.
    public var isCounter: Bool { rawValue.hasSuffix("_total") }

    public var help: String {
        switch self {
        case .txid: "The TXID that the mirror holds"
        case .databaseSize: "The size of the mirror, in bytes"
        case .diskFull: "Whether writes are refused because the disk is full"
        case .bucketTXID: "The highest TXID in the bucket"
        case .lagTXIDs: "TXIDs that the mirror is behind the bucket"
        case .lagSeconds: "How long the oldest change that is not in the mirror has waited"
        case .diverged: "Whether the mirror differs from what its writer said"
        case .pushes: "LTX files offered, by outcome"
        case .pushBytes: "Bytes of accepted LTX files"
        case .ingests: "Whole databases offered, by outcome"
        case .uploads: "Resumable uploads under way"
        case .swept: "Corpses removed, by kind"
        case .requests: "Requests answered, by status"
        case .connections: "Open connections"
        case .diskAvailable: "Bytes that can still be written"
        case .diskReserve: "Bytes that must stay free"
        }
    }
}

/// The values of all metrics, and their text for Prometheus.
public final class Metrics: Sendable {
    /// One label; the set of values must be small and ours, never a client's text.
    public struct Label: Hashable, Sendable {
        public var name: String
        public var value: String

        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }

        public static func database(_ name: some CustomStringConvertible) -> Label {
            Label("db", name.description)
        }
    }

    private struct Key: Hashable {
        var metric: Metric
        var labels: [Label]
    }

    private let values = Lock<[Key: Double]>([:])

    public init() {}

    /// Adds to a counter.
    public func add(_ amount: Double = 1, to metric: Metric, _ labels: Label...) {
        values.withLock { $0[Key(metric: metric, labels: labels), default: 0] += amount }
    }

    /// Sets a gauge.
    public func set(_ metric: Metric, to value: Double, _ labels: Label...) {
        values.withLock { $0[Key(metric: metric, labels: labels)] = value }
    }

    /// The value of one series; 0 for one that has none yet.
    public func value(_ metric: Metric, _ labels: Label...) -> Double {
        values.withLock { $0[Key(metric: metric, labels: labels)] ?? 0 }
    }

    /// Forgets all series of a label, as of a database that is gone.
    public func forget(_ label: Label) {
        values.withLock { values in values = values.filter { !$0.key.labels.contains(label) } }
    }

    /// The media type of `text`.
    public static let mediaType = "text/plain; version=0.0.4"

    /// Prometheus' text format; metrics and series in a fixed order.
    public var text: String {
        let values = values.withLock { $0 }
        var text = ""
        for metric in Metric.allCases {
            let series = values.filter { $0.key.metric == metric }
                .map { (Self.text($0.key.labels), $0.value) }
                .sorted { $0.0 < $1.0 }
            // A counter without labels is 0 from the start: a missing series alarms nobody.
            guard !series.isEmpty else { continue }
            text += "# HELP \(metric.rawValue) \(metric.help)\n"
            text += "# TYPE \(metric.rawValue) \(metric.isCounter ? "counter" : "gauge")\n"
            for (labels, value) in series {
                text += "\(metric.rawValue)\(labels) \(Self.text(value))\n"
            }
        }
        return text
    }

    private static func text(_ labels: [Label]) -> String {
        guard !labels.isEmpty else { return "" }
        return "{" + labels.map { "\($0.name)=\"\(escaped($0.value))\"" }.joined(separator: ",")
            + "}"
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    private static func text(_ value: Double) -> String {
        guard value.isFinite else { return value.isNaN ? "NaN" : value < 0 ? "-Inf" : "+Inf" }
        return value.rounded() == value && abs(value) < 1e15 ? String(Int64(value)) : "\(value)"
    }
}
