import DurableFiles
import Glibc

/// A Unix socket on which a running process is asked and answers, line by line.
///
/// Who may open it decides the mode of the socket: its owner. Nothing blocks: a peer that sends
/// nothing, or does not read, holds up nobody.
// @unchecked because only the event source's thread touches what changes; answers go through it.
final class ControlSocket: @unchecked Sendable {
    let path: String
    private let listener: Int32
    private var peers: [UInt64: Peer] = [:]
    private var nextPeer: UInt64 = 1

    private struct Peer {
        var raw: Int32
        var received: [UInt8] = []
        var unsent: ArraySlice<UInt8> = []
    }

    private static let mostPeers = 16
    private static let longestLine = 256

    /// Listens at a path; the socket that a killed process left there is replaced.
    ///
    /// Whether somebody listens there is asked by connecting, not by a lock: a suspended process
    /// must not hold any.
    ///
    /// - Throws: `ControlSocketTaken`, `FileError`.
    init(path: String) throws {
        self.path = path
        if (try? ControlClient(path: path)) != nil { throw ControlSocketTaken(path: path) }
        let raw = try UnixSocket.open()
        do {
            try DurableFiles.remove(path)
            guard fcntl(raw, F_SETFL, O_NONBLOCK) == 0,
                try UnixSocket.withAddress(path, { bind(raw, $0, $1) }) == 0,
                chmod(path, 0o600) == 0,
                listen(raw, 8) == 0
            else { throw FileError(.open, path, code: errno) }
        } catch {
            Glibc.close(raw)
            throw error
        }
        listener = raw
    }

    deinit {
        for peer in peers.values { Glibc.close(peer.raw) }
        Glibc.close(listener)
        unlink(path)
    }

    /// What to wait for.
    var polled: [pollfd] {
        var polled = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
        for peer in peers.values {
            let events = POLLIN | (peer.unsent.isEmpty ? 0 : POLLOUT)
            polled.append(pollfd(fd: peer.raw, events: Int16(events), revents: 0))
        }
        return polled
    }

    /// The next line that a peer has sent in whole, if there is one.
    func next() -> (peer: UInt64, line: String)? {
        acceptPeers()
        for (id, peer) in peers {
            if !peer.unsent.isEmpty { flush(id) }
            receive(id)
        }
        for id in peers.keys.sorted() {
            guard let received = peers[id]?.received else { continue }
            if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
                peers[id]?.received.removeSubrange(...end)
                return (id, String(decoding: received[..<end], as: UTF8.self))
            }
            // Nobody asks for anything that long.
            if received.count > Self.longestLine { drop(id) }
        }
        return nil
    }

    /// Answers a peer with a line; one that has gone does not hear it.
    func answer(_ peer: UInt64, _ line: String) {
        guard peers[peer] != nil else { return }
        peers[peer]?.unsent += Array((line + "\n").utf8)[...]
        flush(peer)
    }

    private func acceptPeers() {
        while true {
            let raw = accept(listener, nil, nil)
            guard raw >= 0 else { return }
            _ = fcntl(raw, F_SETFD, FD_CLOEXEC)
            _ = fcntl(raw, F_SETFL, O_NONBLOCK)
            guard peers.count < Self.mostPeers else {
                Glibc.close(raw)
                continue
            }
            peers[nextPeer] = Peer(raw: raw)
            nextPeer += 1
        }
    }

    private func receive(_ id: UInt64) {
        guard let peer = peers[id], peer.received.count <= Self.longestLine else { return }
        var chunk = [UInt8](repeating: 0, count: 512)
        let count = recv(peer.raw, &chunk, chunk.count, 0)
        if count > 0 {
            peers[id]?.received += chunk[..<count]
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
            drop(id)
        }
    }

    private func flush(_ id: UInt64) {
        guard let peer = peers[id] else { return }
        let count = UnixSocket.send(peer.raw, peer.unsent)
        if count >= 0 {
            peers[id]?.unsent = peer.unsent.dropFirst(count)
        } else if errno != EAGAIN && errno != EINTR {
            drop(id)
        }
    }

    private func drop(_ id: UInt64) {
        guard let peer = peers.removeValue(forKey: id) else { return }
        Glibc.close(peer.raw)
    }
}

/// Another process listens on the control socket.
public struct ControlSocketTaken: Error, Sendable, CustomStringConvertible {
    public var path: String

    public var description: String {
        "\(path): another process listens there; give this one a \"control\" path of its own"
    }
}
