import Bucket
import DurableFiles
import Foundation
import Glibc
import LTXCodec
import TestSupport
import Testing

@Suite("a bucket in a directory")
struct DirectoryBucketTests {
    @Test("files stand where litestream looks for them")
    func layout() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = DirectoryBucket(directory.appending(path: "b").path)
            try await put(bucket, directory, level: 0, 1, 1, bytes(10), at: 1_796_027_908_351)
            try await put(bucket, directory, level: 9, 1, 255, bytes(10))
            let level0 = "\(bucket.root)/ltx/0/0000000000000001-0000000000000001.ltx"
            let level9 = "\(bucket.root)/ltx/9/0000000000000001-00000000000000ff.ltx"
            #expect(FileManager.default.fileExists(atPath: level9))
            #expect(try FileStatus.of(level0)?.modifiedAt == 1_796_027_908_351)
            #expect(try entries(bucket.root + "/ltx/0").count == 1, "no temporary file stays")
        }
    }

    @Test("on one file system a file is linked, on two it is copied")
    func linksOrCopies() async throws {
        for kind in [BucketKind.directory, .directoryElsewhere] {
            try await kind.withBucket { bucket, directory in
                let source = directory.appending(path: "source").path
                try Data(bytes(300_000)).write(to: URL(filePath: source))
                let file = BucketFile(
                    level: 0,
                    name: name(1, 1),
                    sizeInBytes: 300_000,
                    timestamp: 5
                )
                try await bucket.put(source, as: file)
                let directoryBucket = try #require(bucket as? DirectoryBucket)
                let target = directoryBucket.path(level: 0, name: file.name)
                let isLinked =
                    try FileStatus.of(target)?.identity == FileStatus.of(source)?.identity
                #expect(isLinked == (kind == .directory))
                #expect(try DurableFiles.haveEqualContents(source, target))
                #expect(try entries(directoryBucket.root + "/ltx/0").count == 1)
            }
        }
    }

    @Test("a disk that went away in the middle of a push is not begun anew in its place")
    func parentGone() async throws {
        try await withTemporaryDirectory { directory in
            let disk = directory.appending(path: "disk").path
            try FileManager.default.createDirectory(
                atPath: disk,
                withIntermediateDirectories: false
            )
            let bucket = DirectoryBucket(disk + "/bucket")
            try await put(bucket, directory, level: 0, 1, 1, bytes(10))
            #expect(rename(disk, disk + "-elsewhere") == 0)
            await #expect(throws: BucketError.missing(path: disk)) {
                try await put(bucket, directory, level: 0, 2, 2, bytes(10))
            }
            #expect(try FileStatus.of(disk) == nil)
        }
    }

    @Test("what is no LTX file is not listed")
    func ignoresForeignEntries() async throws {
        try await withTemporaryDirectory { directory in
            let bucket = DirectoryBucket(directory.path)
            let file = try await put(
                DirectoryBucket(directory.appending(path: "b").path),
                directory,
                level: 0,
                1,
                1,
                bytes(10)
            )
            let level = directory.appending(path: "ltx/0")
            try FileManager.default.createDirectory(at: level, withIntermediateDirectories: true)
            let foreign = [
                "0000000000000002-0000000000000002.ltx.tmp", ".hidden", "README",
                "0000000000000002-0000000000000001.ltx", "0000000000000000-0000000000000001.ltx",
                "000000000000002-0000000000000002.ltx", "00000000000000002-0000000000000002.ltx",
                "000000000000000A-000000000000000B.ltx", "0000000000000003-0000000000000003.ltx ",
            ]
            for name in foreign {
                try Data([1]).write(to: level.appending(path: name))
            }
            let subdirectory = level.appending(path: "\(name(5, 5))")
            try FileManager.default.createDirectory(
                at: subdirectory,
                withIntermediateDirectories: true
            )
            let link = level.appending(path: "\(name(6, 6))")
            try FileManager.default.createSymbolicLink(
                at: link,
                withDestinationURL: level.appending(path: "README")
            )
            let pipe = level.appending(path: "\(name(7, 7))").path
            try #require(mkfifo(pipe, 0o600) == 0)

            #expect(try await bucket.list(level: 0).isEmpty)
            #expect(try await bucket.head() == .zero)
            for number in [5, 6, 7] as [UInt64] {
                #expect(try await bucket.stat(level: 0, name: name(number, number)) == nil)
                let entry = BucketFile(
                    level: 0,
                    name: name(number, number),
                    sizeInBytes: 1,
                    timestamp: 0
                )
                await #expect(throws: BucketError.notFound(level: 0, name: entry.name)) {
                    _ = try await bucket.open(entry)
                }
            }
            // A name that is taken by something else is a conflict, not a success.
            await #expect(throws: BucketError.conflict(level: 0, name: name(6, 6))) {
                try await put(bucket, directory, level: 0, 6, 6, [1])
            }
            #expect(file.sizeInBytes == 10)
        }
    }

    @Test("an empty directory, and one that does not exist yet, is an empty bucket")
    func acceptsEmptyPlaces() async throws {
        try await withTemporaryDirectory { directory in
            for setup in ["none", "empty", "lost+found", ".hidden"] {
                let root = directory.appending(path: "bucket-\(setup)")
                if setup != "none" {
                    let inside = setup == "empty" ? root : root.appending(path: setup)
                    try FileManager.default.createDirectory(
                        at: inside,
                        withIntermediateDirectories: true
                    )
                }
                let bucket = DirectoryBucket(root.path)
                #expect(try await bucket.listAll().isEmpty, "\(setup)")
                try await put(bucket, directory, level: 0, 1, 1, bytes(5))
                #expect(try await bucket.head() == TXID(1), "\(setup)")
            }
        }
    }

    @Test("a place that is no bucket is refused in words, for reading and for writing")
    func refusesOtherPlaces() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.path
            let manager = FileManager.default
            func makeFile(_ name: String) throws {
                let url = directory.appending(path: name)
                try manager.createDirectory(
                    at: url.deletingLastPathComponent(),
                    withIntermediateDirectories: true
                )
                try Data([1]).write(to: url)
            }
            try makeFile("file")
            try makeFile("ltx-is-a-file/ltx")
            try makeFile("home/letter.txt")
            try makeFile("s3/0000/\(name(1, 1))")
            try makeFile("s3-second-level/0001/\(name(1, 1))")
            try makeFile("inside/0/\(name(1, 1))")
            try makeFile("digits/0/letter.txt")

            let cases: [(String, BucketError, says: String)] = [
                (
                    "file",
                    .notABucket(
                        path: "\(path)/file",
                        why: "a file, where a directory should be"
                    ), "a file"
                ),
                (
                    "ltx-is-a-file",
                    .notABucket(
                        path: "\(path)/ltx-is-a-file/ltx",
                        why: "a file, where a directory should be"
                    ), "a file"
                ),
                (
                    "home",
                    .notABucket(
                        path: "\(path)/home",
                        why: "it holds letter.txt but no ltx: "
                            + "give an empty directory or an existing bucket"
                    ), "letter.txt"
                ),
                ("s3", .otherLayout(path: "\(path)/s3"), "object stores"),
                (
                    "s3-second-level", .otherLayout(path: "\(path)/s3-second-level"),
                    "object stores"
                ),
                (
                    "inside",
                    .notABucket(
                        path: "\(path)/inside",
                        why: "0 looks like a level of a bucket: "
                            + "give the directory that holds ltx"
                    ), "holds ltx"
                ),
                (
                    "digits",
                    .notABucket(
                        path: "\(path)/digits",
                        why: "it holds 0 but no ltx: "
                            + "give an empty directory or an existing bucket"
                    ), "no ltx"
                ),
                ("none/bucket", .missing(path: "\(path)/none"), "no directory"),
                (
                    "file/bucket",
                    .notABucket(
                        path: "\(path)/file",
                        why: "a file, where a directory should be"
                    ), "a file"
                ),
            ]
            for (place, error, text) in cases {
                let bucket = DirectoryBucket("\(path)/\(place)")
                await #expect(throws: error, "\(place)") { _ = try await bucket.list(level: 0) }
                await #expect(throws: error, "\(place)") { _ = try await bucket.head() }
                await #expect(throws: error, "\(place)") {
                    try await put(bucket, directory, level: 0, 1, 1, bytes(5))
                }
                #expect("\(error)".contains(text))
                #expect("\(error)".contains(path))
            }
            #expect(!manager.fileExists(atPath: "\(path)/home/ltx"))
            #expect(!manager.fileExists(atPath: "\(path)/none"))
        }
    }

    @Test(
        "a directory without write permission is denied",
        .enabled(if: geteuid() != 0, "root may write everywhere")
    )
    func deniedDirectory() async throws {
        try await withTemporaryDirectory { directory in
            let root = directory.appending(path: "bucket").path
            try FileManager.default.createDirectory(
                atPath: root,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o500]
            )
            await #expect {
                try await put(DirectoryBucket(root), directory, level: 0, 1, 1, bytes(5))
            } throws: { error in
                guard case .denied = error as? BucketError else { return false }
                return true
            }
        }
    }

    @Test(
        "a full file system is out of space, a read-only one is read-only, and no half file stays",
        .enabled(if: TemporaryFileSystem.isPossible, TemporaryFileSystem.missing)
    )
    func fullAndReadOnly() async throws {
        try await withTemporaryDirectory { directory in
            let mount = try TemporaryFileSystem(sizeInBytes: 1 << 20)
            let bucket = DirectoryBucket(mount.path + "/bucket")
            let first = try await put(bucket, directory, level: 0, 1, 1, bytes(1000))
            await #expect {
                try await put(bucket, directory, level: 0, 2, 2, bytes(2 << 20))
            } throws: { error in
                guard case .noSpace(let cause) = error as? BucketError else { return false }
                return cause.code == ENOSPC && "\(error)".contains("make room")
            }
            #expect(try await bucket.list(level: 0) == [first])
            #expect(try entries(bucket.root + "/ltx/0").count == 1)
            try await put(bucket, directory, level: 0, 2, 2, bytes(2000))

            try mount.makeReadOnly()
            #expect(try await bucket.list(level: 0).count == 2)
            await #expect {
                try await put(bucket, directory, level: 0, 3, 3, bytes(10))
            } throws: { error in
                guard case .readOnly = error as? BucketError else { return false }
                return true
            }
            await #expect(throws: BucketError.self) { try await bucket.delete([first]) }
        }
    }

    @Test("a copy that was cut off does not stand in the way of the next attempt")
    func reusesCorpses() async throws {
        try await BucketKind.directoryElsewhere.withBucket { bucket, directory in
            let directoryBucket = try #require(bucket as? DirectoryBucket)
            let level = directoryBucket.root + "/ltx/0"
            try FileManager.default.createDirectory(
                atPath: level,
                withIntermediateDirectories: true
            )
            let corpse = "\(level)/\(name(1, 1)).tmp"
            try Data(bytes(5000, seed: 3)).write(to: URL(filePath: corpse))
            let file = try await put(bucket, directory, level: 0, 1, 1, bytes(100))
            #expect(try await contents(bucket, file) == bytes(100))
            #expect(try entries(level) == ["\(name(1, 1))"])
        }
    }

    private func entries(_ path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }
}
