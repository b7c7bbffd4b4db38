import Foundation
import TestSupport
import Testing

/// Into a directory: no service manager is needed for these.
@Suite("scripts/install and scripts/uninstall", .timeLimit(.minutes(2)))
struct InstallTests {
    private func run(_ name: String, into root: URL) async throws -> String {
        var words = ["--destdir", root.path, "--prefix", "/usr"]
        if name == "install" { words += ["--binary", Dormouse.binary.path] }
        let script = Shared.project.appending(path: "scripts/\(name)")
        let outcome = try await runProcess(script, words)
        #expect(outcome.status == 0, "\(outcome.stderr)")
        return outcome.stdout
    }

    private func files(in root: URL) throws -> [String] {
        let all = try FileManager.default.subpathsOfDirectory(atPath: root.path)
        return all.filter { name in
            var isDirectory: ObjCBool = false
            let path = root.appending(path: name).path
            _ = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            return !isDirectory.boolValue
        }
    }

    @Test("everything is put below the prefix, and units name that prefix")
    func prefix() async throws {
        try await withTemporaryDirectory { root in
            let said = try await run("install", into: root)
            #expect(said.contains("installed: /usr/bin/dormouse\n"))
            let files = try files(in: root)
            #expect(files.contains("etc/dormouse/agent.yml"))
            #expect(files.contains("usr/lib/sysusers.d/dormouse.conf"))
            for name in files where name.hasSuffix(".service") {
                let text = try String(contentsOf: root.appending(path: name), encoding: .utf8)
                #expect(text.contains("ExecStart=/usr/bin/dormouse "))
                #expect(!text.contains("/usr/local/"))
            }
        }
    }

    @Test("once more changes nothing")
    func twice() async throws {
        try await withTemporaryDirectory { root in
            _ = try await run("install", into: root)
            let said = try await run("install", into: root)
            #expect(!said.contains("installed:"))
            #expect(!said.contains("updated:"))
        }
    }

    @Test("a configuration that was changed survives an update and the removal; nothing else does")
    func changedConfiguration() async throws {
        try await withTemporaryDirectory { root in
            _ = try await run("install", into: root)
            let config = root.appending(path: "etc/dormouse/agent.yml")
            let mine = Data("database: /mine.db\ndestination: /backup\n".utf8)
            try mine.write(to: config)
            let stranger = root.appending(path: "usr/lib/dormouse/not-ours")
            try Data().write(to: stranger)
            let program = root.appending(path: "usr/bin/dormouse")
            try Data("old".utf8).write(to: program)

            let again = try await run("install", into: root)
            #expect(again.contains("kept: /etc/dormouse/agent.yml"))
            #expect(again.contains("updated: /usr/bin/dormouse"))
            #expect(try Data(contentsOf: config) == mine)

            let said = try await run("uninstall", into: root)
            #expect(said.contains("kept: /etc/dormouse/agent.yml"))
            #expect(try Data(contentsOf: config) == mine)
            let left = try files(in: root)
            #expect(Set(left) == ["etc/dormouse/agent.yml", "usr/lib/dormouse/not-ours"])

            let nothing = try await run("uninstall", into: root)
            #expect(nothing.contains("nothing to do"))
        }
    }
}
