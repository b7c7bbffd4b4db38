import Foundation
import Telemetry
import TestSupport
import Testing

/// A box in which an agent and a sink are installed and configured as on a machine, only faster.
struct Stage: Sendable {
    static let agent = "dormouse-agent.service"
    static let database = "/var/lib/dormouse/health.db"
    static let destination = "http://127.0.0.1:9736/db/health"
    static let token = "only-for-this-box"
    /// An actor hangs while this file exists.
    static let wedge = "/run/dormouse-wedge"

    let box: Box

    /// The one that most tests share.
    static func shared() async throws -> Stage { try await sharedTask.value }
    private static let sharedTask = Task { try await Stage() }

    /// A fresh one: installed, the sink running, the agent not yet started.
    init() async throws {
        box = try await Box()
        try await box.run(
            """
            mkdir -p /var/lib/dormouse
            mount -t tmpfs -o size=400m tmpfs /var/lib/dormouse
            cd '\(Shared.project.path)'
            scripts/install --binary '\(Dormouse.binary.path)'
            umask 077
            echo '\(Self.token)' >/etc/credstore/dormouse.sink-token
            """
        )
        try await box.write(Self.agentConfig, to: "/etc/dormouse/agent.yml")
        try await box.write(Self.sinkConfig, to: "/etc/dormouse/sink.yml")
        try await dropIn(
            "faster",
            """
            WatchdogSec=3s
            TimeoutAbortSec=2s
            Environment=DORMOUSE_WEDGE=replicator DORMOUSE_WEDGE_FILE=\(Self.wedge)
            """
        )
        try await box.run("systemctl start dormouse-sink")
    }

    static let agentConfig = """
        database: \(database)
        destination: \(destination)
        control: /run/dormouse-agent/control
        http: { token-credential: sink-token }
        push: { interval: 1s }
        collector: { flush-interval: 200ms, speed: 60 }
        log: { level: debug }

        """

    static let sinkConfig = """
        data: /var/lib/dormouse-sink
        tokens: { read-write-credential: sink-token }

        """

    // MARK: The service

    /// Sets something in a unit, in force with its next start.
    func dropIn(
        _ name: String,
        _ settings: String,
        _ unit: String = "dormouse-agent"
    ) async throws {
        let directory = "/etc/systemd/system/\(unit).service.d"
        try await box.write("[Service]\n\(settings)\n", to: "\(directory)/\(name).conf")
        try await box.run("systemctl daemon-reload")
    }

    func removeDropIn(_ name: String, _ unit: String = "dormouse-agent") async throws {
        try await box.run(
            "rm /etc/systemd/system/\(unit).service.d/\(name).conf; systemctl daemon-reload"
        )
    }

    func property(_ name: String, of unit: String = Stage.agent) async throws -> String {
        try await box.run("systemctl show -P \(name) \(unit)")
    }

    /// Starts the agent if it does not run, and waits for a push that worked.
    ///
    /// - Returns: A place in the journal behind that push.
    @discardableResult
    func start() async throws -> Int {
        let mark = try await box.mark()
        try await box.run("systemctl start dormouse-agent")
        try await box.entry(after: mark, Self.pushed)
        return try await box.mark()
    }

    static let pushed: KeyValuePairs = [
        "MESSAGE_ID": RecordKind.push.messageID.description, "DORMOUSE_OUTCOME": "pushed",
    ]

    /// Random bytes into the agent's database, by another program that leaves the WAL alone.
    func insert(megabytes: Int) async throws {
        try await box.run(
            """
            setpriv --reuid=dormouse --regid=dormouse --clear-groups \
            sqlite3 -cmd '.timeout 10000' -cmd 'PRAGMA wal_autocheckpoint=0' \(Self.database) '
                CREATE TABLE IF NOT EXISTS bulk(bytes);
                DELETE FROM bulk;
                INSERT INTO bulk
                    SELECT randomblob(1048576) FROM generate_series(1, \(megabytes));'
            """
        )
    }

    /// Runs the body while a large upload is under way over a slow link.
    ///
    /// - Parameters:
    ///   - megabytes: What is inserted and has to be uploaded.
    ///   - begin: What makes the agent push, if it does not by itself.
    ///   - body: What to do then.
    /// - Throws: What the body throws, or that a command failed.
    func duringUpload(
        megabytes: Int = 8,
        begunBy begin: String = "true",
        _ body: () async throws -> Void
    ) async throws {
        try await box.run(
            "tc qdisc add dev lo root tbf rate 16mbit burst 128kb latency 400ms"
        )
        do {
            try await insert(megabytes: megabytes)
            try await box.run(begin)
            try await box.eventually(Self.isUploading)
            try await body()
        } catch {
            try await box.run("tc qdisc del dev lo root")
            throw error
        }
        try await box.run("tc qdisc del dev lo root")
    }

    /// More is on its way to the sink than there is in any request but an upload.
    private static let isUploading = """
        ss --tcp --numeric --no-header state established dport = 9736 |
            awk '$2 > 200000 { found = 1 } END { exit !found }'
        """

    // MARK: The end of every story

    /// Stops the agent in peace and demands: nothing lost, one snapshot, three equal copies.
    func expectNothingLost(
        snapshots: Int = 1,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        // The last push before the end ships what is owed, and fails the unit if it cannot.
        try await box.run("systemctl start dormouse-agent; systemctl stop dormouse-agent")
        let result = try await property("Result")
        #expect(result == "success", sourceLocation: sourceLocation)

        let pushes = try await box.entries([
            "MESSAGE_ID": RecordKind.push.messageID.description,
            "DORMOUSE_SYNC_KIND": "snapshot", "DORMOUSE_OUTCOME": "pushed",
        ])
        let forced = try await box.entries([
            "MESSAGE_ID": RecordKind.snapshot.messageID.description
        ])
        #expect(pushes.count <= snapshots, sourceLocation: sourceLocation)
        #expect(forced.count <= snapshots, "\(forced)", sourceLocation: sourceLocation)

        // What could not be flushed and is kept has rows, too.
        let flushed = try await box.entries([
            "MESSAGE_ID": RecordKind.flush.messageID.description,
            "MESSAGE": "samples flushed",
        ]).compactMap { $0["DORMOUSE_ROWS"].flatMap { Int($0) } }.reduce(0, +)
        let text = try await box.run(
            """
            cd /root
            rm -f source.db* restored.db* mirror.db*
            cp /etc/credstore/dormouse.sink-token token
            dormouse verify \(Self.database) \(Self.destination) --token-file token >&2
            dormouse restore \(Self.destination) -o restored.db --token-file token >&2
            # Copies, since whoever closes a database last takes its WAL away.
            cp \(Self.database) source.db
            cp \(Self.database)-wal source.db-wal
            cp /var/lib/dormouse-sink/health/mirror.sqlite mirror.db
            for db in source.db restored.db mirror.db; do
                sqlite3 "$db" .dump | sha256sum
            done | sort -u | wc -l
            sqlite3 restored.db '
                SELECT (SELECT count(*) FROM sample_heart_rate)
                    + (SELECT count(*) FROM sample_rr_interval)
                    + (SELECT count(*) FROM sample_gravity)'
            """,
            sourceLocation: sourceLocation
        )
        let numbers = text.split(separator: "\n").compactMap { Int($0) }
        try #require(numbers.count == 2, "\(text)", sourceLocation: sourceLocation)
        #expect(numbers[0] == 1, "three copies differ", sourceLocation: sourceLocation)
        #expect(flushed > 0, sourceLocation: sourceLocation)
        #expect(numbers[1] >= flushed, "rows were lost", sourceLocation: sourceLocation)
    }
}
