import DurableFiles
import Glibc

/// A small file system in memory, to be full on purpose; mounting one takes root.
final class BenchDisk: Sendable {
    let path: String
    private var filler: String { Path.join(path, "chaos-filler") }

    /// Mounts it on a directory that is there.
    ///
    /// - Throws: `ChaosError` without the right to.
    init(on path: String, sizeInBytes: Int64) throws(ChaosError) {
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(sizeInBytes)") == 0 else {
            throw ChaosError(
                "cannot mount a small file system on \(path) "
                    + "(\(String(cString: strerror(errno)))): a full disk takes root"
            )
        }
        self.path = path
    }

    deinit {
        umount2(path, Int32(MNT_DETACH))
    }

    /// Leaves so many bytes free, or as many as there are.
    func fill(leaving free: Int64) throws {
        empty()
        let file = open(filler, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw FileError(.open, filler, code: errno) }
        defer { close(file) }
        var size: Int64 = 0
        for step in [Int64(1 << 20), 64 << 10, 4 << 10] {
            while posix_fallocate(file, off_t(size), off_t(step)) == 0 { size += step }
        }
        ftruncate(file, off_t(max(0, size - free)))
    }

    func empty() {
        unlink(filler)
    }
}
