import Foundation
import SQLiteBridge
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Runs the program as a user who may not do everything: as `nobody` if we are root.
private enum Unprivileged {
    static let setpriv = URL(filePath: "/usr/bin/setpriv")

    static let isPossible =
        geteuid() != 0 || FileManager.default.isExecutableFile(atPath: setpriv.path)

    static let missing: Comment = "setpriv (util-linux) is not there to become another user with"

    /// A user without rights needs a program in a place that everybody may look into.
    static func run(_ scratch: Scratch, _ words: [String]) async throws -> ProcessOutcome {
        guard geteuid() == 0 else { return try await dormouse(words) }
        let program = scratch.path("dormouse")
        if !FileManager.default.fileExists(atPath: program) {
            try FileManager.default.copyItem(atPath: Dormouse.binary.path, toPath: program)
            chmod(program, 0o755)
        }
        let identity = ["--reuid=65534", "--regid=65534", "--clear-groups"]
        return try await runProcess(setpriv, identity + [program] + words)
    }
}

@Suite(
    "rights that are missing",
    .enabled(if: Unprivileged.isPossible, Unprivileged.missing)
)
struct PermissionTests {
    private func locked(_ path: String, _ mode: mode_t) {
        chmod(path, mode)
    }

    /// A pushed database in a directory that everybody may read, and nobody else may write.
    private func prepare(_ scratch: Scratch) async throws {
        try scratch.makeDatabase().close()
        try await succeed("push", scratch.database, "--to", scratch.bucket)
        // A fresh copy without sidecars, in a directory of its own.
        let place = scratch.path("ro")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        try await succeed(
            "restore",
            scratch.bucket,
            "-o",
            scratch.path("ro/app.db"),
            "--verbatim"
        )
        locked(scratch.path("ro/app.db"), 0o666)
        locked(scratch.directory.path, 0o777)
        locked(place, 0o555)
    }

    private func unlock(_ scratch: Scratch) {
        locked(scratch.path("ro"), 0o755)
    }

    @Test("a database in a directory that may not be written cannot be replicated")
    func readOnlyDirectory() async throws {
        try await withScratch { scratch in
            try await prepare(scratch)
            defer { unlock(scratch) }
            let before = try scratch.contents()
            let outcome = try await Unprivileged.run(
                scratch,
                ["push", scratch.path("ro/app.db"), "--to", scratch.path("other")]
            )
            try expectRefusal(outcome, status: 1, saying: "ro/app.db")
            #expect(try scratch.contents().filter { $0.key != "dormouse" } == before)
        }
    }

    @Test("a database that may not be read is refused with one line")
    func deniedDatabase() async throws {
        try await withScratch { scratch in
            try await prepare(scratch)
            defer { unlock(scratch) }
            locked(scratch.path("ro"), 0o777)
            locked(scratch.path("ro/app.db"), geteuid() == 0 ? 0o600 : 0)
            let outcome = try await Unprivileged.run(
                scratch,
                ["push", scratch.path("ro/app.db"), "--to", scratch.path("other")]
            )
            try expectRefusal(outcome, status: 1, saying: "Permission denied")
        }
    }

    @Test("a bucket that may not be written refuses, and the backlog is kept")
    func readOnlyBucket() async throws {
        try await withScratch { scratch in
            try await prepare(scratch)
            defer { unlock(scratch) }
            let own = scratch.path("own")
            try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: false)
            try await succeed("restore", scratch.bucket, "-o", own + "/app.db", "--verbatim")
            locked(own, 0o777)
            locked(own + "/app.db", 0o666)
            let words = ["push", own + "/app.db", "--to", scratch.path("ro/bucket")]
            let outcome = try await Unprivileged.run(scratch, words)
            try expectRefusal(outcome, status: 3, saying: "Permission denied")
            let again = try await Unprivileged.run(scratch, words + ["--json"])
            #expect(again.status == 3)
            let record =
                try JSONSerialization.jsonObject(with: again.stdoutBytes) as? [String: Any]
            #expect(record?["reason"] as? String == "bucket-denied")
            #expect(record?["backlog_files"] as? Int == 1)
        }
    }

    @Test("restore to a place that may not be written leaves nothing")
    func readOnlyOutput() async throws {
        try await withScratch { scratch in
            try await prepare(scratch)
            defer { unlock(scratch) }
            let outcome = try await Unprivileged.run(
                scratch,
                ["restore", scratch.bucket, "-o", scratch.path("ro/new.db")]
            )
            try expectRefusal(outcome, status: 1, saying: "Permission denied")
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: scratch.path("ro"))
                    == ["app.db"]
            )
        }
    }
}
