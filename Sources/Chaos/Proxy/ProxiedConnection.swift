import Glibc

/// One client of a fault proxy, and the server behind it, on one thread.
final class ProxiedConnection {
    private let client: Int32
    private let proxy: FaultProxy
    private var server: Int32 = -1
    private var framer = RequestFramer()
    private var current: ProxiedRequest?
    /// What went to the server of the current request, where it shall go twice.
    private var copy: [UInt8] = []
    private var copies: [[UInt8]] = []
    private var answerBytes: Int64 = 0
    private var isStalled = false
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)

    init(client: Int32, proxy: FaultProxy) {
        self.client = client
        self.proxy = proxy
    }

    func run() {
        defer {
            if server >= 0 { close(server) }
            if let current { proxy.end(current.number) }
        }
        guard let server = proxy.connect() else { return LoopbackSocket.resetOnClose(client) }
        self.server = server
        while true {
            var sockets = [
                pollfd(fd: isStalled ? -1 : client, events: Int16(POLLIN), revents: 0),
                pollfd(fd: server, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&sockets, 2, -1) >= 0 else {
                if errno == EINTR { continue }
                return
            }
            if sockets[1].revents != 0, !forwardAnswer() { return }
            if sockets[0].revents != 0, !forwardRequest() { return }
        }
    }

    // MARK: From the client

    private func forwardRequest() -> Bool {
        let count = recv(client, &buffer, proxy.portion(of: buffer.count), 0)
        if count < 0, errno == EINTR { return true }
        guard count > 0 else { return false }
        proxy.carry(count)
        for piece in framer.take(buffer[..<count]) {
            let goesOn: Bool
            switch piece {
            case .head(let method, let target, let bytes):
                let request = proxy.begin(
                    method: method,
                    target: target,
                    length: framer.length,
                    offset: Self.offset(in: bytes)
                )
                goesOn = begin(request, bytes)
            case .body(let bytes): goesOn = body(bytes)
            case .end: goesOn = end()
            }
            if !goesOn { return false }
        }
        return true
    }

    private func begin(_ request: ProxiedRequest, _ head: [UInt8]) -> Bool {
        current = request
        answerBytes = 0
        copy = []
        if case .refuse = request.fault {
            LoopbackSocket.resetOnClose(client)
            return false
        }
        return pass(head) && strikesAt(0)
    }

    private func body(_ bytes: [UInt8]) -> Bool {
        guard let current else { return pass(bytes) }
        let seen = current.bodyBytes
        self.current = proxy.update(current.number) { $0.bodyBytes += Int64(bytes.count) }
        let limit: Int64 =
            switch current.fault {
            case .answer(_, let limit, _), .resetUpload(let limit), .stall(let limit): limit
            case .none, .resetDownload, .duplicate, .refuse, .corrupt: .max
            }
        var bytes = bytes
        if case .corrupt(let place) = current.fault, place >= seen,
            place - seen < Int64(bytes.count)
        {
            bytes[Int(place - seen)] ^= 0x10
        }
        let room = max(0, limit - seen)
        guard pass(Array(bytes.prefix(Int(clamping: room)))) else { return false }
        return strikesAt(seen + Int64(bytes.count))
    }

    /// Does what the fault asks for once so many bytes of the body have come.
    private func strikesAt(_ bytes: Int64) -> Bool {
        guard let current else { return true }
        switch current.fault {
        case .answer(let status, let limit, let retryAfter) where bytes >= limit:
            proxy.update(current.number) { $0.status = status }
            var answer = "HTTP/1.1 \(status) Fault\r\nContent-Length: 0\r\nConnection: close\r\n"
            if let retryAfter { answer += "Retry-After: \(retryAfter)\r\n" }
            _ = LoopbackSocket.sendAll(Array((answer + "\r\n").utf8), to: client)
            drain()
            return false
        case .resetUpload(let limit) where bytes >= limit:
            LoopbackSocket.resetOnClose(client)
            return false
        case .stall(let limit) where bytes >= limit:
            isStalled = true
            return true
        case .none, .answer, .resetUpload, .resetDownload, .stall, .duplicate, .refuse, .corrupt:
            return true
        }
    }

    /// Reads on for a moment, so that the answer arrives before a reset for unread bytes would.
    private func drain() {
        shutdown(client, Int32(SHUT_WR))
        var waiting = [pollfd(fd: client, events: Int16(POLLIN), revents: 0)]
        var left = 64 << 20
        while left > 0, poll(&waiting, 1, 2_000) > 0 {
            let count = recv(client, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            left -= count
        }
    }

    private func end() -> Bool {
        if case .duplicate = current?.fault { copies.append(copy) }
        return true
    }

    private func pass(_ bytes: [UInt8]) -> Bool {
        if case .duplicate = current?.fault { copy += bytes }
        return bytes.isEmpty || LoopbackSocket.sendAll(bytes, to: server)
    }

    // MARK: From the server

    private func forwardAnswer() -> Bool {
        let count = recv(server, &buffer, proxy.portion(of: buffer.count), 0)
        if count < 0, errno == EINTR { return true }
        guard count > 0 else { return false }
        proxy.carry(count)
        var bytes = Array(buffer[..<count])
        if let current {
            if answerBytes == 0, let status = Self.status(of: bytes) {
                proxy.update(current.number) { $0.status = status }
            }
            answerBytes += Int64(count)
            if case .resetDownload(let limit) = current.fault, answerBytes >= limit {
                bytes = Array(bytes.dropLast(Int(answerBytes - limit)))
                _ = LoopbackSocket.sendAll(bytes, to: client)
                LoopbackSocket.resetOnClose(client)
                return false
            }
        }
        guard LoopbackSocket.sendAll(bytes, to: client) else { return false }
        for request in copies { deliverAgain(request) }
        copies = []
        return true
    }

    /// Sends a request once more, as a network that lost an acknowledgement does.
    private func deliverAgain(_ request: [UInt8]) {
        guard let again = proxy.connect() else { return }
        defer { close(again) }
        guard LoopbackSocket.sendAll(request, to: again) else { return }
        shutdown(again, Int32(SHUT_WR))
        var bytes = [UInt8](repeating: 0, count: 4096)
        while recv(again, &bytes, bytes.count, 0) > 0 {}
    }

    private static func offset(in head: [UInt8]) -> Int64? {
        let lines = String(decoding: head, as: UTF8.self).lowercased().split(separator: "\r\n")
        guard let line = lines.first(where: { $0.hasPrefix("upload-offset:") }) else { return nil }
        return Int64(line.dropFirst("upload-offset:".count).filter { $0 != " " })
    }

    private static func status(of bytes: [UInt8]) -> Int? {
        let words = String(decoding: bytes.prefix(32), as: UTF8.self).split(separator: " ")
        guard words.count > 1, words[0].hasPrefix("HTTP/1") else { return nil }
        return Int(words[1].prefix(3))
    }
}
