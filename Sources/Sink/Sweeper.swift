public import DurableFiles
import Glibc

/// Removes corpses, and nothing else: unfinished files of writers that were killed.
///
/// A corpse is a regular file whose name ends in `DurableFile.temporarySuffix`, which nobody holds
/// by `flock(2)` and nobody has written to for a while. A committed file never has such a name, so
/// history is invisible here; `0` is a healthy result.
public struct Sweeper: Hashable, Sendable {
    /// Deep enough for `{name}/bucket/ltx/{level}`, with room.
    static let depthLimit = 8

    public var directory: String
    /// How old an unheld temporary file must be, milliseconds: not every writer holds a lock.
    public var grace: Int64

    public init(_ directory: String, grace: Int64 = 3_600_000) {
        self.directory = directory
        self.grace = grace
    }

    /// Removes what is a corpse now.
    ///
    /// - Parameter now: Milliseconds since 1970.
    /// - Returns: How many files were removed.
    /// - Throws: `FileError`; what one file or directory refuses does not keep the rest.
    public func sweep(now: Int64) throws(FileError) -> Int {
        var count = 0
        var failure: FileError?
        sweep(directory, depth: 0, now: now, count: &count, failure: &failure)
        if let failure { throw failure }
        return count
    }

    private func sweep(
        _ directory: String,
        depth: Int,
        now: Int64,
        count: inout Int,
        failure: inout FileError?
    ) {
        guard depth < Self.depthLimit else { return }
        do throws(FileError) {
            for name in try DurableFiles.list(directory) {
                let path = Path.join(directory, name)
                do throws(FileError) {
                    // A link is not followed: it may lead anywhere.
                    guard let status = try FileStatus.ofEntry(path) else { continue }
                    if status.isDirectory {
                        sweep(path, depth: depth + 1, now: now, count: &count, failure: &failure)
                    } else if status.isRegularFile, name.hasSuffix(DurableFile.temporarySuffix),
                        status.modifiedAt <= now - grace, try remove(path, status.identity)
                    {
                        count += 1
                    }
                } catch {
                    failure = failure ?? error
                }
            }
        } catch {
            if !error.isMissing { failure = failure ?? error }
        }
    }

    /// Removes a file that nobody holds; says whether it did.
    private func remove(_ path: String, _ identity: FileIdentity) throws(FileError) -> Bool {
        let file: FileDescriptor
        do throws(FileError) {
            file = try FileDescriptor(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK)
        } catch {
            guard error.isMissing else { throw error }
            return false
        }
        guard flock(file.raw, LOCK_EX | LOCK_NB) == 0 else { return false }
        guard try FileStatus.ofEntry(path)?.identity == identity else { return false }
        try DurableFiles.remove(path)
        return true
    }
}
