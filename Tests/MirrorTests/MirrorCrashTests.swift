import Bucket
import DurableFiles
import Foundation
import LTXCodec
import Replica
import SQLiteBridge
import TestSupport
import Testing

/// What a mirror is doing when it is killed.
private enum Scenario: String, CaseIterable, Sendable {
    case first, adopted, ordinary, growth, shrink, batch, snapshot, pageSize, ingest, rebase,
        deletion

    /// Brings a scene to where the change begins; the mirror is at the head.
    func prepare(_ scene: Scene, _ mirror: Mirror) async throws {
        guard self != .first, self != .adopted else { return }
        try scene.insert(200)
        try await scene.push()
        try await mirror.advance()
        try scene.sql("UPDATE t SET v = randomblob(300) WHERE id % 7 = 0")
        try await scene.push()
        try await mirror.advance()
    }

    /// Makes the change: puts it into the bucket, and gives back what the mirror does about it.
    func change(_ scene: Scene) async throws -> @Sendable (Mirror) async throws -> Void {
        switch self {
        case .first:
            try scene.insert(100)
            try await scene.push()
        case .adopted:
            try scene.insert(100)
            try await scene.push()
            let (image, directory) = (try scene.image(), scene.directory)
            return { mirror in
                try await mirror.adopt(madeImage(image, TXID(1), in: directory))
                try await mirror.advance()
            }
        case .ordinary:
            try scene.sql("UPDATE t SET v = randomblob(300) WHERE id % 50 = 0")
            try await scene.push()
        case .growth:
            try scene.insert(200)
            try await scene.push()
        case .shrink:
            try scene.sql("DELETE FROM t WHERE id % 3 > 0; VACUUM")
            try await scene.push()
        case .batch:
            for _ in 0..<3 {
                try scene.insert(20)
                try await scene.push()
            }
        case .snapshot:
            try scene.sql("DELETE FROM t WHERE id < 100; UPDATE t SET v = 'short'")
            try await scene.snapshot(at: TXID(9))
        case .pageSize:
            try scene.sql("PRAGMA page_size = 1024; VACUUM")
            try await scene.snapshot(at: TXID(9))
        case .deletion:
            try await Scene.put(scene.image(), [], TXID(3), TXID(3), level: 0, in: scene.bucket)
            scene.noteDeletion(at: TXID(3))
        case .ingest, .rebase:
            try scene.insert(50)
            try scene.sql("DELETE FROM t WHERE id % 2 = 0")
            // A rebase brings another database for the TXID that the mirror has.
            let base = TXID(self == .rebase ? 2 : 5)
            let image = try scene.note(at: base)
            let body = scene.directory.appending(path: "upload")
            try Data(image).write(to: body)
            return { mirror in
                let image = try IngestImage(
                    checking: body.path,
                    scratch: body.path + ".tmp",
                    limit: 1 << 30
                )
                _ = try await mirror.ingest(image, base: base, timestamp: 1_700_000_009_000)
                try await mirror.advance()
            }
        }
        return { try await $0.advance() }
    }
}

@Suite("A mirror killed at each step of an apply is at one of the two states")
struct MirrorCrashTests {
    /// Copies the scene at every step, as a kill there would leave it.
    private func crashes(
        _ scene: Scene,
        into graves: URL,
        _ body: @escaping @Sendable (Mirror) async throws -> Void
    ) async throws -> [(step: String, grave: URL)] {
        let gravedigger = Gravedigger(scene.directory, graves)
        // A new actor, as after a start; its settling is a step or two.
        let mirror = scene.mirror()
        try await FaultPoint.$observer.withValue(gravedigger) { try await body(mirror) }
        await mirror.close()
        return gravedigger.steps
    }

    @Test("SIGKILL", arguments: Scenario.allCases)
    private func killed(scenario: Scenario) async throws {
        try await withTemporaryDirectory { top in
            let directory = top.appending(path: "scene")
            let graves = top.appending(path: "graves")
            for url in [directory, graves] {
                try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            }
            let scene = try Scene(in: directory)
            let mirror = scene.mirror()
            try await scenario.prepare(scene, mirror)
            await mirror.close()
            let before = try contents(scene.mirrorPath, or: [])
            let change = try await scenario.change(scene)
            let steps = try await crashes(scene, into: graves, change)
            let after = try contents(scene.mirrorPath)
            #expect(steps.count >= 12, "there is something to be killed at")
            #expect(try difference(scene.mirrorPath, scene.images[scene.head] ?? []) == nil)

            for (step, grave) in steps {
                let comment: Comment = "\(scenario) \(step)"
                let path = grave.appending(path: "mirror.sqlite").path
                let twin = URL(filePath: grave.path + "-twin")
                try FileManager.default.copyItem(at: grave, to: twin)

                // Anybody's SQLite first, then the sink.
                if FileManager.default.fileExists(atPath: path) {
                    #expect(try await stock(path, "PRAGMA integrity_check") == "ok\n", comment)
                    let found = try contents(path)
                    #expect(
                        faceless(found) == faceless(before) || faceless(found) == faceless(after),
                        comment
                    )
                }
                try await goesOn(grave, scene, change, comment)
                // The sink first.
                try await goesOn(twin, scene, change, comment)
            }
        }
    }

    @Test("a journal that a power cut left in part restores what never changed")
    func partOfAJournal() async throws {
        try await withTemporaryDirectory { top in
            let directory = top.appending(path: "scene")
            let graves = top.appending(path: "graves")
            for url in [directory, graves] {
                try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            }
            let scene = try Scene(in: directory)
            let mirror = scene.mirror()
            try await Scenario.shrink.prepare(scene, mirror)
            await mirror.close()
            let before = try contents(scene.mirrorPath)
            let change = try await Scenario.shrink.change(scene)
            let steps = try await crashes(scene, into: graves, change)
            let grave = try #require(
                steps.first { $0.step.hasSuffix("sync mirror.sqlite-journal") }
            ).grave
            let path = grave.appending(path: "mirror.sqlite").path
            let journal = try contents(path + "-journal")
            #expect(journal.count > 50_000)
            var generator = SeededGenerator(seed: 28)
            for _ in 0..<30 {
                let kept = Int.random(in: 0...journal.count, using: &generator)
                var part = Array(journal[..<kept])
                // Either the file is short, or blocks of it never came.
                if Bool.random(using: &generator) {
                    part += [UInt8](repeating: 0, count: journal.count - kept)
                }
                try Data(part).write(to: URL(filePath: path + "-journal"))
                #expect(try await stock(path, "PRAGMA integrity_check") == "ok\n", "\(kept)")
                #expect(try difference(path, before) == nil, "\(kept)")
            }
        }
    }

    /// A mirror that starts there knows what it holds, and comes to the head.
    private func goesOn(
        _ grave: URL,
        _ scene: Scene,
        _ change: @Sendable (Mirror) async throws -> Void,
        _ comment: Comment
    ) async throws {
        let mirror = Scene.mirror(in: grave)
        let path = grave.appending(path: "mirror.sqlite").path
        try await mirror.open()
        let status = mirror.status
        #expect(!status.mustRestart, comment)
        let image = scene.images[status.appliedTXID] ?? []
        let older = scene.replaced[status.appliedTXID]
        let isKnown = try difference(path, image) == nil
        let isOlder = try older.map { try difference(path, $0) == nil } ?? false
        #expect(isKnown || isOlder, comment)
        if !image.isEmpty, status.appliedTXID > .zero {
            let actual = try #require(isKnown ? image : older)
            #expect(status.checksum == Scene.checksum(of: actual), comment)
        }
        // The position is told by page 1; the pages need not be read for it unless the ledger is of
        // another state.
        try await mirror.advance()
        if scene.isWrittenByMirror, mirror.status.bucketTXID < scene.head || isOlder {
            // Killed before the upload was in the bucket: its sender sends it again.
            let again = try IngestImage(
                checking: scene.directory.appending(path: "upload").path,
                scratch: grave.appending(path: "again.tmp").path,
                limit: 1 << 30
            )
            _ = try await mirror.ingest(again, base: scene.head, timestamp: 1_700_000_009_000)
            try await mirror.advance()
        }
        #expect(mirror.status.appliedTXID == scene.head, comment)
        #expect(try difference(path, scene.images[scene.head] ?? []) == nil, comment)
        await mirror.close()
        #expect(try await stock(path, "PRAGMA integrity_check") == "ok\n", comment)
        let sidecars = try entries(grave).filter {
            $0.hasSuffix("-journal") || $0.hasSuffix("-wal")
        }
        #expect(sidecars.isEmpty, comment)
    }

    @Test(
        "a step that fails leaves the old state or the new one, and the next try succeeds",
        arguments: Scenario.allCases
    )
    private func refused(scenario: Scenario) async throws {
        var step = 0
        while true {
            step += 1
            let isOver = try await withTemporaryDirectory { directory in
                let scene = try Scene(in: directory)
                let mirror = scene.mirror()
                try await scenario.prepare(scene, mirror)
                let before = try contents(scene.mirrorPath, or: [])
                let change = try await scenario.change(scene)
                let saboteur = Saboteur(step: step, code: step % 2 == 0 ? ENOSPC : EIO)
                let failure = await saboteur.run { try await change(mirror) }
                let comment: Comment = "\(scenario) step \(step): \(failure.map { "\($0)" } ?? "")"
                let path = scene.mirrorPath
                if FileManager.default.fileExists(atPath: path) {
                    #expect(try await stock(path, "PRAGMA integrity_check") == "ok\n", comment)
                    let image = scene.images[scene.head] ?? []
                    let isOld = faceless(try contents(path)) == faceless(before)
                    #expect(try isOld || difference(path, image) == nil, comment)
                }
                try await change(mirror)
                #expect(try difference(path, scene.images[scene.head] ?? []) == nil, comment)
                #expect(mirror.status.appliedTXID == scene.head, comment)
                #expect(mirror.status.failure == nil, comment)
                #expect(try await stock(path, "PRAGMA integrity_check") == "ok\n", comment)
                return !saboteur.isDone
            }
            if isOver { break }
        }
        #expect(step > 12)
    }
}

/// Copies a scene at every step.
private final class Gravedigger: FaultObserver {
    private let directory: URL
    private let graves: URL
    private let dug = Locked<[(step: String, grave: URL)]>([])

    var steps: [(step: String, grave: URL)] { dug.withLock { $0 } }

    init(_ directory: URL, _ graves: URL) {
        self.directory = directory
        self.graves = graves
    }

    func pass(_ operation: FileOperation, _ path: String) throws(FileError) {
        dug.withLock { dug in
            let grave = graves.appending(path: "\(dug.count)")
            try? FileManager.default.copyItem(at: directory, to: grave)
            let name = URL(filePath: path).lastPathComponent
            dug.append(("\(dug.count) \(operation.rawValue) \(name)", grave))
        }
    }
}

/// Makes one step fail as the system would.
private final class Saboteur: FaultObserver {
    private let step: Int
    private let code: Int32
    private let passed = Locked(0)

    /// Whether the step came.
    var isDone: Bool { passed.withLock { $0 } >= step }

    init(step: Int, code: Int32) {
        self.step = step
        self.code = code
    }

    func run(_ body: () async throws -> Void) async -> (any Error)? {
        do {
            try await FaultPoint.$observer.withValue(self) { try await body() }
            return nil
        } catch {
            return error
        }
    }

    func pass(_ operation: FileOperation, _ path: String) throws(FileError) {
        let now = passed.withLock { count in
            count += 1
            return count
        }
        if now == step { throw FileError(operation, path, code: code) }
    }
}

private func contents(_ path: String, or missing: [UInt8]) throws -> [UInt8] {
    FileManager.default.fileExists(atPath: path) ? try contents(path) : missing
}
