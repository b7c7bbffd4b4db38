import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

extension ChaosTests {
    /// Nothing is polled: what is idle costs nothing.
    @Suite("A replicator of an idle database")
    struct IdleTests {
        @Test("does not wake up once", .timeLimit(.minutes(1)), arguments: ["hold", "yield"])
        func idle(pin: String) async throws {
            try await withTemporaryDirectory { directory in
                let scene = Scene(directory)
                let writer = try await Writer(database: scene.database, settings: .external)
                    .launched()
                try await writer.wait(for: 3) { $0.kind == "commit" }
                try await writer.finish()
                let replicator = try Child(
                    Dormouse.binary,
                    [
                        "replicate", scene.database, "--to", scene.bucket, "--pin", pin,
                        "--interval", "50ms", "--checkpoint-pages", "10",
                    ]
                )
                try await withChild(replicator) { replicator in
                    // Its own checkpoint writes to the database once more; then it says that there
                    // was nothing, and is quiet.
                    try await replicator.wait { $0.isPush && $0["sync_kind"] == "none" }
                    // That nothing happens can only be seen by letting time pass.
                    try await pass(.seconds(1))
                    let before = try Cost(of: replicator.id)
                    let lines = replicator.records.count
                    try await pass(.seconds(3))
                    let after = try Cost(of: replicator.id)
                    #expect(after.switches == before.switches)
                    #expect(after.ticks == before.ticks)
                    #expect(replicator.records.count == lines)
                    print(
                        """
                        idle, pin \(pin): \(after.switches - before.switches) wake-ups and \
                        \(after.ticks - before.ticks) ticks of CPU in 3 s
                        """
                    )
                }
            }
        }

        /// What a process has used, over all its threads.
        private struct Cost {
            var switches = 0
            var ticks = 0

            init(of process: pid_t) throws {
                let tasks = "/proc/\(process)/task"
                for task in try FileManager.default.contentsOfDirectory(atPath: tasks) {
                    let status = try String(
                        contentsOfFile: "\(tasks)/\(task)/status",
                        encoding: .utf8
                    )
                    for line in status.split(separator: "\n") where line.contains("ctxt_switches") {
                        switches += line.split(separator: "\t").last.flatMap { Int($0) } ?? 0
                    }
                    let stat = try String(contentsOfFile: "\(tasks)/\(task)/stat", encoding: .utf8)
                    // The name in parentheses may hold spaces; user and system time are fields 14
                    // and 15, the third being the first behind it.
                    let fields = stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...]
                        .split(separator: " ")
                    for field in fields[12...13] { ticks += Int(field) ?? 0 }
                }
            }
        }
    }
}
