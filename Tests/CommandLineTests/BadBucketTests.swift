import Foundation
import SQLiteBridge
import TestSupport
import Testing

@Suite("a bucket that cannot be used")
struct BadBucketTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// What is said, and how push and the verbs that read it end.
        let text: String
        let push: Int32
        let read: Int32
        let make: @Sendable (Scratch) throws -> String

        init(
            _ name: String,
            _ text: String,
            push: Int32 = 3,
            read: Int32 = 3,
            _ make: @escaping @Sendable (Scratch) throws -> String
        ) {
            testDescription = name
            self.text = text
            self.push = push
            self.read = read
            self.make = make
        }
    }

    static let rows = [
        Row("a file", "is not a bucket: a file") { scratch in
            try Data("text".utf8).write(to: URL(filePath: scratch.bucket))
            return scratch.bucket
        },
        Row("a foreign directory", "is not a bucket: it holds notes.txt") { scratch in
            try FileManager.default.createDirectory(
                atPath: scratch.bucket,
                withIntermediateDirectories: false
            )
            try Data("text".utf8).write(to: URL(filePath: scratch.path("bucket/notes.txt")))
            return scratch.bucket
        },
        Row("the ltx directory of a bucket", "give the directory that holds ltx") { scratch in
            try FileManager.default.createDirectory(
                atPath: scratch.path("bucket/ltx/0"),
                withIntermediateDirectories: true
            )
            let name = "0000000000000001-0000000000000001.ltx"
            try Data().write(to: URL(filePath: scratch.path("bucket/ltx/0/\(name)")))
            return scratch.path("bucket/ltx")
        },
        Row("a disk that is not mounted", "no directory") { $0.path("mnt/disk") },
        Row("a server that is not there", "connect", push: 75, read: 75) { _ in
            "http://127.0.0.1:1/db/app"
        },
        Row("S3", "not supported by this version", push: 2, read: 2) { _ in "s3://bucket/app" },
        Row("another scheme", "sftp", push: 2, read: 2) { _ in "sftp://host/app" },
        Row("nothing", "empty", push: 2, read: 2) { _ in "" },
    ]

    @Test("push says so in one line, and changes nothing there", arguments: rows)
    func push(row: Row) async throws {
        try await withScratch { scratch in
            let bucket = try row.make(scratch)
            let before = try scratch.contents()
            let app = try scratch.makeDatabase()
            try await expectRefusal(
                ["push", scratch.database, "--to", bucket],
                status: row.push,
                saying: row.text
            )
            // Nothing is lost: what was read waits beside the database.
            try await succeed("push", scratch.database, "--to", scratch.path("good"))
            try app.close()
            for (name, bytes) in before { #expect(try scratch.contents()[name] == bytes) }
            #expect(
                try scratch.names().subtracting([
                    "app.db", "app.db-wal", "app.db-shm", ".app.db-litestream", "good",
                ]) == Set(before.keys.filter { !$0.contains("/") })
            )
        }
    }

    @Test("restore says so in one line, and leaves nothing", arguments: rows)
    func restore(row: Row) async throws {
        try await withScratch { scratch in
            let bucket = try row.make(scratch)
            let before = try scratch.contents()
            try await expectRefusal(
                ["restore", bucket, "-o", scratch.path("out.db")],
                status: row.read,
                saying: row.text
            )
            #expect(try scratch.contents() == before)
        }
    }

    @Test("verify and status say so in one line", arguments: rows)
    func look(row: Row) async throws {
        try await withScratch { scratch in
            let bucket = try row.make(scratch)
            let app = try scratch.makeDatabase()
            try await expectRefusal(
                ["verify", scratch.database, bucket],
                status: row.read,
                saying: row.text
            )
            let status = try await dormouse(["status", bucket])
            #expect(status.status != 0)
            #expect(status.stderr.split(separator: "\n").count == 1)
            try app.close()
        }
    }

    @Test("an empty bucket holds nothing to restore")
    func empty() async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase()
            let text = "nothing was backed up yet, or the address is wrong"
            let out = scratch.path("out.db")
            try await expectRefusal(
                ["restore", scratch.bucket, "-o", out],
                status: 1,
                saying: text
            )
            try await expectRefusal(
                ["verify", scratch.database, scratch.bucket],
                status: 1,
                saying: text
            )
            #expect(!FileManager.default.fileExists(atPath: out))
            try app.close()
        }
    }
}

@Suite(
    "a bucket with a malformed LTX file",
    .enabled(if: Shared.isPresent, Shared.missing)
)
struct MalformedBucketTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let file: String
        let base: String?
        let categories: Set<String>
        /// What is wrong with it does not matter to a restore, which may do either.
        let mayBeRestored: Bool
        var testDescription: String { name }
    }

    static let cases: [Case] = Golden.files("ltx_bad").compactMap { item in
        guard let name = item["name"] as? String, let file = item["file"] as? String,
            let expect = item["expect"] as? [String: Any]
        else { return nil }
        let others = expect["also_fine"] as? [String] ?? []
        return Case(
            name: name,
            file: file,
            base: item["stands_behind"] as? String,
            categories: Set([expect["category"] as? String].compactMap { $0 } + others),
            mayBeRestored: expect["restore"] as? String == "either"
        )
    }

    @Test("the golden files are there")
    func present() {
        #expect(Self.cases.count > 50)
    }

    @Test("ltx verify names the kind of fault that the manifest lists")
    func categories() async throws {
        let files = Self.cases.map { Shared.golden.appending(path: $0.file).path }
        let outcome = try await dormouse(["ltx", "verify", "--json"] + files)
        #expect(outcome.status == 1)
        let list = try JSONSerialization.jsonObject(with: outcome.stdoutBytes)
        let results = try #require(list as? [[String: Any]])
        #expect(results.count == Self.cases.count)
        for (result, item) in zip(results, Self.cases) {
            let fault = result["fault"] as? [String: Any]
            let category = fault?["category"] as? String ?? "accepted"
            #expect(item.categories.contains(category), "\(item.name): \(category)")
            #expect((fault?["detail"] as? String)?.isEmpty == false)
        }
    }

    @Test("restore refuses it with one line that names it, and leaves nothing", arguments: cases)
    func restore(item: Case) async throws {
        try await withScratch { scratch in
            let level = scratch.path("bucket/ltx/0")
            try FileManager.default.createDirectory(
                atPath: level,
                withIntermediateDirectories: true
            )
            var number = 1
            for file in [item.base, item.file].compactMap({ $0 }) {
                let txid = "000000000000000\(number)"
                try FileManager.default.copyItem(
                    atPath: Shared.golden.appending(path: file).path,
                    toPath: "\(level)/\(txid)-\(txid).ltx"
                )
                number += 1
            }
            let before = try scratch.contents()
            let outcome = try await dormouse([
                "restore", scratch.bucket, "-o", scratch.path("out.db"), "--integrity-check",
                "full",
            ])
            if item.mayBeRestored, outcome.status == 0 { return }
            try expectRefusal(outcome, status: 1, saying: "0/000000000000000\(number - 1)")
            #expect(try scratch.contents() == before)
        }
    }
}

/// The manifest of the golden data.
enum Golden {
    static func files(_ section: String) -> [[String: Any]] {
        guard
            let bytes = try? Data(contentsOf: Shared.golden.appending(path: "MANIFEST.json")),
            let manifest = try? JSONSerialization.jsonObject(with: bytes) as? [String: Any]
        else { return [] }
        return manifest[section] as? [[String: Any]] ?? []
    }
}
