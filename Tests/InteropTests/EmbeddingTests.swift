import Bucket
import Foundation
import Replica
import Replication
import SQLiteBridge
import TestSupport
import Testing

func replicateAndRestore(directory: String) async throws -> Bool {
    let bucket = DirectoryBucket("\(directory)/bucket")
    // The one opener: its defaults leave checkpoints to the replicator.
    let app = try Connection(path: "\(directory)/app.db", mode: .create)
    try app.execute("PRAGMA journal_mode=WAL; CREATE TABLE IF NOT EXISTS note(text)")
    let replicator = Replicator(database: "\(directory)/app.db", bucket: bucket)
    try await replicator.start()
    try app.execute("INSERT INTO note VALUES ('asleep since November')")
    let record = await replicator.push()
    await replicator.close()
    let restored = try await Restore(bucket: bucket, output: "\(directory)/restored.db").run()
    return record.outcome == .pushed && restored.txid == record.txid
}

@Suite("The example of the README")
struct EmbeddingTests {
    @Test("does what it says")
    func works() async throws {
        try await withTemporaryDirectory { directory in
            let isRestored = try await replicateAndRestore(directory: directory.path)
            #expect(isRestored)
        }
    }

    @Test("is the code above, line by line")
    func isThisCode() throws {
        let readme = try String(
            contentsOf: Shared.project.appending(path: "README.md"),
            encoding: .utf8
        )
        let example = try #require(
            readme.split(separator: "```").first { $0.hasPrefix("swift\n") }
        )
        let lines = example.split(separator: "\n", omittingEmptySubsequences: false).dropFirst()
        let imports = lines.prefix { !$0.isEmpty }
        let code = lines.drop { !$0.isEmpty }.joined(separator: "\n")
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        #expect(imports.allSatisfy { source.contains("\($0)\n") })
        #expect(source.contains(code))
    }
}
