import Bucket
import DurableFiles
import Foundation
import Handover
import LTXCodec
import TestSupport
import Testing

@Suite("The spool on the disk")
struct SpoolTests {
    /// A spool, and a file that is put into it.
    struct Scene {
        let directory: URL
        let spool: Spool

        init(_ directory: URL, spool: String? = nil) throws {
            self.directory = directory
            self.spool = Spool(spool ?? directory.appending(path: "spool").path)
            try self.spool.make()
        }

        @discardableResult
        func add(_ manifest: Manifest) throws -> String {
            let source = directory.appending(path: "\(manifest.file.name)").path
            try Data("bytes of \(manifest.key)".utf8).write(to: URL(filePath: source))
            try spool.add(source, manifest)
            return source
        }

        func keys() throws -> [UInt64] {
            try spool.entries().compactMap { try? $0.manifest.get().file.maxTXID.rawValue }
        }

        func names(_ directory: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
        }
    }

    func withScene(_ body: (Scene) throws -> Void) throws {
        try withTemporaryDirectory { try body(Scene($0)) }
    }

    @Test("what was added is there, in the order of the TXIDs, its bytes shared with the source")
    func adding() throws {
        try withScene { scene in
            for txid: UInt64 in [256, 3, 16] { try scene.add(.made(txid)) }
            #expect(try scene.keys() == [3, 16, 256])
            let source = try scene.add(.made(4))
            let spooled = scene.spool.filePath(Manifest.made(4).key)
            #expect(try FileStatus.of(source)?.identity == FileStatus.of(spooled)?.identity)
            #expect(try scene.names(scene.spool.path + "/tmp").isEmpty)
            #expect(try scene.spool.isReady)
        }
    }

    @Test("added twice it is there once")
    func twice() throws {
        try withScene { scene in
            try scene.add(.made(3))
            try scene.add(.made(3))
            #expect(try scene.keys() == [3])
            #expect(try scene.spool.knows(Manifest.made(3).key))
            #expect(try !scene.spool.knows(Manifest.made(4).key))
        }
    }

    @Test(
        "across file systems it is copied",
        .enabled(if: TemporaryFileSystem.isPossible, TemporaryFileSystem.missing)
    )
    func across() throws {
        try withTemporaryDirectory { directory in
            let other = try TemporaryFileSystem(sizeInBytes: 1 << 20)
            let scene = try Scene(directory, spool: other.path + "/spool")
            let source = try scene.add(.made(3))
            let spooled = scene.spool.filePath(Manifest.made(3).key)
            #expect(try FileStatus.of(source)?.identity != FileStatus.of(spooled)?.identity)
            #expect(try DurableFiles.haveEqualContents(source, spooled))
            #expect(try scene.keys() == [3])
        }
    }

    @Test("an entry that is no manifest is one that says why, before all others")
    func garbage() throws {
        try withScene { scene in
            try scene.add(.made(3))
            let ready = scene.spool.readyPath
            let text = Manifest.made(9).text
            let name = "\(Manifest.made(9).key).manifest"
            try Data("hello".utf8).write(to: URL(filePath: "\(ready)/notes.txt"))
            try Data(text.utf8.dropLast(9)).write(to: URL(filePath: "\(ready)/\(name)"))
            try Data(text.utf8).write(to: URL(filePath: "\(ready)/other.manifest"))
            try Data(count: 1 << 20).write(to: URL(filePath: "\(ready)/large"))
            try FileManager.default.createDirectory(
                atPath: "\(ready)/directory",
                withIntermediateDirectories: false
            )
            try FileManager.default.createSymbolicLink(
                atPath: "\(ready)/link",
                withDestinationPath: "/etc/passwd"
            )
            let entries = try scene.spool.entries()
            #expect(entries.count == 7)
            var problems: [String: UnusableFacts] = [:]
            for entry in entries.dropLast() {
                guard case .failure(let why) = entry.manifest else {
                    Issue.record("\(entry.path) passes for a manifest")
                    continue
                }
                problems[Path.name(of: entry.path)] = why
            }
            #expect(problems["notes.txt"] == .heading("dormouse-manifest"))
            #expect(problems[name] == .checksum)
            #expect(problems["other.manifest"] == .otherName(name))
            #expect(problems["large"] == .tooLarge)
            #expect(problems["directory"] == .notAFile)
            #expect(problems["link"] == .notAFile)

            for entry in entries.dropLast() {
                let target = try scene.spool.setAside(entry.path)
                #expect(target.hasPrefix(scene.spool.asidePath))
            }
            #expect(try scene.names(scene.spool.asidePath).count == 6)
            #expect(try scene.spool.entries().count == 1)
        }
    }

    @Test("what is held leaves the directory that is watched, and keeps its place in the order")
    func holding() throws {
        try withScene { scene in
            for txid: UInt64 in [3, 4, 5] { try scene.add(.made(txid)) }
            for txid: UInt64 in [3, 4, 5] { try scene.spool.hold(Manifest.made(txid).key) }
            #expect(try !scene.spool.isReady)
            try scene.add(.made(6))
            #expect(try scene.keys() == [3, 4, 5, 6])
            #expect(try scene.spool.entries().map(\.isReady) == [false, false, false, true])
            #expect(try scene.spool.knows(Manifest.made(4).key))
            try scene.spool.hold(Manifest.made(4).key)
        }
    }

    @Test("a receipt of success stands for its file; one that is damaged stands for nothing")
    func receipts() throws {
        try withScene { scene in
            let manifest = Manifest.made(3)
            try scene.add(manifest)
            try scene.spool.write(Receipt(manifest, at: 1, .stored(answer: "x")))
            try scene.spool.remove(manifest.key)
            #expect(try scene.keys().isEmpty)
            #expect(try scene.names(scene.spool.filesPath).isEmpty)
            #expect(try scene.spool.knows(manifest.key))
            let path = "\(scene.spool.receiptsPath)/\(manifest.key).receipt"
            try Data("dormouse-receipt 1\nx".utf8).write(to: URL(filePath: path))
            #expect(try scene.spool.receipts().isEmpty)
            #expect(try !scene.spool.knows(manifest.key))
            try scene.spool.write(Receipt(manifest, at: 1, .conflict(detail: "")))
            #expect(try scene.spool.receipts().count == 1)
            #expect(try !scene.spool.knows(manifest.key))
        }
    }

    @Test("withdrawing leaves what is owed, and takes what was refused and what kills have left")
    func withdrawing() throws {
        try withScene { scene in
            for txid: UInt64 in [3, 4, 5, 6] { try scene.add(.made(txid)) }
            try scene.spool.hold(Manifest.made(6).key)
            try scene.spool.write(Receipt(.made(3), at: 1, .stored(answer: "")))
            try scene.spool.write(Receipt(.made(6), at: 1, .conflict(detail: "")))
            let orphan = scene.spool.filePath(Manifest.made(99).key)
            try Data("x".utf8).write(to: URL(filePath: orphan))
            try Data("x".utf8).write(to: URL(filePath: scene.spool.path + "/tmp/x.manifest"))
            try scene.spool.withdraw {
                $0.file.maxTXID > TXID(3)
            } keepsReceipt: {
                $0.isStored
            }
            #expect(try scene.keys() == [4, 5])
            #expect(try scene.names(scene.spool.filesPath).count == 2)
            #expect(try scene.names(scene.spool.path + "/tmp").isEmpty)
            #expect(try scene.spool.receipts().map(\.file.maxTXID) == [TXID(3)])
        }
    }

    @Test("a lock is one process's, says whose, and is free again when nobody names it")
    func locks() throws {
        try withScene { scene in
            let path = scene.spool.lockPath("https://a/db/b")
            #expect(path != scene.spool.lockPath("https://a/db/c"))
            do {
                guard case .taken(let lock) = try DestinationLock.attempt(path) else {
                    Issue.record("it is free")
                    return
                }
                guard case .held(let holder) = try DestinationLock.attempt(path) else {
                    Issue.record("it is held")
                    return
                }
                #expect(holder == getpid())
                withExtendedLifetime(lock) {}
            }
            guard case .taken = try DestinationLock.attempt(path) else {
                Issue.record("it is free again")
                return
            }
        }
    }

    @Test("a kill at each step of adding leaves nothing that passes for whole and is not")
    func kills() throws {
        try withScene { scene in
            let source = scene.directory.appending(path: "source").path
            try Data(count: 5000).write(to: URL(filePath: source))
            var steps = 0
            while true {
                let manifest = Manifest.made(UInt64(100 + steps))
                let stop = StopAt(steps)
                let isDone = FaultPoint.$observer.withValue(stop) {
                    (try? scene.spool.add(source, manifest)) != nil
                }
                let isThere = try scene.spool.knows(manifest.key)
                if isThere {
                    let file = scene.spool.filePath(manifest.key)
                    #expect(try DurableFiles.haveEqualContents(source, file))
                }
                if isDone {
                    #expect(isThere)
                    break
                }
                // The step again, by the one who comes after.
                try scene.spool.add(source, manifest)
                #expect(try scene.spool.knows(manifest.key))
                steps += 1
            }
            #expect(steps > 4)
        }
    }
}

/// Makes the n-th step fail, and so each after it: what lies there is what a kill would leave.
private final class StopAt: FaultObserver {
    private let left: Locked<Int>

    init(_ steps: Int) {
        left = Locked(steps)
    }

    func pass(_ operation: FileOperation, _ path: String) throws(FileError) {
        let isOver = left.withLock { left in
            left -= 1
            return left < 0
        }
        if isOver { throw FileError(operation, path, code: EIO) }
    }
}
