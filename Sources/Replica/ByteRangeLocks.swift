import DurableFiles

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Who holds a lock that is wanted.
package struct LockHolder: Hashable, Sendable, CustomStringConvertible {
    /// The process; `nil` if the lock belongs to an open file and not to a process.
    package let processID: Int32?

    package init(processID: Int32?) {
        self.processID = processID
    }

    package var description: String {
        processID.map { "process \($0)" } ?? "somebody"
    }
}

/// SQLite's locks on a database file, taken as open-file-description locks.
///
/// The byte ranges and the order are SQLite's own (os_unix.c, "PENDING_BYTE"; File Locking And
/// Concurrency In SQLite Version 3). An open file's locks are nobody else's, so they keep out
/// readers of this process too, and closing another descriptor of the file does not drop them.
/// None of the calls waits.
final class ByteRangeLocks {
    enum Level: Comparable {
        case none, reserved, pending, exclusive
    }

    private(set) var level = Level.none
    private let descriptor: Int32
    private let path: String

    private enum Range {
        static let pending = (start: off_t(0x4000_0000), length: off_t(1))
        static let reserved = (start: off_t(0x4000_0001), length: off_t(1))
        static let shared = (start: off_t(0x4000_0002), length: off_t(510))
        static let all = (start: off_t(0x4000_0000), length: off_t(512))
    }

    /// Locks through a descriptor that stays open as long as this lives.
    init(_ descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    /// Takes SHARED and RESERVED.
    ///
    /// SHARED first, as every SQLite does: who found a hot journal before we came rolls it back
    /// under EXCLUSIVE without RESERVED, and SHARED is what keeps him from doing so under us.
    func reserve() throws(FileError) -> LockHolder? {
        precondition(level == .none, "reserved twice")
        guard try set(F_RDLCK, Range.pending) else { return try holder(F_RDLCK, Range.pending) }
        let isShared = try set(F_RDLCK, Range.shared)
        let excluder = isShared ? nil : try holder(F_RDLCK, Range.shared)
        _ = try set(F_UNLCK, Range.pending)
        guard isShared else { return excluder }
        guard try set(F_WRLCK, Range.reserved) else {
            let writer = try holder(F_WRLCK, Range.reserved)
            release()
            return writer
        }
        level = .reserved
        return nil
    }

    /// Takes PENDING, which keeps new readers out, and EXCLUSIVE once the old ones are gone.
    func exclude() throws(FileError) -> LockHolder? {
        precondition(level >= .reserved, "not reserved")
        if level == .exclusive { return nil }
        if level == .reserved {
            guard try set(F_WRLCK, Range.pending) else {
                return try holder(F_WRLCK, Range.pending)
            }
            level = .pending
        }
        guard try set(F_WRLCK, Range.shared) else { return try holder(F_WRLCK, Range.shared) }
        level = .exclusive
        return nil
    }

    /// Gives PENDING back.
    func admitReaders() throws(FileError) {
        guard level == .pending else { return }
        _ = try set(F_UNLCK, Range.pending)
        level = .reserved
    }

    /// Somebody who holds SHARED or more; nobody is kept out by the question.
    func reader() throws(FileError) -> LockHolder? {
        try query(F_WRLCK, Range.shared)
    }

    /// Lets go of everything at one stroke.
    ///
    /// Who came in between SHARED and RESERVED would take a hot journal for a live writer's, and
    /// read torn pages.
    func release() {
        // Unlocking fails for a bad descriptor only.
        _ = try? set(F_UNLCK, Range.all)
        level = .none
    }

    /// Sets a lock if nobody is in the way.
    private func set(
        _ type: Int32,
        _ range: (start: off_t, length: off_t)
    ) throws(FileError) -> Bool {
        var lock = Self.lock(type, range)
        while fcntl(descriptor, Self.setCommand, &lock) != 0 {
            let code = errno
            if code == EINTR { continue }
            if code == EAGAIN || code == EACCES { return false }
            throw FileError(.lock, path, code: code)
        }
        return true
    }

    /// Who refused a lock just now; he may be gone already.
    private func holder(
        _ type: Int32,
        _ range: (start: off_t, length: off_t)
    ) throws(FileError) -> LockHolder {
        try query(type, range) ?? LockHolder(processID: nil)
    }

    private func query(
        _ type: Int32,
        _ range: (start: off_t, length: off_t)
    ) throws(FileError) -> LockHolder? {
        var lock = Self.lock(type, range)
        while fcntl(descriptor, Self.getCommand, &lock) != 0 {
            let code = errno
            if code == EINTR { continue }
            throw FileError(.lock, path, code: code)
        }
        guard lock.l_type != Int16(F_UNLCK) else { return nil }
        // An open file's lock has the process id -1.
        return LockHolder(processID: lock.l_pid > 0 ? lock.l_pid : nil)
    }

    private static func lock(_ type: Int32, _ range: (start: off_t, length: off_t)) -> flock {
        var lock = flock()
        lock.l_type = Int16(type)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = range.start
        lock.l_len = range.length
        lock.l_pid = 0
        return lock
    }

    // F_OFD_SETLK and F_OFD_GETLK, which neither overlay has.
    #if canImport(Glibc)
    private static let (getCommand, setCommand) = (Int32(36), Int32(37))
    #else
    private static let (getCommand, setCommand) = (Int32(92), Int32(90))
    #endif
}
