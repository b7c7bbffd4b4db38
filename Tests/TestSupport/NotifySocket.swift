import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// A service manager's end of sd_notify(3), for one test.
public final class NotifySocket {
    /// What `NOTIFY_SOCKET` is set to.
    public let path: String
    private let raw: Int32
    private var lines: [String] = []

    /// Listens at a path, which must be short enough for an address.
    public init(_ path: String) throws {
        self.path = path
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
        raw = socket(AF_UNIX, type, 0)
        var address = sockaddr_un()
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw Child.Failure(description: "\(path) is too long for a socket")
        }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(raw, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw POSIXError(.EADDRINUSE) }
    }

    deinit {
        close(raw)
    }

    /// Waits for the next line that begins with a text, and forgets all before it.
    public func wait(for text: String, within seconds: Int32 = 20) throws {
        var seen: [String] = []
        while true {
            while !lines.isEmpty {
                let line = lines.removeFirst()
                if line.hasPrefix(text) { return }
                seen.append(line)
            }
            guard receive(seconds * 1_000) else {
                throw Child.Failure(description: "no \(text); it said \(seen.suffix(12))")
            }
        }
    }

    /// Forgets what has come until now.
    public func drain() {
        while receive(0) {}
        lines = []
    }

    private func receive(_ milliseconds: Int32) -> Bool {
        var polled = pollfd(fd: raw, events: Int16(POLLIN), revents: 0)
        guard poll(&polled, 1, milliseconds) > 0 else { return false }
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = recv(raw, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        lines += String(decoding: buffer[..<count], as: UTF8.self).components(separatedBy: "\n")
        return true
    }
}
