import DurableFiles
package import LTXCodec

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A whole database that somebody uploaded, found to be sound, as a plain file.
///
/// It goes into a bucket by `Mirror.ingest`. What was unpacked for it is removed with it.
package final class IngestImage: Sendable {
    /// The database file, uncompressed.
    package let path: String
    package let pageSize: UInt32
    /// Size in pages.
    package let commit: UInt32
    package var sizeInBytes: Int64 { Int64(commit) * Int64(pageSize) }
    private let isTemporary: Bool

    /// Checks an upload; blocks for as long as it takes to read the database twice or thrice, so
    /// call it on a thread of your own.
    ///
    /// - Parameters:
    ///   - body: The upload, a SQLite database or one compressed with Zstandard; it is not changed
    ///     and must stay as long as this lives.
    ///   - scratch: Where to unpack it; a name that ends in `DurableFile.temporarySuffix` and that
    ///     nobody else uses. A corpse there is overwritten.
    ///   - limit: Bytes that the database may have.
    ///   - expected: The page size that it must have; `nil` for any.
    /// - Throws: `IngestError`; `FileError`, `SQLiteError` when the check cannot be made.
    package init(
        checking body: String,
        scratch: String,
        limit: Int64,
        pageSize expected: UInt32? = nil
    ) throws {
        let isPacked = try Self.isPacked(body)
        if isPacked { try Self.unpack(body, to: scratch, limit: limit) }
        path = isPacked ? scratch : body
        isTemporary = isPacked
        do {
            (pageSize, commit) = try Self.facts(of: path, limit: limit)
            if let expected, expected != pageSize {
                throw IngestError.pageSize(pageSize, expected: expected)
            }
            let problems = try IntegrityCheck.quick.problems(of: path)
            guard problems.isEmpty else { throw IngestError.unsound(problems) }
        } catch {
            if isPacked { unlink(scratch) }
            throw error
        }
    }

    deinit {
        if isTemporary { unlink(path) }
    }

    private static func isPacked(_ body: String) throws -> Bool {
        let file = try FileDescriptor(reading: body)
        let head = UnsafeMutableRawBufferPointer.allocate(byteCount: 4, alignment: 4)
        defer { head.deallocate() }
        let count = try file.read(at: 0, into: head)
        return head[..<count].elementsEqual(Zstandard.magic)
    }

    private static func unpack(_ body: String, to scratch: String, limit: Int64) throws {
        let source = try FileDescriptor(reading: body)
        let target = try FileDescriptor(creating: scratch, mode: 0o600)
        var offset: Int64 = 0
        do {
            _ = try Zstandard.decompress(
                limit: limit,
                read: { buffer in
                    let count = try source.read(at: offset, into: buffer)
                    offset += Int64(count)
                    return count
                },
                write: { try target.write($0) }
            )
        } catch {
            unlink(scratch)
            switch error {
            case ZstandardError.tooLarge(let limit): throw IngestError.tooLarge(limit: limit)
            case ZstandardError.truncated: throw IngestError.truncated("\(error)")
            case let error as ZstandardError: throw IngestError.notADatabase("\(error)")
            default: throw error
            }
        }
    }

    /// What the header and the size of a file say of the database.
    private static func facts(
        of path: String,
        limit: Int64
    ) throws -> (pageSize: UInt32, commit: UInt32) {
        let file = try FileDescriptor(reading: path)
        let size = try file.status().sizeInBytes
        let header = UnsafeMutableRawBufferPointer.allocate(byteCount: 100, alignment: 16)
        defer { header.deallocate() }
        let count = try file.read(at: 0, into: header)
        let bytes = UnsafeRawBufferPointer(rebasing: header[..<count])
        guard let pageSize = PresentedPage.pageSize(of: bytes) else {
            throw IngestError.notADatabase(
                count < 100
                    ? "it has \(size) bytes" : "it does not begin as a SQLite database does"
            )
        }
        guard size <= limit else { throw IngestError.tooLarge(limit: limit) }
        let pages = size / Int64(pageSize)
        guard size % Int64(pageSize) == 0 else {
            throw IngestError.truncated("\(size) bytes are no whole pages of \(pageSize)")
        }
        let commit = PresentedPage.commit(of: bytes)
        guard pages > 0, let commit = commit ?? UInt32(exactly: pages), Int64(commit) == pages
        else {
            throw IngestError.truncated(
                "its header says \(commit ?? 0) pages, and there are \(pages)"
            )
        }
        return (pageSize, commit)
    }
}

/// Why an upload is not taken; nothing has changed then.
package enum IngestError: Error, Equatable, Sendable, CustomStringConvertible {
    case notADatabase(String)
    /// Bytes are missing or too many.
    case truncated(String)
    case tooLarge(limit: Int64)
    /// The database of this lineage has other pages.
    case pageSize(UInt32, expected: UInt32)
    /// SQLite's check found faults.
    case unsound([String])
    /// The bucket is ahead of the image.
    case stale(base: TXID, head: TXID)
    /// The image is not the database that its sender means.
    case checksum(Checksum, expected: Checksum)

    /// How a server answers.
    package enum Kind: Sendable {
        /// 400: the body is no good.
        case malformed
        /// 413
        case tooLarge
        /// 409: it does not fit what is here.
        case conflict
    }

    package var kind: Kind {
        switch self {
        case .notADatabase, .truncated, .unsound, .checksum: .malformed
        case .tooLarge: .tooLarge
        case .pageSize, .stale: .conflict
        }
    }

    package var description: String {
        switch self {
        case .notADatabase(let why): "the upload is no SQLite database: \(why)"
        case .truncated(let why): "the upload is not whole: \(why)"
        case .tooLarge(let limit): "the database is larger than \(limit) bytes"
        case .pageSize(let size, let expected):
            "the upload has pages of \(size) bytes, the database here of \(expected); without a "
                + "base TXID it begins a new lineage"
        case .unsound(let problems):
            "the upload fails quick_check: \(problems.joined(separator: "; "))"
        case .stale(let base, let head):
            "the upload is of TXID \(base), the bucket is at \(head)"
        case .checksum(let checksum, let expected):
            "the upload's pages have the checksum \(checksum), not \(expected)"
        }
    }
}
