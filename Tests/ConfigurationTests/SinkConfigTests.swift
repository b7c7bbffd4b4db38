import Configuration
import Foundation
import TestSupport
import Testing
import Wire

@Suite("sink.yml: what is right")
struct SinkConfigTests {
    static let shipped = Shared.project.appending(path: "config/sink.yml")

    @Test("the shipped sink.yml holds every setting with its default")
    func shippedIsTheDefault() throws {
        let config = try SinkConfig.load(path: Self.shipped.path)
        #expect(config == SinkConfig(data: "/var/lib/dormouse-sink"))
        let text = try String(contentsOf: Self.shipped, encoding: .utf8)
        for path in SinkConfig.knownPaths {
            let key = try #require(path.split(separator: ".").last)
            #expect(text.contains("\(key):"), "sink.yml does not mention \(path)")
        }
    }

    @Test("what the shipped sink.yml shows in comments can be used as it stands")
    func examplesAreRight() throws {
        let text = try String(contentsOf: Self.shipped, encoding: .utf8)
        let settings = /^# ( *(- )?[a-z-]+:( .*)?)$/
        let lines = text.split(separator: "\n").map { line -> Substring in
            // One place for a token is enough.
            if line.contains("-credential:") { return "" }
            return line.wholeMatch(of: settings)?.1 ?? line
        }
        let config = try SinkConfig.parse(Array(lines.joined(separator: "\n").utf8), file: "s.yml")
        #expect(config.tls != nil && config.tokens.readOnly != nil)
        #expect(config.databases.first?.newestSample?.hasPrefix("SELECT") == true)
    }

    @Test("every setting can be set, and each is one that is read")
    func everySetting() throws {
        var asked: Set<String> = []
        let config = try SinkConfig.parse(Array(goodSink.utf8), file: "s.yml", asked: &asked)
        #expect(asked == Set(SinkConfig.knownPaths), "the list of keys and the reader differ")
        #expect(config.data == "/srv/data")
        #expect(config.listen == ListenAddress(host: "::", port: 443))
        #expect(config.tls == .init(certificate: "/c.pem", key: "/k.pem"))
        #expect(config.tokens.readWrite == .file("/t"))
        #expect(config.tokens.readOnly == .credential("reader"))
        #expect(config.limits.upload == 3 << 30)
        #expect(config.limits.uploads == 4)
        #expect(config.limits.connections == 99)
        #expect(config.limits.idleTimeout == .seconds(5))
        #expect(config.limits.bodyTimeout == .seconds(90))
        #expect(config.lease.ttl == .seconds(3_600))
        #expect(config.disk.reserve == .share(250))
        #expect(config.databases.map(\.name.description) == ["health", "empty"])
        #expect(config.databases[0].newestSample == "SELECT max(t) FROM s")
        #expect(config.databases[1].newestSample == nil)
        #expect(config.newestSampleQuery(of: config.databases[0].name) == "SELECT max(t) FROM s")
        #expect(config.newestSampleQuery(of: config.databases[1].name) == "SELECT 7")
        #expect(config.log.level == .debug && config.log.format == .logfmt)
    }

    @Test(
        "the printed configuration reads back to the same",
        arguments: [
            goodSink, "data: /d", "data: /d\ndisk: { reserve: 1.05% }",
            "data: /d\ndisk: { reserve: 0 }", "data: /d\ntokens: { read-only-file: /a }",
        ]
    )
    func printedReadsBack(text: String) throws {
        let config = try SinkConfig.parse(Array(text.utf8), file: "s.yml")
        #expect(try SinkConfig.parse(Array(config.yaml.utf8), file: "t.yml") == config)
    }

    @Test(
        "the kind of a file is told by its settings",
        arguments: [
            ("data: /d", true), ("listen: 127.0.0.1:1\nlog: { level: info }\ndata: /d", true),
            ("database: /d\ndestination: /b", false),
        ]
    )
    func kinds(text: String, isSink: Bool) throws {
        switch try AnyConfig.parse(Array(text.utf8), file: "x.yml") {
        case .agent: #expect(!isSink)
        case .sink: #expect(isSink)
        }
    }

    @Test("a file that tells nothing is checked as an agent's")
    func undecided() {
        let error = #expect(throws: ConfigurationError.self) {
            try AnyConfig.parse(Array("log: { level: info }".utf8), file: "x.yml")
        }
        #expect(error?.lines.first == "x.yml: database: is required and not set")
    }
}

@Suite("sink.yml: what is wrong")
struct SinkRefusalTests {
    @Test("every problem is told with its line", arguments: Refusal.ofSinks)
    func refuses(refusal: Refusal) {
        let error = #expect(throws: ConfigurationError.self) {
            try SinkConfig.parse(refusal.bytes, file: "s.yml")
        }
        #expect(error?.lines == refusal.lines)
    }

    @Test("a mutated file is read or refused, never a trap", arguments: 0..<32 as Range<UInt64>)
    func mutations(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<40 {
            var bytes = Array(goodSink.utf8)
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                if Bool.random(using: &random) {
                    bytes[place] = UInt8.random(in: 0...255, using: &random)
                } else {
                    bytes.remove(at: place)
                }
            }
            do {
                let config = try SinkConfig.parse(bytes, file: "s.yml")
                let again = try SinkConfig.parse(Array(config.yaml.utf8), file: "t.yml")
                #expect(again == config, "seed \(seed): \(String(decoding: bytes, as: UTF8.self))")
            } catch {
                #expect(!error.problems.isEmpty)
            }
        }
    }
}

/// A good configuration that uses every key but those of which one is enough.
let goodSink = """
    data: /srv/data/
    listen: "[::]:443"
    tls: { certificate: /c.pem, key: /k.pem }
    tokens: { read-write-file: /t, read-only-credential: reader }
    limits:
      upload: 3GiB
      uploads: 4
      connections: 99
      idle-timeout: 5s
      body-timeout: 1m30s
    lease: { ttl: 1h }
    disk: { reserve: 2.5% }
    freshness: { query: SELECT 7 }
    databases:
      - name: health
        freshness: { query: SELECT max(t) FROM s }
      - name: empty
    log: { level: debug, format: logfmt }
    """

extension Refusal {
    static let ofSinks = [
        Refusal(
            "nothing of a sink",
            whole: "log: { level: info }",
            "s.yml: data: is required and not set"
        ),
        Refusal(
            "directories that are none",
            whole: "data: sink",
            "s.yml:1: data: \"sink\" must be an absolute path: a sink has no directory of its own"
        ),
        Refusal(
            "the root as data",
            whole: "data: //",
            "s.yml:1: data: is the root of the file system"
        ),
        Refusal(
            "an address without a port",
            whole: "data: /d\nlisten: 127.0.0.1",
            "s.yml:2: listen: \"127.0.0.1\" has no port: write 127.0.0.1:9736"
        ),
        Refusal(
            "a port that is none",
            whole: "data: /d\nlisten: 127.0.0.1:65536",
            "s.yml:2: listen: \"127.0.0.1:65536\" has no port from 0 to 65535 behind its last colon"
        ),
        Refusal(
            "a name for an address",
            whole: "data: /d\nlisten: localhost:80",
            "s.yml:2: listen: \"localhost:80\" must begin with a numeric address, such as 127.0.0.1"
                + " or [::1]"
        ),
        Refusal(
            "IPv6 without brackets",
            whole: "data: /d\nlisten: ::1:80",
            "s.yml:2: listen: \"::1:80\" needs [brackets] around an IPv6 address"
        ),
        Refusal(
            "open to others without a token",
            whole: "data: /d\nlisten: 0.0.0.0:80",
            "s.yml:2: listen: 0.0.0.0:80 can be reached from other machines: name a token under"
                + " \"tokens\""
        ),
        Refusal(
            "open to others with no token named",
            whole: "data: /d\nlisten: 10.0.0.1:80\ntokens: {}",
            "s.yml:3: tokens: 10.0.0.1:80 can be reached from other machines: name a token under"
                + " \"tokens\""
        ),
        Refusal(
            "half a certificate",
            whole: "data: /d\ntls: { certificate: /c.pem }",
            "s.yml:2: tls.key: is required and not set"
        ),
        Refusal(
            "two places for one token",
            whole: "data: /d\ntokens: { read-write-file: /t,\n  read-write-credential: t }",
            "s.yml:3: tokens.read-write-credential: is set beside \"read-write-file\": one of them"
                + " is enough"
        ),
        Refusal(
            "one token for both",
            whole: "data: /d\ntokens: { read-write-file: /t, read-only-file: /t }",
            "s.yml:2: tokens: both tokens are /t: one that may write cannot be read-only"
        ),
        Refusal(
            "a credential with a way out, and a token in the file",
            whole: "data: /d\ntokens:\n  read-only-credential: ../x\n  token: abc",
            "s.yml:3: tokens.read-only-credential: \"../x\" must be the name of a credential,"
                + " without a slash",
            "s.yml:4: tokens.token: is not supported: a token is never written into the file: name"
                + " a file or a credential under \"tokens\""
        ),
        Refusal(
            "limits that are none",
            whole: """
                data: /d
                limits:
                  upload: 1kB
                  uploads: -1
                  connections: many
                  idle-timeout: 60
                  body-timeout: 0s
                """,
            "s.yml:3: limits.upload: \"1kB\" is out of range: 1MiB to 1PiB",
            "s.yml:4: limits.uploads: \"-1\" is out of range: 0 to 1000",
            "s.yml:5: limits.connections: must be a whole number, not \"many\"",
            "s.yml:6: limits.idle-timeout: \"60\" has no unit: write 60s for seconds",
            "s.yml:7: limits.body-timeout: \"0s\" is out of range: 1s to 1h"
        ),
        Refusal(
            "a lease for a moment",
            whole: "data: /d\nlease: { ttl: 1s }",
            "s.yml:2: lease.ttl: \"1s\" is out of range: 1m to 8760h"
        ),
        Refusal(
            "a share of more than there is",
            whole: "data: /d\ndisk: { reserve: 91% }",
            "s.yml:2: disk.reserve: \"91%\" is not a share from 0% to 90% such as 5% or 2.5%"
        ),
        Refusal(
            "a reserve that is no size",
            whole: "data: /d\ndisk: { reserve: much }",
            "s.yml:2: disk.reserve: \"much\" is not a size such as 4096, 64KiB, 64MiB or 1GB"
        ),
        Refusal(
            "databases that are none",
            whole: """
                data: /d
                databases:
                  - name: a/b
                  - name: x
                  - name: x
                    freshness: { quarry: SELECT 1 }
                  - y
                """,
            "s.yml:3: databases[0].name: \"a/b\" must be 1 to 64 of A-Z a-z 0-9 _ -",
            "s.yml:5: databases[2].name: \"x\" is the name of the database on line 4 already",
            "s.yml:6: databases[2].freshness.query: is required and not set",
            "s.yml:6: databases[2].freshness.quarry: unknown key: did you mean \"query\"?",
            "s.yml:7: databases[3]: must be a group of settings, not \"y\""
        ),
        Refusal(
            "a setting of the other file, and one at the wrong level",
            whole: "data: /d\ndestination: /b\nttl: 1h",
            "s.yml:2: destination: is not supported: that is a setting of agent.yml: a sink is a"
                + " destination",
            "s.yml:3: ttl: is at the wrong level: it belongs under \"lease\""
        ),
    ]
}
