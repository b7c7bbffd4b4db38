import DurableFiles
import LTXCodec

extension DirectoryBucket {
    /// Makes sure that the place is a bucket, or could become one: an empty directory, or none
    /// yet in a directory that exists.
    ///
    /// A tree of another kind must never pass for an empty bucket: a restore would say "no
    /// backup", and a push would start a second history in somebody's home directory.
    func checkLayout() throws(BucketError) {
        if try isDirectory(ltxPath) { return }
        if try isDirectory(root) { return try checkContents() }
        let parent = Path.parent(of: root)
        guard try isDirectory(parent) else { throw .missing(path: parent) }
    }

    /// `false` where nothing is; throws where a file is.
    private func isDirectory(_ path: String) throws(BucketError) -> Bool {
        let status: FileStatus?
        do throws(FileError) { status = try FileStatus.of(path) } catch {
            throw BucketError(error)
        }
        guard let status else { return false }
        guard status.isDirectory else {
            throw .notABucket(path: path, why: "a file, where a directory should be")
        }
        return true
    }

    private func checkContents() throws(BucketError) {
        let names: [String]
        do throws(FileError) { names = try DurableFiles.list(root) } catch {
            throw BucketError(error)
        }
        // What a fresh file system or a file manager leaves in a directory is nobody's data.
        let foreign = names.filter { !$0.hasPrefix(".") && $0 != "lost+found" }.sorted()
        let levels = foreign.filter(holdsLTXFiles)
        if levels.contains(where: { $0.utf8.count == 4 }) { throw .otherLayout(path: root) }
        if let level = levels.first {
            throw .notABucket(
                path: root,
                why: "\(level) looks like a level of a bucket: give the directory that holds ltx"
            )
        }
        guard let first = foreign.first else { return }
        throw .notABucket(
            path: root,
            why: "it holds \(first) but no ltx: give an empty directory or an existing bucket"
        )
    }

    /// Whether a directory is a level in this layout (`0`) or that of object stores (`0000`).
    private func holdsLTXFiles(_ name: String) -> Bool {
        guard name.utf8.count == 1 || name.utf8.count == 4,
            let level = Int(name), BucketFile.levels.contains(level),
            let names = try? DurableFiles.list(Path.join(root, name))
        else { return false }
        return names.contains { LTXFileName($0) != nil }
    }
}
