import Chaos
import Foundation
import Handover
import SQLiteBridge
import TestSupport
import Testing

/// The agent and the transfer service, each in its process.
@Suite(
    "Stories: an agent and its transfer service",
    .enabled(if: Peers.areInstalled, Peers.missing),
    .timeLimit(.minutes(3))
)
struct TransferAgentStories {
    /// An agent that has pushed once, in the background, everything handed over.
    private func inBackground(_ scene: TransferScene) async throws -> Child {
        let agent = try Child(Dormouse.binary, ["agent", "--config", scene.config])
        let pushed = try await agent.wait { $0.isPush && $0["outcome"] == "pushed" }
        try await agent.wait(from: pushed) { $0.isFlush }
        agent.send(SIGUSR1)
        try await agent.wait { $0.kind == "phase" && $0["phase"] == "suspended" }
        return agent
    }

    /// The head of a bucket on a sink.
    private func head(_ sink: SinkProcess) throws -> String {
        let files = try FileManager.default.contentsOfDirectory(atPath: "\(sink.bucket())/ltx/0")
        return String(try #require(files.sorted().last).dropFirst(17).prefix(16))
    }

    private func isStopped(_ child: Child) throws -> Bool {
        let stat = try String(contentsOfFile: "/proc/\(child.id)/stat", encoding: .utf8)
        return stat.drop { $0 != ")" }.dropFirst(2).first == "T"
    }

    @Test("in the background it hands over; stopped there, its files arrive all the same")
    func stopped() async throws {
        try await withTemporaryDirectory { directory in
            try await withSink(data: directory.appending(path: "sink")) { sink in
                let scene = try TransferScene(
                    directory.appending(path: "d"),
                    url: sink.url(),
                    forAgent: true
                )
                try await withChild(try await inBackground(scene)) { agent in
                    let record = try #require(agent.records.last { $0.kind == "handover" })
                    #expect(record["reason"] == "asked")
                    #expect(record.number("spooled_files") > 0)
                    let push = try #require(agent.records.last { $0.isPush })
                    #expect(push["outcome"] == "in-sync")
                    #expect(push["reason"] == "unverified")
                    #expect(push["phase"] == "background")
                    agent.send(SIGSTOP)
                    try await eventually("the agent stopped") { try isStopped(agent) }
                    let before = try head(sink)

                    #expect(try await scene.transfer().status == 0)
                    #expect(try isStopped(agent))
                    let after = try head(sink)
                    #expect(after > before)
                    #expect(after >= push["txid"] ?? "none")
                    #expect(try scene.names("ready").isEmpty)

                    let seen = agent.records.count
                    agent.send(SIGCONT)
                    try await agent.wait(from: seen) {
                        $0.kind == "receipt" && $0["reason"] == "confirmed"
                    }
                    agent.send(SIGUSR2)
                    try await agent.wait(from: seen) { $0.isPush && $0["outcome"] == "pushed" }
                    agent.send(SIGTERM)
                    #expect(try await agent.end() == 0)
                    #expect(agent.records.filter { $0.kind == "snapshot" }.count == 1)
                    #expect(agent.records.filter { $0.kind == "custody-lost" }.isEmpty)
                }
                try scene.expectEmptySpool()
                try await sink.applied(try head(sink))
                try await expectEqual(scene.device, sink)
            }
        }
    }

    @Test("dead, its files arrive, and the relaunch costs neither a snapshot nor a second upload")
    func dead() async throws {
        try await withTemporaryDirectory { directory in
            try await withSink(data: directory.appending(path: "sink")) { sink in
                let scene = try TransferScene(
                    directory.appending(path: "d"),
                    url: sink.url(),
                    forAgent: true
                )
                try await withChild(try await inBackground(scene)) { try await $0.kill() }
                let before = try head(sink)
                #expect(try await scene.transfer().status == 0)
                #expect(try head(sink) > before)

                let agent = try Child(Dormouse.binary, ["agent", "--config", scene.config])
                try await withChild(agent) { agent in
                    let read = try await agent.wait { $0.kind == "receipt" }
                    #expect(agent.records[read - 1]["reason"] == "confirmed")
                    try await agent.wait { $0.isPush && $0["outcome"] == "pushed" }
                    agent.send(SIGTERM)
                    #expect(try await agent.end() == 0)
                    #expect(agent.records.filter { $0.kind == "snapshot" }.isEmpty)
                    // The receipt is read by the first push, before anything else of it.
                    let first = try #require(agent.records.firstIndex { $0.isPush })
                    #expect(read <= first)
                }
                try scene.expectEmptySpool()
                try await sink.applied(try head(sink))
                try await expectEqual(scene.device, sink)
            }
        }
    }

    /// Makes a database of an agent that takes a while to upload; nothing gets through meanwhile.
    private func makeLarge(_ scene: TransferScene, _ proxy: FaultProxy) async throws {
        proxy.decide { _ in .refuse }
        let agent = try Child(Dormouse.binary, ["agent", "--config", scene.config])
        try await withChild(agent) { agent in
            try await agent.wait { $0.isPush && $0["outcome"] == "retryable" }
            agent.send(SIGKILL)
            _ = try await agent.end()
        }
        let connection = try Connection(path: scene.device.database)
        try connection.execute(
            """
            CREATE TABLE extra(v BLOB);
            INSERT INTO extra WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n)
            SELECT randomblob(4000) FROM n LIMIT 3000
            """
        )
        try connection.close()
        proxy.decide { _ in .stall(afterBytes: 3 << 20) }
    }

    @Test("an upload goes from agent to service and back, and no byte goes twice")
    func sharedUpload() async throws {
        try await withTemporaryDirectory { directory in
            try await withSink(data: directory.appending(path: "sink")) { sink in
                let proxy = try FaultProxy(upstream: sink.port) { _ in
                    .stall(afterBytes: 3 << 20)
                }
                defer { proxy.stop() }
                let url = "http://127.0.0.1:\(proxy.port)/db/health"
                let scene = try TransferScene(
                    directory.appending(path: "d"),
                    url: url,
                    forAgent: true
                )
                try await makeLarge(scene, proxy)
                // The agent begins.
                let agent = try Child(Dormouse.binary, ["agent", "--config", scene.config])
                try await withChild(agent) { agent in
                    try await eventually("a part of it sent") { proxy.bodyBytes >= 3 << 20 }
                    try await agent.kill()
                }
                // The service goes on with it.
                let push = try await scene.handOver()
                let size = Int64(try #require(push.fields["backlog_bytes"] as? Int))
                try await withChild(try scene.startTransfer(to: url)) { service in
                    try await eventually("another part sent") { proxy.bodyBytes >= 6 << 20 }
                    try await service.kill()
                }
                // And the agent ends it.
                proxy.decide { _ in .none }
                let next = try Child(Dormouse.binary, ["agent", "--config", scene.config])
                try await withChild(next) { agent in
                    try await agent.wait { $0.isPush && $0["outcome"] == "pushed" }
                    agent.send(SIGTERM)
                    #expect(try await agent.end() == 0)
                }
                let sent = proxy.bodyBytes
                print("files of \(size) bytes took \(sent) bytes in three processes")
                #expect(size > 10 << 20)
                #expect(sent < size + size / 4)
                try scene.expectEmptySpool()
                try await sink.applied(try head(sink))
                try await expectEqual(scene.device, sink)
            }
        }
    }

    @Test("while the service uploads, the agent hands over and says who is at work")
    func lockIsTaken() async throws {
        try await withTemporaryDirectory { directory in
            try await withSink(data: directory.appending(path: "sink")) { sink in
                let scene = try TransferScene(
                    directory.appending(path: "d"),
                    url: sink.url(),
                    forAgent: true
                )
                let agent = try Child(Dormouse.binary, ["agent", "--config", scene.config])
                try await withChild(agent) { agent in
                    try await agent.wait { $0.isPush && $0["outcome"] == "pushed" }
                    let spool = Spool(scene.spool)
                    let lock = try DestinationLock.wait(spool.lockPath(scene.url))
                    let index = try await agent.wait { $0.kind == "handover" }
                    let record = agent.records[index - 1]
                    #expect(record["reason"] == "transfer-at-work")
                    #expect(record["lock_holder"] == "\(getpid())")
                    let before = try head(sink)
                    try await agent.wait(for: 2, from: index) { $0.isPush }
                    #expect(try head(sink) == before)
                    withExtendedLifetime(lock) {}
                    _ = consume lock
                    // It is free: what waits goes with the agent's own next push.
                    try await agent.wait(from: index) { $0.isPush && $0["outcome"] == "pushed" }
                    agent.send(SIGTERM)
                    #expect(try await agent.end() == 0)
                }
                try scene.expectEmptySpool()
                try await sink.applied(try head(sink))
                try await expectEqual(scene.device, sink)
            }
        }
    }

    /// What `/proc` says of a process.
    private struct ProcessFacts {
        var id: pid_t
        var parent: pid_t
        var session: pid_t
        var state: Character

        static func all(named name: String, _ argument: String) -> [ProcessFacts] {
            let ids = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            return ids.compactMap { Int32($0) }.compactMap { id in
                guard let command = FileManager.default.contents(atPath: "/proc/\(id)/cmdline"),
                    let stat = FileManager.default.contents(atPath: "/proc/\(id)/stat")
                else { return nil }
                let words = command.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
                guard words.contains(name), words.contains(argument) else { return nil }
                let text = String(decoding: stat, as: UTF8.self)
                let fields = text.drop { $0 != ")" }.dropFirst(2).split(separator: " ")
                guard fields.count > 3, let parent = Int32(fields[1]),
                    let session = Int32(fields[3]), let state = fields[0].first
                else { return nil }
                return ProcessFacts(id: id, parent: parent, session: session, state: state)
            }
        }
    }

    @Test("started as a child it survives the agent: own session, no descriptors, no zombie")
    func child() async throws {
        try await withTemporaryDirectory { directory in
            try await withSink(data: directory.appending(path: "sink")) { sink in
                let scene = try TransferScene(
                    directory.appending(path: "d"),
                    url: sink.url(),
                    forAgent: true
                )
                let text = try String(contentsOfFile: scene.config, encoding: .utf8)
                    .replacing("spool }", with: "spool, start: child }")
                try Data(text.utf8).write(to: URL(filePath: scene.config))
                let agent = try Child(Dormouse.binary, ["agent", "--config", scene.config])
                try await withChild(agent) { agent in
                    try await agent.wait { $0.isPush && $0["outcome"] == "pushed" }
                    let spool = Spool(scene.spool)
                    let lock = try DestinationLock.wait(spool.lockPath(scene.url))
                    let start = agent.records.count
                    // Its records are in the agent's standard error.
                    try await agent.wait(from: start) {
                        $0.kind == "waiting" && $0["lock_holder"] == "\(getpid())"
                    }
                    let service = try #require(
                        ProcessFacts.all(named: "transfer", scene.config).first
                    )
                    #expect(service.parent == agent.id)
                    #expect(service.session == service.id)
                    let descriptors = try FileManager.default.contentsOfDirectory(
                        atPath: "/proc/\(service.id)/fd"
                    )
                    for descriptor in descriptors.compactMap({ Int32($0) }) where descriptor > 2 {
                        let target = try? FileManager.default.destinationOfSymbolicLink(
                            atPath: "/proc/\(service.id)/fd/\(descriptor)"
                        )
                        #expect(!(target ?? "").contains("health.db"), "\(target ?? "")")
                    }

                    // First with the agent alive: it is waited for.
                    _ = consume lock
                    try await agent.wait(from: start) { $0.kind == "upload" }
                    try await eventually("no process is left") {
                        ProcessFacts.all(named: "transfer", scene.config).isEmpty
                    }

                    // Then with the agent dead.
                    let again = try DestinationLock.wait(spool.lockPath(scene.url))
                    let second = agent.records.count
                    try await agent.wait(from: second) { $0.kind == "waiting" }
                    agent.send(SIGKILL)
                    try await eventually("the agent is gone") {
                        ProcessFacts.all(named: "agent", scene.config).allSatisfy {
                            $0.state == "Z"
                        }
                    }
                    #expect(!ProcessFacts.all(named: "transfer", scene.config).isEmpty)
                    let before = try head(sink)
                    _ = consume again
                    try await eventually("what waited has arrived") { try head(sink) > before }
                    try await eventually("the service has ended") {
                        ProcessFacts.all(named: "transfer", scene.config).isEmpty
                    }
                    #expect(try scene.names("ready").isEmpty)
                }
                let push = try await scene.device.push(to: scene.url, ["--spool", scene.spool])
                #expect(push.kind != "snapshot")
                #expect(try await scene.transfer().status == 0)
                _ = try await scene.handOver()
                try scene.expectEmptySpool()
                try await sink.applied(try head(sink))
                try await expectEqual(scene.device, sink)
            }
        }
    }
}
