import Bucket
import Configuration
import Foundation
import TestSupport
import Testing

@Suite("agent.yml: what is right")
struct AgentConfigTests {
    static let shipped = Shared.project.appending(path: "config/agent.yml")

    @Test("the shipped agent.yml holds every setting with its default")
    func shippedIsTheDefault() throws {
        let config = try AgentConfig.load(path: Self.shipped.path)
        let defaults = AgentConfig(
            database: "/var/lib/dormouse/health.db",
            destination: .directory("/var/backups/health")
        )
        #expect(config == defaults)
        let text = try String(contentsOf: Self.shipped, encoding: .utf8)
        for path in AgentConfig.knownPaths {
            let key = try #require(path.split(separator: ".").last)
            #expect(text.contains(key), "agent.yml does not mention \(path)")
        }
    }

    @Test("two settings are enough, and the rest is filled in")
    func leastConfiguration() throws {
        let config = try parse("database: /d/x.db\ndestination: file:///b%20x/\n")
        #expect(config.database == "/d/x.db")
        #expect(config.destination == .directory("/b x"))
        #expect(config.push.interval == .seconds(900))
        #expect(config.streams == AgentConfig.Stream.defaults)
    }

    @Test("every setting can be set, and each is one that is read")
    func everySetting() throws {
        var asked: Set<String> = []
        let config = try AgentConfig.parse(Array(good.utf8), file: "x.yml", asked: &asked)
        #expect(asked == Set(AgentConfig.knownPaths), "the list of keys and the reader differ")
        #expect(config.device == "strap:7")
        #expect(config.http.token == .file("/t"))
        #expect(config.http.authorities == "/ca.pem")
        #expect(config.http.client == .init(certificate: "/c.pem", key: "/k.pem"))
        #expect(config.http.connectTimeout == .seconds(2))
        #expect(config.http.idleTimeout == .seconds(3))
        #expect(config.http.requestTimeout == .seconds(86_400))
        #expect(config.push.interval == .seconds(5_400))
        #expect(!config.push.onStart)
        #expect(config.push.onConflict == .stop)
        #expect(config.checkpoint.pages == 250)
        #expect(config.checkpoint.pin == .yield)
        #expect(config.backlog.budget == 8_000_000)
        #expect(config.backlog.limit == 3 << 30)
        #expect(config.transfer.spool == "/s")
        #expect(config.transfer.start == .child)
        #expect(config.collector.flushInterval == .milliseconds(500))
        #expect(config.collector.speed == 2.5)
        #expect(config.log.level == .debug)
        #expect(config.log.format == .logfmt)
        #expect(config.control == "/run/x/control")
        #expect(config.lifecycle.backgroundBudget == .seconds(20))
        #expect(config.lifecycle.extensionTime == .seconds(5))
        #expect(config.lifecycle.extensions == 2)
        #expect(config.lifecycle.sharedContainer)
    }

    @Test("each kind of source is read with its settings")
    func sources() throws {
        let streams = try parse(good).streams
        #expect(streams.map(\.name) == ["heart_rate", "recorded", "banked", "old", "pulse"])
        #expect(streams[0].columns == [.init(name: "bpm", type: .integer)])
        #expect(streams[0].source == .simulated(.init(signal: .heartRate)))
        #expect(streams[1].columns == [.init(name: "bpm"), .init(name: "n", type: .integer)])
        #expect(streams[1].source == .csv(.init(file: "/r.csv", timeColumn: "t", speed: 60)))
        var banked = AgentConfig.Backfill(of: .simulated(.init(signal: .gravity, seed: .max)))
        banked.history = .seconds(36 * 3_600)
        banked.capacity = .seconds(48 * 3_600)
        banked.speed = 100
        banked.batchRows = 50
        #expect(streams[2].source == .backfill(banked))
        #expect(streams[3].source == .backfill(.init(of: .csv(.init(file: "/o.csv")))))
        // The collector's speed is a recording's unless it has its own.
        #expect(streams[4].source == .csv(.init(file: "/p.csv", speed: 2.5)))
    }

    @Test("the printed configuration reads back to the same", arguments: [good, least, odd])
    func printedReadsBack(text: String) throws {
        let config = try parse(text)
        #expect(try parse(config.yaml) == config)
    }

    @Test("JSON is YAML, too")
    func json() throws {
        let text = #"{"database": "/d", "destination": "/b", "push": {"interval": "1m"}}"#
        #expect(try parse(text).push.interval == .seconds(60))
    }

    private func parse(_ text: String) throws -> AgentConfig {
        try AgentConfig.parse(Array(text.utf8), file: "x.yml")
    }
}

private let least = "database: /d\ndestination: /b\n"

/// Paths and words that a careless printer would hand to YAML as something else.
private let odd = """
    database: "/d/a: b #c \\"quoted\\" \\\\ ’é"
    destination: "/b/*&!%@`"
    device: "12345"
    streams:
      - name: y
        columns: [a]
        source: { kind: csv, file: "/x/{y}, [z].csv", time-column: "- t" }
      - name: no
        columns: [on]
        source: { kind: csv, file: /1, time-column: "null", speed: 0.001 }
    """

/// A good configuration that uses every key.
let good = """
    database: /d/x.db
    destination: https://sink/db/x
    http:
      token-file: /t
      ca-file: /ca.pem
      client-certificate: /c.pem
      client-key: /k.pem
      connect-timeout: 2s
      idle-timeout: 3s
      request-timeout: 24h
    device: strap:7
    push: { interval: 1h30m, on-start: false, on-conflict: stop }
    checkpoint:
      pages: 250
      pin: yield
    backlog: { budget: 8MB, limit: 3GiB }
    transfer: { spool: /s, start: child }
    control: /run/x/control
    lifecycle: { background-budget: 20s, extension: 5s, extensions: 2, shared-container: true }
    collector:
      flush-interval: 500ms
      speed: 2.5
    streams:
      - name: heart_rate
        source: simulated
      - name: recorded
        columns: [bpm, { name: n, type: integer }]
        source: { kind: csv, file: /r.csv, time-column: t, speed: 60 }
      - name: banked
        columns: [x, y]
        source:
          kind: backfill
          signal: gravity
          seed: 18446744073709551615
          history: 36h
          capacity: 2d
          speed: 100
          batch-rows: 50
      - name: old
        columns: [a]
        source: { kind: backfill, file: /o.csv }
      - name: pulse
        columns: [a]
        source: { kind: csv, file: /p.csv }
    log: { level: debug, format: logfmt }
    """
