import Foundation
import TestSupport

/// A `dormouse sink` beside a test.
final class SinkProcess: Sendable {
    let child: Child
    let port: UInt16
    let data: URL

    /// Starts it and waits until it listens.
    ///
    /// - Parameters:
    ///   - data: Its directory.
    ///   - port: 0 for a free one.
    ///   - more: Further words of its command line.
    ///   - fault: What `DORMOUSE_FAULT` says to it.
    ///   - environment: Further variables.
    /// - Throws: `Child.Failure` when it does not start.
    init(
        data: URL,
        port: UInt16 = 0,
        _ more: [String] = [],
        fault: String? = nil,
        environment: [String: String] = [:]
    ) async throws {
        self.data = data
        child = try Child(
            Dormouse.binary,
            ["sink", "--data", data.path, "--listen", "127.0.0.1:\(port)"] + more,
            environment: environment.merging(fault.map { ["DORMOUSE_FAULT": $0] } ?? [:]) { $1 }
        )
        try await child.wait { $0.kind == "sink-start" }
        let start = child.records.first { $0.kind == "sink-start" }
        guard let address = start?["address"], let colon = address.lastIndex(of: ":"),
            let port = UInt16(address[address.index(after: colon)...])
        else { throw Child.Failure(description: "no address in \(start?.line ?? "nothing")") }
        self.port = port
    }

    func url(_ name: String = "health") -> String { "http://127.0.0.1:\(port)/db/\(name)" }

    func mirror(_ name: String = "health") -> String {
        data.appending(path: "\(name)/mirror.sqlite").path
    }

    func bucket(_ name: String = "health") -> String {
        data.appending(path: "\(name)/bucket").path
    }

    /// What `GET /freshness` says.
    func freshness(_ name: String = "health") async throws -> [String: Any] {
        let reply = try await curl(["\(url(name))/freshness"])
        let json = try JSONSerialization.jsonObject(with: reply.stdoutBytes)
        return json as? [String: Any] ?? [:]
    }

    /// Waits until the mirror has a TXID.
    func applied(_ txid: String, _ name: String = "health") async throws {
        try await eventually("the mirror at \(txid)") {
            try await freshness(name)["applied_txid"] as? String == txid
        }
    }

    /// Ends it as a service manager would.
    @discardableResult
    func stop() async throws -> Int32 {
        child.send(SIGTERM)
        return try await child.end()
    }
}

/// Runs a body beside a sink, which is gone afterwards.
func withSink<R>(
    isolation: isolated (any Actor)? = #isolation,
    data: URL,
    _ more: [String] = [],
    _ body: (SinkProcess) async throws -> R
) async throws -> R {
    let sink = try await SinkProcess(data: data, more)
    return try await withChild(sink.child) { _ in try await body(sink) }
}

/// Runs curl, which must be there: it is what people try first.
func curl(_ arguments: [String]) async throws -> ProcessOutcome {
    try await runProcess(
        URL(filePath: "/usr/bin/curl"),
        ["--silent", "--show-error", "--max-time", "60"] + arguments
    )
}

/// Asks again and again until something holds; for what no event tells.
func eventually(
    isolation: isolated (any Actor)? = #isolation,
    _ what: String,
    within limit: Duration = .seconds(30),
    _ holds: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    while try await !holds() {
        guard ContinuousClock.now < end else {
            throw Child.Failure(description: "\(what): not within \(limit)")
        }
        try await Task.sleep(for: .milliseconds(20))
    }
}
