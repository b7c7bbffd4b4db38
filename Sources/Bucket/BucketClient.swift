public import LTXCodec

/// A store of LTX files, the history of one database: a directory, or something over a network.
///
/// What a backend promises:
/// - A file is invisible until it is whole, and durable when `put` returns.
/// - A name is written once. The same bytes again are a success, others are a conflict.
/// - Listings are sorted and hold nothing but LTX files; what else lies there is not ours.
///
/// The functions run where their caller runs. A backend that has to wait may block that thread,
/// so call them from an executor that owns one, not from the cooperative pool.
public protocol BucketClient: Sendable {
    /// Where the bucket is, without secrets.
    var address: BucketAddress { get }

    /// The files of a level in ascending order; empty where there is no such level.
    ///
    /// - Throws: `BucketError`.
    nonisolated(nonsending) func list(level: Int) async throws -> [BucketFile]

    /// The highest TXID of any file on any level; `.zero` when there is none.
    ///
    /// - Throws: `BucketError`.
    nonisolated(nonsending) func head() async throws -> TXID

    /// Opens a file for reading.
    ///
    /// - Throws: `BucketError.notFound` when it is gone since it was listed.
    nonisolated(nonsending) func open(_ file: BucketFile) async throws -> any RandomReader

    /// Stores a local file, durably.
    ///
    /// The source must not change any more: a bucket on the same file system shares its bytes.
    ///
    /// - Parameters:
    ///   - source: Path of the local file, whose size is `file.sizeInBytes`.
    ///   - file: Where it belongs, and the timestamp of its header.
    /// - Throws: `BucketError.conflict` when other bytes stand under that name.
    nonisolated(nonsending) func put(_ source: String, as file: BucketFile) async throws

    /// The file of that name as a listing would show it; `nil` when there is none.
    ///
    /// - Throws: `BucketError`.
    nonisolated(nonsending) func stat(level: Int, name: LTXFileName) async throws -> BucketFile?

    /// Deletes files, durably; those that are gone already count as deleted.
    ///
    /// - Throws: `BucketError`.
    nonisolated(nonsending) func delete(_ files: [BucketFile]) async throws
}

extension BucketClient {
    /// The files of all levels in ascending order.
    ///
    /// - Throws: `BucketError`.
    nonisolated(nonsending) public func listAll() async throws -> [BucketFile] {
        var files: [BucketFile] = []
        for level in BucketFile.levels {
            files += try await list(level: level)
        }
        return files
    }

    /// Whether a file of that name is there.
    ///
    /// - Throws: `BucketError`.
    nonisolated(nonsending) public func contains(
        level: Int,
        name: LTXFileName
    ) async throws -> Bool {
        try await stat(level: level, name: name) != nil
    }
}

/// An open file of a bucket, read at any place; every call may block.
public protocol RandomReader: Sendable {
    var sizeInBytes: Int64 { get }

    /// Fills the buffer from an offset on, as far as the file goes.
    ///
    /// - Parameters:
    ///   - offset: From the start of the file, not negative.
    ///   - buffer: Filled from its start; an empty one reads nothing.
    /// - Returns: The bytes read: fewer than asked for only at the end of the file, 0 from the end
    ///   on.
    /// - Throws: `BucketError`.
    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int
}
