import Replica
import SQLiteBridge

/// Unpacks and checks whole databases, one after the other, on a thread of its own.
///
/// That takes as long as reading them twice; files that are pushed meanwhile do not wait for it.
actor ImageChecker {
    private nonisolated let executor = SerialThreadExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Checks an upload.
    ///
    /// - Parameters:
    ///   - body: Its path.
    ///   - scratch: Where it may be unpacked; overwritten.
    ///   - limit: Bytes that the database may have.
    /// - Returns: The database.
    /// - Throws: `IngestError`, `FileError`, `SQLiteError`.
    func check(_ body: String, scratch: String, limit: Int64) throws -> IngestImage {
        try IngestImage(checking: body, scratch: scratch, limit: limit)
    }
}
