package import Bucket
import DurableFiles
package import LTXCodec

/// The files of a bucket as they were last listed.
///
/// A push must not cost a listing of everything that was ever pushed. The sink alone writes its
/// buckets, so a listing stands until the directory of its level changes by other hands, which its
/// identity and modification time show.
package struct BucketIndex {
    package let bucket: DirectoryBucket
    private var levels: [Level]

    private struct Level {
        var stamp: Stamp?
        /// Ascending.
        var files: [BucketFile] = []
        var highest = TXID.zero
    }

    private struct Stamp: Equatable {
        var identity: FileIdentity
        var modified: Int64

        init(_ status: FileStatus) {
            identity = status.identity
            modified = status.modifiedNanoseconds
        }
    }

    package init(_ bucket: DirectoryBucket) {
        self.bucket = bucket
        levels = Array(repeating: Level(), count: BucketFile.levels.count)
    }

    /// Lists the levels that changed; `nil` when none did.
    nonisolated(nonsending) package func refreshed() async throws -> BucketIndex? {
        var changed: BucketIndex?
        for level in BucketFile.levels {
            let stamp = try stamp(of: level)
            guard stamp != levels[level].stamp else { continue }
            let files = stamp == nil ? [] : try await bucket.list(level: level)
            var new = changed ?? self
            new.levels[level] = Level(
                stamp: stamp,
                files: files,
                highest: files.map(\.maxTXID).max() ?? .zero
            )
            changed = new
        }
        return changed
    }

    private func directory(of level: Int) -> String {
        Path.join(Path.join(bucket.root, "ltx"), "\(level)")
    }

    private func stamp(of level: Int) throws -> Stamp? {
        try FileStatus.of(directory(of: level)).map(Stamp.init)
    }

    /// Takes down a file that was just stored.
    package mutating func stored(_ file: BucketFile) throws {
        let same = levels[file.level].files.firstIndex { $0.name == file.name }
        if let same {
            levels[file.level].files[same] = file
        } else {
            let end = levels[file.level].files.lastIndex { $0 < file }.map { $0 + 1 } ?? 0
            levels[file.level].files.insert(file, at: end)
        }
        levels[file.level].highest = max(levels[file.level].highest, file.maxTXID)
        levels[file.level].stamp = try stamp(of: file.level)
    }

    /// Lists a level again at the next look.
    package mutating func forget(level: Int) {
        levels[level] = Level()
    }

    package func files(level: Int) -> [BucketFile] { levels[level].files }

    /// The highest TXID on any level.
    package var head: TXID { levels.map(\.highest).max() ?? .zero }

    package var isEmpty: Bool { levels.allSatisfy { $0.files.isEmpty } }

    package func file(level: Int, name: LTXFileName) -> BucketFile? {
        // Names are looked for at the end first: that is where the log grows.
        levels[level].files.last { $0.name == name }
    }

    package func file(level: Int, endingAt txid: TXID) -> BucketFile? {
        levels[level].files.last { $0.maxTXID == txid }
    }

    /// A file that ends at a TXID; from the lowest level that has one.
    package func file(endingAt txid: TXID) -> BucketFile? {
        for level in levels where level.highest >= txid {
            if let file = level.files.last(where: { $0.maxTXID == txid }) { return file }
        }
        return nil
    }
}
