import Chaos
import Foundation
import TestSupport
import Testing

/// A device whose pushes are handed over, the spool between, and the transfer service.
struct TransferScene {
    let device: Device
    let url: String

    var directory: URL { device.directory }
    var spool: String { directory.appending(path: "spool").path }
    var config: String { directory.appending(path: "agent.yml").path }

    /// - Parameters:
    ///   - directory: Of the device.
    ///   - url: Of the bucket.
    ///   - forAgent: An agent makes the database.
    /// - Throws: Foundation's errors, SQLite's.
    init(_ directory: URL, url: String, forAgent: Bool = false) throws {
        device = forAgent ? try Device(empty: directory) : try Device(directory)
        self.url = url
        let text = """
            database: \(device.database)
            destination: \(url)
            push: { interval: 1s }
            transfer: { spool: \(spool) }
            collector: { flush-interval: 200ms, speed: 10 }
            lifecycle: { background-budget: 10s }
            log: { level: debug, format: logfmt }
            """
        try Data(text.utf8).write(to: URL(filePath: config))
    }

    /// One push that hands over.
    func handOver() async throws -> Push { try await device.push(to: url, ["--spool", spool]) }

    func handOver(fault: String) async throws -> Int32 {
        try await runProcess(
            Dormouse.binary,
            ["push", device.database, "--to", url, "--spool", spool],
            environment: ["DORMOUSE_FAULT": fault]
        ).status
    }

    /// One run of the transfer service, with its records.
    func transfer(
        to other: String? = nil,
        _ more: [String] = [],
        fault: String? = nil
    ) async throws -> (status: Int32, records: [LogRecord]) {
        let outcome = try await runProcess(
            Dormouse.binary,
            ["transfer", "--spool", spool, "--to", other ?? url] + more,
            environment: fault.map { ["DORMOUSE_FAULT": $0] } ?? [:]
        )
        let records = outcome.stderr.split(separator: "\n").map { LogRecord(String($0)) }
        return (outcome.status, records)
    }

    /// The transfer service beside a test.
    func startTransfer(to other: String? = nil, _ more: [String] = []) throws -> Child {
        try Child(
            Dormouse.binary,
            ["transfer", "--spool", spool, "--to", other ?? url] + more
        )
    }

    func names(_ directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "\(spool)/\(directory)").sorted()
    }

    /// Nothing is left of what was handed over.
    func expectEmptySpool(sourceLocation: SourceLocation = #_sourceLocation) throws {
        for directory in ["ready", "waiting", "files", "receipts", "tmp"] {
            let names = try names(directory)
            #expect(names.isEmpty, "\(directory): \(names)", sourceLocation: sourceLocation)
        }
    }

    /// What stock Litestream restores from a bucket is the source.
    func expectRestorable(
        _ bucket: String,
        _ comment: Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let restored = directory.appending(path: "restored-\(UUID().uuidString).db").path
        let outcome = try await runProcess(
            Peers.litestream,
            ["restore", "-o", restored, "file://\(bucket)"]
        )
        #expect(outcome.status == 0, "\(outcome.stderr)", sourceLocation: sourceLocation)
        let source = try await dump(device.database)
        #expect(try await dump(restored) == source, comment, sourceLocation: sourceLocation)
    }
}

extension FaultProxy {
    /// Bytes of all bodies that came from clients.
    var bodyBytes: Int64 { requests.reduce(0) { $0 + $1.bodyBytes } }
}
