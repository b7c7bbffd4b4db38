import DurableFiles
import Foundation
import Sink
import TestSupport
import Testing

@Suite("Sweeper")
struct SweeperTests {
    private let hour: Int64 = 3_600_000

    /// Milliseconds since 1970 at which a file was last written.
    private func written(_ path: String) throws -> Int64 {
        try #require(try FileStatus.of(path)).modifiedAt
    }

    @Test("an old temporary file that nobody holds is removed; history is invisible")
    func corpses() throws {
        try withTemporaryDirectory { directory in
            let level = directory.appending(path: "db/bucket/ltx/0")
            try FileManager.default.createDirectory(at: level, withIntermediateDirectories: true)
            let history = ["0000000000000001-0000000000000001.ltx", "x.tmp.ltx", "tmp", "x.TMP"]
            for name in history { try Data([1]).write(to: level.appending(path: name)) }
            let corpse = level.appending(path: "0000000000000002-0000000000000002.ltx.tmp")
            try Data([1]).write(to: corpse)
            let now = try written(corpse.path)
            let sweeper = Sweeper(directory.path, grace: hour)
            #expect(try sweeper.sweep(now: now + hour - 1) == 0, "not old enough")
            #expect(try sweeper.sweep(now: now + hour) == 1)
            #expect(try sweeper.sweep(now: now + hour) == 0)
            let left = try FileManager.default.contentsOfDirectory(atPath: level.path)
            #expect(left.sorted() == history.sorted())
        }
    }

    @Test("a temporary file whose writer holds it stays, however old it is")
    func held() throws {
        try withTemporaryDirectory { directory in
            let path = directory.appending(path: "file").path
            let sweeper = Sweeper(directory.path, grace: 0)
            do {
                let file = try ClaimedFile(path, claim: .refuse)
                try file.truncate(to: 10)
                #expect(try sweeper.sweep(now: .max / 2) == 0)
                try file.publishReplacing()
            }
            #expect(try FileStatus.of(path)?.sizeInBytes == 10)
        }
    }

    @Test("links and directories that look like corpses are left alone")
    func others() throws {
        try withTemporaryDirectory { directory in
            let outside = directory.appending(path: "outside.tmp")
            try Data([1]).write(to: outside)
            let data = directory.appending(path: "data")
            let inner = data.appending(path: "d.tmp")
            try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                at: data.appending(path: "l.tmp"),
                withDestinationURL: outside
            )
            #expect(mkfifo(data.appending(path: "p.tmp").path, 0o600) == 0)
            #expect(try Sweeper(data.path, grace: 0).sweep(now: .max / 2) == 0)
            #expect(FileManager.default.fileExists(atPath: outside.path))
            #expect(try Sweeper(directory.path + "/none", grace: 0).sweep(now: 0) == 0)
        }
    }
}
