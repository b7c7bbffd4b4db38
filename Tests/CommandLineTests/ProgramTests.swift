import Foundation
import SQLiteBridge
import TestSupport
import Testing

@Suite("the built program")
struct ProgramTests {
    static let goodFile = Shared.golden.appending(path: "ltx-ok/both-encodings.ltx").path
    static let badFile = Shared.golden.appending(path: "ltx-bad/file-checksum-bit.ltx").path

    @Test("--version names SQLite, too")
    func version() async throws {
        let result = try await Dormouse.run("--version")
        #expect(result.status == 0)
        #expect(result.stdout.contains(/^dormouse \d+\.\d+\.\d+, SQLite 3\.\d+\.\d+\n$/))
    }

    @Test("usage, configuration and failure end with different statuses")
    func statuses() async throws {
        #expect(try await Dormouse.run().status == 2)
        #expect(try await Dormouse.run("ltx", "info").status == 2)
        #expect(try await Dormouse.run("ltx", "info", "/nonexistent").status == 1)
        #expect(try await Dormouse.run("config", "check", "/nonexistent").status == 2)
        #expect(try await Dormouse.run("ltx", "verify", "/dev/null").status == 1)
    }

    @Test("an option behind the file counts, also when POSIX order is asked for")
    func optionBehind() async throws {
        let config = Shared.project.appending(path: "config/agent.yml").path
        let result = try await Dormouse.run(
            "config",
            "check",
            config,
            "--json",
            environment: ["POSIXLY_CORRECT": "1"]
        )
        #expect(result.status == 0)
        let report =
            try JSONSerialization.jsonObject(with: result.stdoutBytes) as? [String: Any]
        #expect(report?["ok"] as? Bool == true)
    }

    @Test("started without standard streams, what it opens does not get their numbers")
    func closedStreams() async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase()
            let script = #"exec "$0" replicate "$1" --to "$2" <&- >&- 2>&-"#
            let child = try Child(
                URL(filePath: "/bin/sh"),
                ["-c", script, Dormouse.binary.path, scratch.database, scratch.bucket]
            )
            let first = scratch.bucket + "/ltx/0/0000000000000001-0000000000000001.ltx"
            while !FileManager.default.fileExists(atPath: first) {
                try await Task.sleep(for: .milliseconds(20))
            }
            for number in 0...2 {
                let target = try FileManager.default.destinationOfSymbolicLink(
                    atPath: "/proc/\(child.id)/fd/\(number)"
                )
                #expect(target == "/dev/null", "\(number)")
            }
            child.send(SIGTERM)
            #expect(try await child.end() == 0)
            try app.close()
        }
    }

    @Test("a limit on the size of files is an error with words, and leaves nothing behind")
    func fileSizeLimit() async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase(rows: 1_000)
            let limited = #"ulimit -f 64; exec "$0" "$@""#
            func run(_ words: String...) async throws -> ProcessOutcome {
                try await runProcess(
                    URL(filePath: "/bin/sh"),
                    ["-c", limited, Dormouse.binary.path] + words
                )
            }
            let push = try await run("push", scratch.database, "--to", scratch.bucket)
            #expect(push.status == 75, "\(push)")
            #expect(push.stderr.contains("File too large"), "\(push.stderr)")
            try await succeed("push", scratch.database, "--to", scratch.bucket)
            let restore = try await run("restore", scratch.bucket, "-o", scratch.path("out.db"))
            #expect(restore.status == 1, "\(restore)")
            #expect(restore.stderr.contains("File too large"), "\(restore.stderr)")
            #expect(try scratch.names().filter { $0.hasPrefix("out.db") }.isEmpty)
            try app.close()
        }
    }

    @Test("a report that cannot be written is refused before the run, not after it")
    func unwritableReport() async throws {
        try await withTemporaryDirectory { directory in
            let scenario = directory.appending(path: "long.yml")
            try Data("about: An hour.\nsteps: [ foreground: 1h ]\n".utf8).write(to: scenario)
            let page = directory.appending(path: "missing/report.html").path
            let outcome = try await Dormouse.run("chaos", "run", scenario.path, "--html", page)
            #expect(outcome.status == 1)
            #expect(outcome.stderr.contains("missing/report.html"), "\(outcome.stderr)")
        }
    }

    @Test("a database whose name looks like a URI is a file")
    func nameLikeURI() async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase()
            try app.close()
            try FileManager.default.moveItem(
                atPath: scratch.database,
                toPath: scratch.path("file:x.db")
            )
            for suffix in ["-wal", "-shm"] {
                try? FileManager.default.moveItem(
                    atPath: scratch.database + suffix,
                    toPath: scratch.path("file:x.db" + suffix)
                )
            }
            let outcome = try await runProcess(
                URL(filePath: "/bin/sh"),
                [
                    "-c", #"cd "$1"; exec "$0" push file:x.db --to bucket"#,
                    Dormouse.binary.path, scratch.directory.path,
                ]
            )
            #expect(outcome.status == 0, "\(outcome.stderr)")
            #expect(!(try scratch.names().contains("x.db")))
        }
    }

    @Test("config check tells every problem as file:line, in text and in JSON")
    func configCheck() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "a.yml")
            try Data("database: /d\ndestination: /b\npush: { intervall: 1m }\n".utf8).write(
                to: file
            )
            let text = try await Dormouse.run("config", "check", file.path)
            #expect(text.status == 2)
            let message = "unknown key: did you mean \"interval\"?"
            #expect(text.stdout == "\(file.path):3: push.intervall: \(message)\n")
            let json = try await Dormouse.run("config", "check", "--json", file.path)
            let report = try JSONSerialization.jsonObject(with: json.stdoutBytes) as? NSDictionary
            #expect(
                report == [
                    "file": file.path, "ok": false,
                    "problems": [["line": 3, "key": "push.intervall", "message": message]],
                ]
            )
        }
    }

    @Test("what config check prints, it accepts")
    func printed() async throws {
        try await withTemporaryDirectory { directory in
            let shipped = Shared.project.appending(path: "config/agent.yml").path
            let printed = try await Dormouse.run("config", "check", shipped, "--print")
            let file = directory.appending(path: "a.yml")
            try printed.stdoutBytes.write(to: file)
            let again = try await Dormouse.run("config", "check", file.path, "--print")
            #expect(again.status == 0)
            #expect(again.stdout == printed.stdout)
        }
    }

    @Test(
        "ltx verify says ok, or the category of the fault, and is as good as its worst file",
        .enabled(if: Shared.isPresent, Shared.missing)
    )
    func ltxVerify() async throws {
        let result = try await Dormouse.run("ltx", "verify", Self.goodFile, Self.badFile)
        #expect(result.status == 1)
        let lines = result.stdout.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first == "\(Self.goodFile): ok")
        #expect(lines.last?.hasPrefix("\(Self.badFile): file-checksum: ") == true)
        #expect(try await Dormouse.run("ltx", "verify", Self.goodFile).status == 0)
    }

    @Test(
        "a whole file under the name of other TXIDs is not ok",
        .enabled(if: Shared.isPresent, Shared.missing)
    )
    func ltxVerifyName() async throws {
        try await withTemporaryDirectory { directory in
            let name = "00000000000000aa-00000000000000ab.ltx"
            let copy = directory.appending(path: name)
            try FileManager.default.copyItem(atPath: Self.goodFile, toPath: copy.path)
            let result = try await Dormouse.run("ltx", "verify", copy.path)
            #expect(result.status == 1)
            #expect(result.stdout.contains(": file-name: "))
        }
    }

    @Test("ltx info, pages and cat agree", .enabled(if: Shared.isPresent, Shared.missing))
    func ltxViews() async throws {
        let info = try await Dormouse.run("ltx", "info", "--json", Self.goodFile)
        let facts = try JSONSerialization.jsonObject(with: info.stdoutBytes) as? [[String: Any]]
        let fact = try #require(facts?.first)
        let blocks = try #require(fact["lz4_blocks"] as? Int)
        let frames = try #require(fact["lz4_frames"] as? Int)
        #expect(blocks > 0 && frames > 0)
        let list = try await Dormouse.run("ltx", "pages", "--json", Self.goodFile)
        let files = try JSONSerialization.jsonObject(with: list.stdoutBytes) as? [[String: Any]]
        let pages = try #require(files?.first?["pages"] as? [[String: Any]])
        #expect(pages.count == blocks + frames)
        let pgno = try #require(pages.first?["pgno"] as? Int)
        let page = try await Dormouse.run("ltx", "cat", Self.goodFile, "--page", "\(pgno)")
        #expect(page.stdoutBytes.count == fact["page_size"] as? Int)
        let none = try await Dormouse.run("ltx", "cat", Self.goodFile, "-p", "4000000000")
        #expect(none.status == 1)
        #expect(none.stderr.hasSuffix("does not carry page 4000000000\n"))
    }

    @Test("a reader that goes away ends the program quietly", .timeLimit(.minutes(1)))
    func closedPipe() async throws {
        try await withTemporaryDirectory { directory in
            // The writer starts when the reader has closed its end.
            let script = """
                mkfifo "$1/gone"
                { read -r _ < "$1/gone"; "$0" --help; echo "$?" >&2; } \\
                    | { exec 0<&-; echo > "$1/gone"; }
                """
            let result = try await runProcess(
                URL(filePath: "/bin/bash"),
                ["-c", script, Dormouse.binary.path, directory.path]
            )
            #expect(result.stdout == "")
            // 128 + SIGPIPE, as of every tool.
            #expect(result.stderr == "141\n")
        }
    }

    @Test("output that does not fit is a failure with a reason")
    func fullDisk() async throws {
        let result = try await runProcess(
            URL(filePath: "/bin/bash"),
            ["-c", "\"$0\" --help > /dev/full", Dormouse.binary.path]
        )
        #expect(result.status == 1)
        #expect(
            result.stderr
                == "dormouse: cannot write to standard output: No space left on device\n"
        )
    }
}
