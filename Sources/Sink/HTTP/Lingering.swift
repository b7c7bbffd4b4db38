import CMicroHTTPD
import DurableFiles
import Glibc

/// Reads what a client still sends after it was refused, so that the refusal reaches it.
///
/// A socket that is closed with unread bytes in it is reset, and a reset throws away the answer
/// that is on its way. So a duplicate stays open, its bytes thrown away, until the client ends,
/// or has had its time or its share.
final class Lingering: Sendable {
    private static let bytesAllowed = 64 << 20
    private static let timeAllowed = Duration.seconds(10)
    private static let most = 256

    private struct Guest {
        var socket: Int32
        var deadline: ContinuousClock.Instant
        var bytes = 0
    }

    private struct State {
        var arrivals: [Guest] = []
        var count = 0
        var isRunning = false
        var isStopped = false
    }

    private let state = Lock(State())
    /// Wakes the thread: the ends of a pipe, the reading one first.
    private let bell: (Int32, Int32)

    init() {
        var ends: [Int32] = [-1, -1]
        if pipe(&ends) == 0 {
            for end in ends {
                _ = fcntl(end, F_SETFD, FD_CLOEXEC)
                _ = fcntl(end, F_SETFL, O_NONBLOCK)
            }
        }
        bell = (ends[0], ends[1])
    }

    deinit {
        close(bell.0)
        close(bell.1)
    }

    /// Takes a socket that its owner is about to close.
    func take(_ socket: Int32) {
        let copy = fcntl(socket, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return }
        let guest = Guest(socket: copy, deadline: .now + Self.timeAllowed)
        let (isTaken, starts) = state.withLock { state in
            guard !state.isStopped, state.count < Self.most else { return (false, false) }
            state.arrivals.append(guest)
            state.count += 1
            defer { state.isRunning = true }
            return (true, !state.isRunning)
        }
        guard isTaken else {
            close(copy)
            return
        }
        if starts {
            do {
                try OwnThread.detached { self.run() }
            } catch {
                // The next guest tries again.
                state.withLock { $0.isRunning = false }
            }
        }
        wake()
    }

    /// Closes everything.
    func stop() {
        state.withLock { $0.isStopped = true }
        wake()
    }

    private func wake() {
        var byte: UInt8 = 0
        _ = write(bell.1, &byte, 1)
    }

    /// Runs until nobody is left.
    private func run() {
        var guests: [Guest] = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let goesOn = state.withLock { state in
                guests += state.arrivals
                state.arrivals = []
                state.count = guests.count
                state.isRunning = !guests.isEmpty && !state.isStopped
                return state.isRunning
            }
            guard goesOn else { break }
            wait(for: guests)
            guests = guests.filter { !isDone($0) }.compactMap { drain($0, buffer) }
        }
        for guest in guests { close(guest.socket) }
    }

    private func wait(for guests: [Guest]) {
        var polled = guests.map { pollfd(fd: $0.socket, events: Int16(POLLIN), revents: 0) }
        polled.append(pollfd(fd: bell.0, events: Int16(POLLIN), revents: 0))
        let next = guests.map(\.deadline).min() ?? .now
        let left = ContinuousClock.now.duration(to: next)
        let milliseconds = max(0, left.components.seconds * 1000 + 1000)
        poll(&polled, nfds_t(polled.count), Int32(clamping: milliseconds))
        var bytes: UInt64 = 0
        _ = read(bell.0, &bytes, 8)
    }

    private func isDone(_ guest: Guest) -> Bool {
        guard guest.deadline < .now || guest.bytes > Self.bytesAllowed else { return false }
        close(guest.socket)
        return true
    }

    /// Reads what is there; `nil` when the client is done.
    private func drain(_ guest: Guest, _ buffer: UnsafeMutableRawBufferPointer) -> Guest? {
        var guest = guest
        // A few at a time, so that a fast client does not keep the others from their turn.
        for _ in 0..<16 {
            let flags = Int32(MSG_DONTWAIT)
            let count = recv(guest.socket, buffer.baseAddress, buffer.count, flags)
            if count > 0 {
                guest.bytes += count
                continue
            }
            let code = errno
            if count < 0, code == EAGAIN || code == EINTR { return guest }
            close(guest.socket)
            return nil
        }
        return guest
    }
}
