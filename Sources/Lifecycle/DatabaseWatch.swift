import CLinux
import DurableFiles
import Glibc

/// An inotify watch on the directory of a database that sees its file and its WAL.
///
/// The directory is watched, not the files: a WAL may be deleted and made again, and a database
/// may not exist yet. The `-shm`, which readers write to as well, does not count.
final class DatabaseWatch: Sendable {
    let raw: Int32
    private let names: Set<String>

    init(_ database: String) throws(FileError) {
        let path = Path.canonical(database)
        let name = Path.name(of: path)
        names = [name, name + "-wal"]
        raw = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        let directory = Path.parent(of: path)
        guard raw >= 0 else { throw FileError(.open, "inotify", code: errno) }
        let events =
            IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB
        guard inotify_add_watch(raw, directory, UInt32(events)) >= 0 else {
            throw FileError(.open, directory, code: errno)
        }
    }

    deinit {
        close(raw)
    }

    /// Reads all events that are waiting; whether one of them counts.
    func drain() throws(FileError) -> Bool {
        var counts = false
        let size = 16 << 10
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 8)
        defer { buffer.deallocate() }
        while true {
            let count = read(raw, buffer.baseAddress, size)
            if count < 0 {
                let code = errno
                if code == EINTR { continue }
                if code == EAGAIN { return counts }
                throw FileError(.read, "inotify", code: code)
            }
            if count == 0 { return counts }
            if concerns(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { counts = true }
        }
    }

    private func concerns(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let headerSize = MemoryLayout<inotify_event>.size
        var offset = 0
        while offset + headerSize <= bytes.count {
            let event = bytes.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
            // Events were lost, or the directory itself went away: look.
            if event.mask & UInt32(IN_Q_OVERFLOW | IN_IGNORED) != 0 { return true }
            let end = offset + headerSize + Int(event.len)
            guard end <= bytes.count else { return true }
            let name = bytes[(offset + headerSize)..<end].prefix { $0 != 0 }
            if names.contains(String(decoding: name, as: UTF8.self)) { return true }
            offset = end
        }
        return false
    }
}
