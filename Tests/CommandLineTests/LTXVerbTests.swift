import Foundation
import TestSupport
import Testing

@Suite("dormouse ltx", .enabled(if: Shared.isPresent, Shared.missing))
struct LTXVerbTests {
    @Test("accepts every file of golden that looks odd and is valid")
    func odd() async throws {
        let items = Golden.files("ltx_ok")
        #expect(!items.isEmpty)
        let files = items.compactMap { $0["file"] as? String }
            .map { Shared.golden.appending(path: $0).path }
        let outcome = try await dormouse(["ltx", "verify"] + files)
        #expect(outcome.status == 0, "\(outcome.stdout)")
        #expect(outcome.stdout == files.map { "\($0): ok\n" }.joined())
    }

    @Test("info says what the manifest says")
    func info() async throws {
        let items = Golden.files("ltx_ok")
        let files = items.compactMap { $0["file"] as? String }
            .map { Shared.golden.appending(path: $0).path }
        let outcome = try await dormouse(["ltx", "info", "--json"] + files)
        #expect(outcome.status == 0)
        let list = try JSONSerialization.jsonObject(with: outcome.stdoutBytes)
        let results = try #require(list as? [[String: Any]])
        for (result, item) in zip(results, items) {
            let facts = try #require(item["facts"] as? [String: Any])
            let name = item["name"] as? String ?? ""
            for key in ["min_txid", "max_txid"] {
                #expect(result[key] as? String == facts[key] as? String, "\(name): \(key)")
            }
            for (ours, theirs) in [
                ("bytes", "size"), ("page_size", "page_size"), ("commit", "commit"),
                ("flags", "flags"), ("timestamp_ms", "timestamp_ms"),
            ] {
                #expect(result[ours] as? Int == facts[theirs] as? Int, "\(name): \(ours)")
            }
        }
    }

    @Test("what is no LTX file gets a line each, and the good ones are still shown")
    func unreadable() async throws {
        let good = Shared.golden.appending(path: "ltx-ok/literal-blocks.ltx").path
        for verb in ["info", "pages"] {
            let outcome = try await dormouse(["ltx", verb, "/nonexistent", "/tmp", good])
            #expect(outcome.status == 1)
            #expect(outcome.stderr.split(separator: "\n").count == 2, "\(outcome.stderr)")
            #expect(outcome.stdout.contains(good))
        }
    }
}
