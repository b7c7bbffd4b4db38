import TestSupport
import Testing

@Suite("the help of each verb")
struct HelpTests {
    /// A verb, its arguments and options, and the statuses it can end with.
    struct Verb: Sendable, CustomTestStringConvertible {
        let name: String
        let words: [String]
        let statuses: [Int]

        init(_ name: String, _ words: [String], _ statuses: [Int] = [0, 1, 2]) {
            self.name = name
            self.words = words
            self.statuses = statuses
        }

        var testDescription: String { name }
    }

    static let server = [
        "--token-file FILE", "--ca-file FILE", "--client-certificate FILE", "--client-key FILE",
    ]
    static let replication =
        server + ["--checkpoint-pages N", "--pin MODE", "--on-conflict POLICY"]

    static let verbs = [
        Verb(
            "agent",
            [
                "--config FILE", "--database FILE", "--to URL", "--source WHAT", "--speed N",
                "--flush-interval TIME", "--interval TIME", "--log-level LEVEL",
            ] + replication
        ),
        Verb(
            "chaos run",
            [
                "SCENARIO", "--json", "--html FILE", "--seed N", "--full", "--quiet",
                "--directory DIR", "--unit NAME", "--config FILE", "--proxy PORT:PORT",
                "--mirror FILE",
            ]
        ),
        Verb("chaos check", ["SCENARIO", "--seed N", "--full", "--print"]),
        Verb("chaos list", ["DIR"]),
        Verb("config check", ["FILE", "--json", "--print"]),
        Verb("ctl", ["REQUEST", "--socket PATH", "--config FILE", "--database FILE"]),
        Verb("demo", ["--samples FILE", "--speed N", "--directory DIR"]),
        Verb("ltx info", ["FILE", "--json"]),
        Verb("ltx pages", ["FILE", "--json"]),
        Verb("ltx verify", ["FILE", "--json"]),
        Verb("ltx cat", ["FILE", "-p, --page N"]),
        Verb("push", ["DB", "--to URL", "--json", "--spool DIR"] + replication, [0, 1, 2, 3, 75]),
        Verb("replicate", ["DB", "--to URL", "--interval TIME"] + replication),
        Verb(
            "restore",
            [
                "URL", "-o, --output FILE", "--txid TXID", "--timestamp TIME",
                "--integrity-check HOW", "--verbatim", "--force", "--json",
            ] + server,
            [0, 1, 2, 3, 75]
        ),
        Verb(
            "sink",
            [
                "--config FILE", "--data DIR", "--listen ADDR:PORT", "--token-file FILE",
                "--read-only-token-file FILE", "--tls-certificate FILE", "--tls-key FILE",
                "--disk-reserve SIZE", "--freshness-query SQL", "--no-resume",
                "--log-level LEVEL",
            ]
        ),
        Verb(
            "transfer",
            ["--config FILE", "--spool DIR", "--to URL", "--budget TIME", "--once"] + server,
            [0, 1, 2, 3, 75]
        ),
        Verb("verify", ["DB", "URL", "--fast", "--json"] + server, [0, 1, 2, 3, 75]),
        Verb("status", ["DB|URL", "--json"] + server, [0, 1, 2, 3]),
    ]

    @Test("has usage, every option, an example and the statuses", arguments: verbs)
    func page(verb: Verb) async throws {
        let outcome = try await dormouse(verb.name.split(separator: " ").map(String.init) + ["-h"])
        #expect(outcome.status == 0)
        #expect(outcome.stderr == "")
        let page = outcome.stdout
        #expect(page.hasPrefix("usage: dormouse \(verb.name)"))
        for word in verb.words + ["-h, --help"] {
            let stands = page.split(separator: "\n").contains { line in
                line.hasPrefix("  ") && line.drop { $0 == " " }.hasPrefix(word)
            }
            #expect(stands, "\(word) is not explained")
        }
        #expect(page.contains("\nexample"))
        #expect(page.contains("\n  dormouse \(verb.name) "))
        let status = try #require(page.split(separator: "\n").last)
        let codes = status.matches(of: /\b\d+\b/).compactMap { Int($0.output) }
        #expect(codes == verb.statuses, "\(status)")
    }

    @Test("explains no option that is not in this table")
    func complete() async throws {
        for verb in Self.verbs {
            let words = verb.name.split(separator: " ").map(String.init) + ["--help"]
            let page = try await dormouse(words).stdout
            let options = page.matches(of: /(?m)^ +(?:-\w, )?--([a-z-]+)/).map { $0.output.1 }
            let known = verb.words.flatMap { $0.matches(of: /--([a-z-]+)/).map { $0.output.1 } }
            #expect(Set(options) == Set(known + ["help"]), "\(verb.name)")
        }
    }

    @Test("is there for every verb in the list, and the list has every verb")
    func list() async throws {
        let list = try await succeed("--help")
        let listed = list.split(separator: "\n").drop { $0 != "verbs:" }.dropFirst()
            .prefix { $0.hasPrefix("  ") }
            .map { $0.dropFirst(2).prefix(24).split(separator: "  ")[0] }
        #expect(Set(listed.map(String.init)) == Set(Self.verbs.map(\.name)))
    }
}
