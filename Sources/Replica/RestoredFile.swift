import DurableFiles
import LTXCodec

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Writes the pages of a state into a database file that nobody sees yet.
///
/// Pages are decoded straight into a buffer, where neighbours gather until something else comes
/// or the buffer is full; then one write takes them to their place.
final class RestoredFile: PageConsumer {
    private let output: RestoreOutput
    private let verbatim: Bool
    private var file: ClaimedFile?
    private let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: RestoredFile.bufferSize,
        alignment: 4096
    )
    private var pageSize = 0
    /// Pages of the run stand in the buffer from here on.
    private var runStart = 0
    private var runCount = 0
    private var runPgno: Pgno = 0

    /// A multiple of every page size.
    private static let bufferSize = 1 << 20

    /// Starts the temporary file; `verbatim` leaves page 1 as it is in the bucket.
    init(_ output: RestoreOutput, verbatim: Bool) throws(RestoreError) {
        self.output = output
        self.verbatim = verbatim
        file = try output.create()
    }

    deinit {
        buffer.deallocate()
    }

    func begin(_ state: BucketState) throws {
        pageSize = Int(state.pageSize)
        (runStart, runCount, runPgno) = (0, 0, 0)
        // What an earlier attempt wrote does not count against the room that is left.
        try withFile { file throws(FileError) in try file.truncate(to: 0) }
        try output.reserve(state.sizeInBytes)
        try withFile { file throws(FileError) in
            // The lock page, which nobody writes, reads as zeros.
            try file.truncate(to: state.sizeInBytes)
        }
    }

    func slot() throws -> UnsafeMutableRawBufferPointer {
        if runStart + (runCount + 1) * pageSize > buffer.count { try flush() }
        let start = runStart + runCount * pageSize
        return UnsafeMutableRawBufferPointer(rebasing: buffer[start..<start + pageSize])
    }

    func take(_ pgno: Pgno) throws {
        let slot = runStart + runCount * pageSize
        if pgno == 1, !verbatim { presentAsRollback(at: slot) }
        if runCount > 0, pgno != runPgno + UInt32(runCount) {
            try write()
            runStart = slot
            runCount = 0
        }
        if runCount == 0 { runPgno = pgno }
        runCount += 1
    }

    /// Makes the file durable under its temporary name, after the check.
    ///
    /// - Returns: What the check found.
    func finish(_ check: IntegrityCheck) throws -> [String] {
        try flush()
        var path = ""
        var isEmpty = true
        try withFile { file throws(FileError) in
            path = file.temporaryPath
            isEmpty = try FileStatus.of(path)?.sizeInBytes == 0
        }
        let problems = isEmpty ? [] : try check.problems(of: path)
        if problems.isEmpty { try withFile { file throws(FileError) in try file.sync() } }
        return problems
    }

    /// Makes the finished file visible.
    func publish() throws(RestoreError) {
        guard let file = file.take() else { preconditionFailure("published twice") }
        try output.publish(file)
    }

    /// Marks page 1 as one of a rollback-journal database, so that any SQLite can open it for
    /// reading without a `-shm`.
    ///
    /// Bytes 18 and 19 are the file format's write and read version, 2 for WAL (SQLite file
    /// format, section 1.3.3). What does not start as a SQLite database is left alone.
    private func presentAsRollback(at start: Int) {
        let magic = "SQLite format 3\0"
        guard buffer[start..<start + 16].elementsEqual(magic.utf8) else { return }
        buffer[start + 18] = 1
        buffer[start + 19] = 1
    }

    /// Writes the run and starts at the front of the buffer.
    private func flush() throws {
        try write()
        (runStart, runCount) = (0, 0)
    }

    private func write() throws {
        guard runCount > 0 else { return }
        let run = UnsafeRawBufferPointer(
            rebasing: buffer[runStart..<runStart + runCount * pageSize]
        )
        let offset = Int64(runPgno - 1) * Int64(pageSize)
        try withFile { file throws(FileError) in try file.write(run, at: offset) }
    }

    private func withFile(
        _ body: (borrowing ClaimedFile) throws(FileError) -> Void
    ) throws(RestoreError) {
        switch file {
        case .some(let file):
            do throws(FileError) { try body(file) } catch { throw .output(error) }
        case .none:
            preconditionFailure("written after it was published")
        }
    }
}
