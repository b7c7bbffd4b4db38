import DurableFiles
import Glibc

/// Who is connected, and for how long each has been at the head of its request.
///
/// The library closes a connection after a silence. One that sends a byte now and then never falls
/// silent; if its head is not there after a while, it is closed from here. Bodies may be slow, but
/// may not stand still.
final class ConnectionTable: Sendable {
    private struct Entry {
        var socket: Int32
        /// When the wait for the next head began; `nil` while a request is at work.
        var headSince: ContinuousClock.Instant?
        /// When the last bytes of a body came; `nil` while none is awaited.
        var bodySince: ContinuousClock.Instant?
    }

    private let entries = Lock<[ConnectionHandle: Entry]>([:])

    var count: Int { entries.withLock { $0.count } }

    func opened(_ connection: ConnectionHandle, socket: Int32) {
        let entry = Entry(socket: socket, headSince: .now, bodySince: nil)
        entries.withLock { $0[connection] = entry }
    }

    func closed(_ connection: ConnectionHandle) {
        entries.withLock { $0[connection] = nil }
    }

    /// The head of a request is there.
    func headArrived(_ connection: ConnectionHandle) {
        entries.withLock { $0[connection]?.headSince = nil }
    }

    /// More of a body is awaited, or no more of it.
    func awaitsBody(_ connection: ConnectionHandle, _ isAwaited: Bool) {
        entries.withLock { $0[connection]?.bodySince = isAwaited ? .now : nil }
    }

    /// A request is done; the next one may come.
    func requestEnded(_ connection: ConnectionHandle) {
        entries.withLock {
            $0[connection]?.headSince = .now
            $0[connection]?.bodySince = nil
        }
    }

    /// Ends the connections that have waited for a head, or for more of a body, since before a
    /// moment.
    func endIdle(heads: ContinuousClock.Instant, bodies: ContinuousClock.Instant) {
        // Under the lock, which the library has to take before it closes a socket.
        entries.withLock { entries in
            for entry in entries.values {
                let isLate =
                    entry.headSince.map { $0 < heads } ?? entry.bodySince.map { $0 < bodies }
                if isLate == true { shutdown(entry.socket, Int32(SHUT_RDWR)) }
            }
        }
    }
}
