import Bucket
import DurableFiles
import Foundation
import LTXCodec
import Replica
import TestSupport
import Testing

// B44: SQLite replays whatever -wal lies beside a database.
@Suite("the place a database is restored to")
struct RestoreOutputTests {
    @Test(
        "a database or a sidecar that stands there is named and left alone",
        arguments: [
            ["out.db"], ["out.db-wal"], ["out.db-shm"], ["out.db-journal"],
            ["out.db", "out.db-wal", "out.db-shm"],
        ]
    )
    func refusesExisting(names: [String]) async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            let paths = names.map { directory.appending(path: $0).path }
            for path in paths { try Data([7]).write(to: URL(filePath: path)) }
            let output = directory.appending(path: "out.db").path
            await #expect(throws: RestoreError.exists(paths)) {
                _ = try await restore(bucket.client, to: output)
            }
            for path in paths { #expect(try contents(path) == [7]) }
            #expect(try entries(directory) == (["bucket"] + names).sorted())
        }
    }

    @Test("one that appears while restoring is not overwritten either")
    func refusesLateComers() async throws {
        for name in ["out.db", "out.db-wal"] {
            try await withTemporaryDirectory { directory in
                let bucket = try await MadeBucket.threeStates(in: directory)
                let client = ScriptedBucket(bucket.client)
                let path = directory.appending(path: name).path
                client.beforeOpen = { number, _ in
                    if number == 3 { try Data([7]).write(to: URL(filePath: path)) }
                }
                let output = directory.appending(path: "out.db").path
                await #expect(throws: RestoreError.exists([path])) {
                    _ = try await restore(client, to: output)
                }
                #expect(try contents(path) == [7])
                #expect(try entries(directory) == ["bucket", name])
            }
        }
    }

    @Test("overwriting replaces the database, and its sidecars go")
    func overwrites() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            let output = directory.appending(path: "out.db").path
            for suffix in ["", "-wal", "-shm", "-journal", "-journal.replaced.tmp"] {
                try Data([7]).write(to: URL(filePath: output + suffix))
            }
            let permissions = [FileAttributeKey.posixPermissions: 0o600]
            try FileManager.default.setAttributes(permissions, ofItemAtPath: output)
            _ = try await restore(bucket.client, to: output, overwrite: true)
            #expect(try fills(output) == [11, 22, 33])
            #expect(try entries(directory) == ["bucket", "out.db"])
            let attributes = try FileManager.default.attributesOfItem(atPath: output)
            #expect(attributes[.posixPermissions] as? Int == 0o600, "a private one stays private")
        }
    }

    @Test("a restore that fails leaves the old database and its sidecars as they were")
    func failsSafely() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            try await bucket.put(4, 4, [UInt8](repeating: 9, count: 500))
            let output = directory.appending(path: "out.db").path
            let names = ["out.db", "out.db-shm", "out.db-wal"]
            for name in names {
                try Data(name.utf8).write(to: directory.appending(path: name))
            }
            for _ in 1...5 {
                await #expect(throws: RestoreError.self) {
                    _ = try await restore(bucket.client, to: output, overwrite: true)
                }
                #expect(try entries(directory) == ["bucket"] + names)
                for name in names {
                    #expect(try contents(directory.path + "/" + name) == Array(name.utf8))
                }
            }
        }
    }

    @Test("a symbolic link is followed to the database it names")
    func followsLinks() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            let elsewhere = directory.appending(path: "elsewhere")
            try FileManager.default.createDirectory(
                at: elsewhere,
                withIntermediateDirectories: true
            )
            let real = elsewhere.appending(path: "real.db")
            let link = directory.appending(path: "link.db")
            try Data([7]).write(to: real)
            try Data([7]).write(to: elsewhere.appending(path: "real.db-wal"))
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: real)
            let summary = try await restore(bucket.client, to: link.path, overwrite: true)
            #expect(summary.path.hasSuffix("/elsewhere/real.db"))
            #expect(try fills(real.path) == [11, 22, 33])
            #expect(try entries(elsewhere) == ["real.db"])
        }
    }

    @Test("a directory, a dangling link and a missing directory are refused")
    func refusesOtherPlaces() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            let link = directory.appending(path: "link.db")
            try FileManager.default.createSymbolicLink(
                at: link,
                withDestinationURL: directory.appending(path: "nowhere")
            )
            for path in [directory.path, link.path] {
                await #expect(throws: RestoreError.notAFile(path)) {
                    _ = try await restore(bucket.client, to: path, overwrite: true)
                }
            }
            await #expect {
                _ = try await restore(bucket.client, to: directory.path + "/none/out.db")
            } throws: { error in
                guard case .output(let cause) = error as? RestoreError else { return false }
                return cause.isMissing
            }
            #expect(try entries(directory) == ["bucket", "link.db"])
        }
    }

    @Test("a second restore to the same place waits for its turn by failing")
    func refusesConcurrent() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            let client = ScriptedBucket(bucket.client)
            let output = directory.appending(path: "out.db").path
            client.beforeOpen = { number, _ in
                guard number == 2 else { return }
                await #expect(throws: RestoreError.busy(output)) {
                    _ = try await restore(bucket.client, to: output)
                }
            }
            _ = try await restore(client, to: output)
            #expect(client.opened.count == 3)
            #expect(try fills(output) == [11, 22, 33])
            #expect(try entries(directory) == ["bucket", "out.db"])
        }
    }

    @Test("what a killed restore left is used up, even when it is the published file itself")
    func reusesCorpses() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = try await MadeBucket.threeStates(in: directory)
            let output = directory.appending(path: "out.db").path
            let corpse = output + ".restore.tmp"
            try Data([7]).write(to: URL(filePath: corpse))
            _ = try await restore(bucket.client, to: output)
            #expect(try entries(directory) == ["bucket", "out.db"])
            // Killed between giving the file its name and taking the temporary one away.
            try FileManager.default.linkItem(atPath: output, toPath: corpse)
            try await bucket.put(4, 4, [UInt8](repeating: 9, count: 500))
            await #expect(throws: RestoreError.self) {
                _ = try await restore(bucket.client, to: output, overwrite: true)
            }
            #expect(try fills(output) == [11, 22, 33])
            #expect(try entries(directory) == ["bucket", "out.db"])
        }
    }

    @Test(
        "without room for the database nothing is written",
        .enabled(if: TemporaryFileSystem.isPossible, TemporaryFileSystem.missing)
    )
    func checksRoom() async throws {
        try await withTemporaryDirectory { directory in
            let mount = try TemporaryFileSystem(sizeInBytes: 1 << 20)
            let bucket = MadeBucket(in: directory)
            let pages = (1...Pgno(5000)).map { ($0, UInt8(truncatingIfNeeded: $0)) }
            try await bucket.add(1, 1, commit: 5000, pages)
            await #expect {
                _ = try await restore(bucket.client, to: mount.path + "/out.db")
            } throws: { error in
                guard case .noSpace(_, 5000 * 512, let available) = error as? RestoreError else {
                    return false
                }
                return available <= 1 << 20
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: mount.path).isEmpty)

            // Room that somebody else takes meanwhile.
            let smaller = MadeBucket(in: directory.appending(path: "second"))
            try FileManager.default.createDirectory(
                at: directory.appending(path: "second"),
                withIntermediateDirectories: true
            )
            let random = [UInt8](repeating: 1, count: 600 << 10)
            try await smaller.add(1, 1, commit: 1500, Array(pages.prefix(1500)))
            try await smaller.add(2, 2, commit: 1500, [(1, 1)])
            let client = ScriptedBucket(smaller.client)
            let other = mount.path + "/other"
            client.beforeOpen = { number, _ in
                guard number == 2 else { return }
                try Data(random).write(to: URL(filePath: other))
            }
            await #expect {
                _ = try await restore(client, to: mount.path + "/out.db")
            } throws: { error in
                guard case .output(let cause) = error as? RestoreError else { return false }
                return cause.isNoSpace && "\(error)".contains("make room")
            }
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: mount.path) == ["other"]
            )
        }
    }
}

@discardableResult
private func restore(
    _ bucket: any BucketClient,
    to output: String,
    overwrite: Bool = false
) async throws -> RestoreSummary {
    try await Restore(
        bucket: bucket,
        output: output,
        options: .init(overwrite: overwrite, integrityCheck: .none)
    ).run()
}
