import DurableFiles
import Foundation
import TestSupport
import Testing

@Suite("Files that appear whole or not at all")
struct DurableFileTests {
    @Test("a file is invisible until it is published, and then has no temporary beside it")
    func appearsWhole() throws {
        try withTemporaryDirectory { directory in
            let path = directory.appending(path: "state").path
            let file = try DurableFile(path)
            try file.write("half")
            #expect(try FileStatus.of(path) == nil)
            try file.write(" whole")
            try file.publish()
            #expect(try DurableFiles.read(path, limit: 64) == Array("half whole".utf8))
            #expect(try DurableFiles.list(directory.path) == ["state"])
        }
    }

    @Test("an owner that goes away without publishing leaves nothing and changes nothing")
    func leavesNothing() throws {
        try withTemporaryDirectory { directory in
            let path = directory.appending(path: "state").path
            do {
                let old = try DurableFile(path)
                try old.write("old")
                try old.publish()
            }
            do {
                let new = try DurableFile(path)
                try new.write("new")
            }
            #expect(try DurableFiles.read(path, limit: 64) == Array("old".utf8))
            #expect(try DurableFiles.list(directory.path) == ["state"])
        }
    }

    @Test("a file larger than its limit is refused before it is read")
    func limitsReading() throws {
        try withTemporaryDirectory { directory in
            let path = directory.appending(path: "large").path
            try Data(count: 65).write(to: URL(filePath: path))
            #expect(throws: FileError(.read, path, code: EFBIG)) {
                try DurableFiles.read(path, limit: 64)
            }
            #expect(try DurableFiles.read(path, limit: 65)?.count == 65)
            #expect(try DurableFiles.read(path + ".not", limit: 65) == nil)
        }
    }

    @Test("a modification time keeps its milliseconds", arguments: [0, 1, 1_796_027_908_351, -1])
    func keepsMilliseconds(time: Int64) throws {
        try withTemporaryDirectory { directory in
            let path = directory.appending(path: "timed").path
            let file = try DurableFile(path)
            try file.setModified(time)
            try file.publish()
            #expect(try FileStatus.of(path)?.modifiedAt == time)
        }
    }

    @Test("directories are made with their parents, and a file in the way is an error")
    func makesDirectories() throws {
        try withTemporaryDirectory { directory in
            let deep = directory.appending(path: "a/b/c").path
            try DurableFiles.makeDirectories(deep)
            try DurableFiles.makeDirectories(deep)
            #expect(try FileStatus.of(deep)?.isDirectory == true)
            let file = directory.appending(path: "file").path
            try Data().write(to: URL(filePath: file))
            #expect(throws: FileError(.makeDirectory, file, code: ENOTDIR)) {
                try DurableFiles.makeDirectories(file)
            }
        }
    }

    @Test("a second claim to a lock is refused and names the holder")
    func lockNamesHolder() throws {
        try withTemporaryDirectory { directory in
            let path = directory.appending(path: "lock").path
            let first = try FileLock(path)
            do {
                _ = try FileLock(path)
                Issue.record("the lock was given twice")
            } catch let held as FileLock.Held {
                #expect(held.processID == getpid())
            }
            _ = consume first
            _ = try FileLock(path)
        }
    }

    @Test(
        "contents are compared byte by byte",
        arguments: [
            (0, 0, 0, true), (1, 1, 0, true), (300_000, 300_000, 0, true),
            (300_000, 300_000, 1, false), (300_000, 299_999, 0, false),
        ]
    )
    func comparesContents(first: Int, second: Int, lastByte: UInt8, equal: Bool) throws {
        try withTemporaryDirectory { directory in
            let one = directory.appending(path: "one")
            let other = directory.appending(path: "other")
            try Data(count: first).write(to: one)
            var data = Data(count: second)
            if second > 0 { data[second - 1] = lastByte }
            try data.write(to: other)
            #expect(try DurableFiles.haveEqualContents(one.path, other.path) == equal)
        }
    }
}

@Suite("Paths and faults")
struct PathAndFaultTests {
    @Test(
        "a path falls into parent and name",
        arguments: [
            ("/a/b", "/a", "b"), ("/a", "/", "a"), ("a", ".", "a"), ("a/b/", "a", "b"),
            ("/", "/", "/"),
        ]
    )
    func splits(path: String, parent: String, name: String) {
        #expect(Path.parent(of: path) == parent)
        if path != "/" { #expect(Path.name(of: path) == name) }
    }

    @Test("a fault names a step and an action; anything else is none")
    func parsesFaults() {
        #expect(Fault("3:kill")?.step == 3)
        #expect(Fault("3:kill")?.action == .kill)
        #expect(Fault("1:ENOSPC")?.action == .fail(ENOSPC))
        for text in ["", "kill", "0:kill", "-1:kill", "x:kill", "3:", "3:ENOTHING"] {
            #expect(Fault(text) == nil, "\(text)")
        }
    }
}
