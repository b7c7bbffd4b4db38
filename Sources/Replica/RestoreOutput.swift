import DurableFiles

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Where a restored database goes, and what may stand there.
struct RestoreOutput {
    /// Symbolic links resolved, as SQLite resolves them before it looks for a sidecar.
    let path: String
    private let overwrite: Bool

    /// SQLite takes any of these for a part of the database, whoever wrote them.
    private static let sidecars = ["-wal", "-shm", "-journal"]
    /// What a sidecar adds to its name while its database is being replaced.
    private static let asideSuffix = ".replaced" + DurableFile.temporarySuffix
    static let temporarySuffix = ".restore" + DurableFile.temporarySuffix

    /// Looks at the place.
    ///
    /// - Throws: `RestoreError.exists`, `.notAFile`, `.output`.
    init(_ path: String, overwrite: Bool) throws(RestoreError) {
        self.path = Path.canonical(path)
        self.overwrite = overwrite
        try check()
    }

    /// Starts the temporary file beside the output.
    func create() throws(RestoreError) -> ClaimedFile {
        do throws(FileError) {
            // A database that only its owner may read stays so.
            let mode = try FileStatus.ofEntry(path)?.permissions ?? 0o644
            return try ClaimedFile(
                path,
                suffix: Self.temporarySuffix,
                mode: mode,
                claim: .refuse
            )
        } catch {
            throw error.isHeldByAnother ? .busy(path) : .output(error)
        }
    }

    /// Fails if the file system has no room for so many bytes.
    func reserve(_ needed: Int64) throws(RestoreError) {
        let available: Int64
        do throws(FileError) {
            available = try DiskSpace.of(Path.parent(of: path)).available
        } catch {
            throw .output(error)
        }
        guard needed <= available else {
            throw .noSpace(path: path, needed: needed, available: available)
        }
    }

    /// Puts the finished, synced file in its place.
    ///
    /// Where a database is replaced, its sidecars go first, since SQLite would take them for the
    /// new one's. They are put aside rather than deleted until the new database is there, so that
    /// a failure at any step costs nobody a commit.
    func publish(_ file: consuming ClaimedFile) throws(RestoreError) {
        try check()
        do throws(FileError) {
            if overwrite {
                try replace(with: file)
            } else {
                try file.publishNew()
            }
        } catch {
            throw error.isTaken ? .exists([path]) : .output(error)
        }
    }

    private func check() throws(RestoreError) {
        var existing: [String] = []
        for name in [path] + Self.sidecars.map({ path + $0 }) {
            let status: FileStatus?
            do throws(FileError) { status = try FileStatus.ofEntry(name) } catch {
                throw .output(error)
            }
            guard let status else { continue }
            guard status.isRegularFile else { throw .notAFile(name) }
            existing.append(name)
        }
        guard overwrite || existing.isEmpty else { throw .exists(existing) }
    }

    private func replace(with file: consuming ClaimedFile) throws(FileError) {
        var aside: [String] = []
        do throws(FileError) {
            for sidecar in Self.sidecars.map({ path + $0 }) {
                guard try FileStatus.ofEntry(sidecar) != nil else { continue }
                try DurableFiles.rename(sidecar, to: sidecar + Self.asideSuffix)
                aside.append(sidecar)
            }
            try file.publishReplacing()
        } catch {
            // After the rename only the directory's sync can fail: the old database is gone then.
            if error.operation != .syncDirectory {
                for sidecar in aside {
                    try? DurableFiles.rename(sidecar + Self.asideSuffix, to: sidecar)
                }
            }
            throw error
        }
        // Those of an earlier attempt too, which was killed before it came to this.
        for sidecar in Self.sidecars.map({ path + $0 + Self.asideSuffix })
        where try FileStatus.ofEntry(sidecar) != nil {
            try DurableFiles.remove(sidecar)
        }
        if !aside.isEmpty { try DurableFiles.syncDirectory(of: path) }
    }
}
