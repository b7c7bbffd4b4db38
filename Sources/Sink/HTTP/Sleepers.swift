import DurableFiles

/// The connections that wait for somebody of ours.
///
/// The library must never be stopped while one sleeps, and none may be woken twice.
final class Sleepers: Sendable {
    private struct State {
        var isClosing = false
        var asleep: Set<ConnectionHandle> = []
    }

    private let mhd: MicroHTTPD
    private let state = Lock(State())

    init(_ mhd: MicroHTTPD) {
        self.mhd = mhd
    }

    /// Lets a connection sleep, on its own thread; `false` when the server is being stopped.
    func sleep(_ connection: ConnectionHandle) -> Bool {
        state.withLock { state in
            guard !state.isClosing else { return false }
            mhd.suspend(connection.raw)
            state.asleep.insert(connection)
            return true
        }
    }

    /// Wakes a connection, if it sleeps.
    func wake(_ connection: ConnectionHandle) {
        state.withLock { state in
            guard state.asleep.remove(connection) != nil else { return }
            mhd.resume(connection.raw)
        }
    }

    /// Wakes all, and lets none sleep any more.
    func close() {
        state.withLock { state in
            state.isClosing = true
            for connection in state.asleep { mhd.resume(connection.raw) }
            state.asleep = []
        }
    }
}
