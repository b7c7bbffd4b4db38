import Bucket
import Chaos
import CommandLineKit
import DurableFiles
import Glibc
import LTXCodec
import Replica
import Replication
import SQLiteBridge

/// One life of a device and its sink, short: collect, push, suspend, kill in a push, recover,
/// verify.
struct DemoRun {
    let directory: String
    let samples: String
    let speed: Double
    let console: Console

    private var database: String { Path.join(directory, "health.db") }
    private var sinkData: String { Path.join(directory, "sink") }
    private var bucket: String { Path.join(sinkData, "health/bucket") }
    private var mirror: String { Path.join(sinkData, "health/mirror.sqlite") }
    private var restored: String { Path.join(directory, "restored.db") }

    /// What was counted on the way.
    private struct Tally {
        var launches = 0
        var pushes = 0
        var snapshots = 0
        var forcedSnapshots = 0
        var rescans = 0
    }

    /// Runs it and prints what happens.
    ///
    /// - Returns: `failed` if anything was lost, or shipped that need not be.
    func run() async throws -> ExitCode {
        var tally = Tally()
        try say("collecting \(Path.name(of: samples)) at \(Int(speed))x into \(database)")
        let sink = try ChildProcess(["sink", "--data", sinkData, "--listen", "127.0.0.1:0"])
        let url = try await url(of: sink)
        try say("pushing to \(url)")

        // The step of the file system at which it dies is in the middle of some push: nothing
        // else of the agent passes such steps.
        let first = try launch(&tally, to: url, fault: "130:kill")
        try await follow(first, &tally, pushes: 4)
        first.send(SIGSTOP)
        try say("-- suspended (SIGSTOP)")
        try await Task.sleep(for: .seconds(2))
        first.send(SIGCONT)
        try say("-- resumed (SIGCONT)")
        try await follow(first, &tally, pushes: .max)
        try expect(await first.wait().signal == SIGKILL, "the agent was not killed in a push")
        try say("-- killed in the middle of a push (SIGKILL)")

        let second = try launch(&tally, to: url)
        try await follow(second, &tally, pushes: 3)
        second.send(SIGKILL)
        _ = await second.wait()
        try say("-- killed again (SIGKILL)")

        let third = try launch(&tally, to: url)
        try await follow(third, &tally, pushes: .max, untilSourceEnds: true)
        third.send(SIGTERM)
        try await follow(third, &tally, pushes: .max)
        let end = await third.wait()
        try expect(end.signal == nil && end.status == 0, "the agent did not end well: \(end)")
        try say("-- stopped (SIGTERM), after a last flush and push")
        sink.send(SIGTERM)
        let sinkEnd = await sink.wait()
        try expect(
            sinkEnd.signal == nil && sinkEnd.status == 0,
            "the sink did not end well: \(sinkEnd)"
        )

        return try await conclude(tally)
    }

    // MARK: The agent

    private func launch(
        _ tally: inout Tally,
        to url: String,
        fault: String? = nil
    ) throws -> ChildProcess {
        tally.launches += 1
        try say("-- agent started (launch \(tally.launches))")
        return try ChildProcess(
            [
                "agent", "--database", database, "--to", url, "--source", samples,
                "--speed", "\(speed)", "--flush-interval", "100ms", "--interval", "1s",
            ],
            environment: fault.map { ["DORMOUSE_FAULT": $0] } ?? [:]
        )
    }

    /// Waits until a sink listens, and says where its database is.
    private func url(of sink: ChildProcess) async throws -> String {
        while let record = await sink.nextRecord() {
            if let address = record["address"] { return "http://\(address)/db/health" }
        }
        throw CommandFailure("demo: the sink did not start")
    }

    /// Prints a line for each push until there were so many, the source ends, or the process.
    private func follow(
        _ agent: ChildProcess,
        _ tally: inout Tally,
        pushes: Int,
        untilSourceEnds: Bool = false
    ) async throws {
        var left = pushes
        while left > 0, let record = await agent.nextRecord() {
            switch record["kind"] {
            case "push":
                left -= 1
                try show(record, &tally)
            case "flush" where untilSourceEnds && record["stream"] != nil:
                return
            default: break
            }
        }
    }

    private func show(_ record: [String: String], _ tally: inout Tally) throws {
        tally.pushes += 1
        var kind = record["sync_kind"] ?? ""
        switch kind {
        case "snapshot":
            tally.snapshots += 1
            if record["snapshot_reason"] != "first" { tally.forcedSnapshots += 1 }
            kind += " (\(record["snapshot_reason"] ?? ""))"
        case "rescan": tally.rescans += 1
        default: break
        }
        let bytes = Int64(record["bytes"] ?? "") ?? 0
        let wal = Int64(record["wal_bytes"] ?? "") ?? 0
        try say(
            "push  txid \(record["txid"] ?? "?")  "
                + "\(padded(record["pages"] ?? "?", 4)) pages  "
                + "\(padded(HumanText.bytes(bytes), 8))  "
                + "WAL \(padded(HumanText.bytes(wal), 8))  "
                + "\(kind)  \(record["outcome"] ?? "?")"
                + (record["detail"].map { ": \($0)" } ?? "")
        )
    }

    // MARK: The end

    private func conclude(_ tally: Tally) async throws -> ExitCode {
        let client = DirectoryBucket(bucket)
        let summary = try await Restore(bucket: client, output: restored).run()
        let report = try await SourceCheck.run(database: database, bucket: client).verification
        let written = try rows(in: database)
        let back = try rows(in: restored)
        let mirrored = try rows(in: mirror)
        let mirrorIsEqual = try FileComparison.isSameDatabase(mirror, restored)
        let shipped = try await client.listAll().reduce(0) { $0 + $1.sizeInBytes }

        var table = Table([.init("", .left), .init("", .right)])
        func row(_ name: String, _ value: String) { table.add([name, value]) }
        row("rows written", HumanText.count(written))
        row("rows in the mirror", HumanText.count(mirrored))
        row("rows restored", HumanText.count(back))
        row("pages compared", HumanText.count(report.pagesCompared))
        row("pages that differ", HumanText.count(report.differingCount))
        row("launches", HumanText.count(tally.launches))
        row("pushes", HumanText.count(tally.pushes))
        row("forced snapshots", HumanText.count(tally.forcedSnapshots))
        row("rescans", HumanText.count(tally.rescans))
        row("bytes shipped", HumanText.bytes(shipped))
        row("database size", HumanText.bytes(summary.sizeInBytes))
        try console.out.write(table.text)
        try console.out.flush()

        let isGood =
            written == back && written == mirrored && written > 0 && report.isEqual
            && mirrorIsEqual && tally.forcedSnapshots == 0
        try say(isGood ? "nothing was lost" : "SOMETHING WENT WRONG: look into \(directory)")
        return isGood ? .done : .failed
    }

    private func rows(in path: String) throws -> Int64 {
        let connection = try Connection(path: path, mode: .readOnly)
        return try connection.value("SELECT count(*) FROM sample_recorded")?.integer ?? 0
    }

    private func expect(_ condition: Bool, _ complaint: String) throws {
        guard condition else { throw CommandFailure("demo: \(complaint)") }
    }

    private func padded(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    private func say(_ line: String) throws {
        try console.out.print(line)
    }
}
