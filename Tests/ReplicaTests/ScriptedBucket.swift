import Bucket
import LTXCodec
import TestSupport

/// A bucket in which something happens just before a file is opened.
final class ScriptedBucket: BucketClient {
    typealias Step = @Sendable (_ number: Int, _ file: BucketFile) async throws -> Void

    private let client: any BucketClient
    private let state = Locked<(opened: [BucketFile], step: Step?)>(([], nil))

    init(_ client: any BucketClient) {
        self.client = client
    }

    /// What happens before the file is opened; openings are counted from 1.
    var beforeOpen: Step? {
        get { state.withLock { $0.step } }
        set { state.withLock { $0.step = newValue } }
    }

    /// The files that were asked for, in order.
    var opened: [BucketFile] { state.withLock { $0.opened } }

    var address: BucketAddress { client.address }

    nonisolated(nonsending) func open(_ file: BucketFile) async throws -> any RandomReader {
        let (number, step) = state.withLock { state in
            state.opened.append(file)
            return (state.opened.count, state.step)
        }
        try await step?(number, file)
        return try await client.open(file)
    }

    nonisolated(nonsending) func list(level: Int) async throws -> [BucketFile] {
        try await client.list(level: level)
    }

    nonisolated(nonsending) func head() async throws -> TXID {
        try await client.head()
    }

    nonisolated(nonsending) func put(_ source: String, as file: BucketFile) async throws {
        try await client.put(source, as: file)
    }

    nonisolated(nonsending) func stat(
        level: Int,
        name: LTXFileName
    ) async throws -> BucketFile? {
        try await client.stat(level: level, name: name)
    }

    nonisolated(nonsending) func delete(_ files: [BucketFile]) async throws {
        try await client.delete(files)
    }
}
