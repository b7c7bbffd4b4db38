import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// A server on loopback that says exactly the bytes a test wants, one thread a connection.
// @unchecked because what changes is behind the mutex.
public final class RawServer: @unchecked Sendable {
    private struct Shared {
        var accepted = 0
        var connections: Set<Int32> = []
        var isStopped = false
    }

    private let listener: Int32
    private let shared = Locked(Shared())
    /// Where it listens, on 127.0.0.1.
    public let port: UInt16

    /// Listens before it returns; the body serves one connection, which is closed when it ends.
    public init(_ serve: @escaping @Sendable (RawConnection) -> Void) throws {
        (listener, port) = try Self.listen()
        Thread.detachNewThread { [self] in
            while let socket = accept() {
                Thread.detachNewThread { [self] in
                    serve(RawConnection(socket))
                    shared.withLock { shared in
                        shared.connections.remove(socket)
                        _ = close(socket)
                    }
                }
            }
            close(listener)
        }
    }

    /// How many connections have come.
    public var accepted: Int { shared.withLock { $0.accepted } }

    public var origin: String { "http://127.0.0.1:\(port)" }

    /// Ends listening and cuts all connections.
    public func stop() {
        shared.withLock { shared in
            shared.isStopped = true
            for socket in shared.connections { shutdown(socket, Int32(SHUT_RDWR)) }
        }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    /// Whether somebody listens there; it costs the listener a connection.
    public static func isListening(on port: UInt16) -> Bool {
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(client) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                connect(client, raw, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    private func accept() -> Int32? {
        while true {
            let socket = Glibc.accept(listener, nil, nil)
            if socket < 0, errno == EINTR || errno == ECONNABORTED { continue }
            guard socket >= 0 else { return nil }
            _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
            let goesOn = shared.withLock { shared in
                if !shared.isStopped {
                    shared.accepted += 1
                    shared.connections.insert(socket)
                }
                return !shared.isStopped
            }
            if goesOn { return socket }
            close(socket)
            return nil
        }
    }

    private static func listen() throws -> (Int32, UInt16) {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let listener = socket(AF_INET, type, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                bind(listener, raw, length) == 0 && Glibc.listen(listener, 128) == 0
                    && getsockname(listener, raw, &length) == 0
            }
        }
        guard listener >= 0, isListening else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        return (listener, UInt16(bigEndian: address.sin_port))
    }
}

/// Runs a body with a server, which is stopped whatever happens.
public func withRawServer<R>(
    isolation: isolated (any Actor)? = #isolation,
    serving serve: @escaping @Sendable (RawConnection) -> Void,
    _ body: (RawServer) async throws -> R
) async throws -> R {
    let server = try RawServer(serve)
    defer { server.stop() }
    return try await body(server)
}

/// The head of a request.
public struct RawRequest: Sendable {
    public var method: String
    public var target: String
    /// By lower-case name.
    public var headers: [String: String]

    /// The path, without the query.
    public var path: String { String(target.prefix { $0 != "?" }) }

    /// A value of the query.
    public func query(_ name: String) -> String? {
        guard let mark = target.firstIndex(of: "?") else { return nil }
        for pair in target[target.index(after: mark)...].split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, parts[0] == name { return String(parts[1]) }
        }
        return nil
    }
}

/// One connection of a raw server; every call may block.
// @unchecked because one thread has it.
public final class RawConnection: @unchecked Sendable {
    private let socket: Int32
    private var buffer: [UInt8] = []
    /// Answers say that the connection is about to be closed.
    public var announcesClose = false

    init(_ socket: Int32) {
        self.socket = socket
    }

    /// Reads a request's head; `nil` when the client is gone.
    public func readHead() -> RawRequest? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let range = buffer.firstRange(of: end) {
                let text = String(decoding: buffer[..<range.lowerBound], as: UTF8.self)
                buffer.removeFirst(range.upperBound)
                return Self.parse(text)
            }
            guard fill() else { return nil }
        }
    }

    private static func parse(_ text: String) -> RawRequest? {
        let lines = text.components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ").map(String.init)
        guard words.count == 3 else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        return RawRequest(method: words[0], target: words[1], headers: headers)
    }

    /// Reads the body that a head announces; `nil` when the client is gone before its end.
    public func readBody(_ request: RawRequest) -> [UInt8]? {
        if request.headers["transfer-encoding"] == "chunked" { return readChunks() }
        return read(Int(request.headers["content-length"] ?? "0") ?? 0)
    }

    private func readChunks() -> [UInt8]? {
        var body: [UInt8] = []
        while true {
            guard let line = readLine(), let count = Int(line, radix: 16),
                let bytes = read(count), readLine() != nil
            else { return nil }
            if count == 0 { return body }
            body += bytes
        }
    }

    private func readLine() -> String? {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: buffer[..<end], as: UTF8.self)
                buffer.removeFirst(end + 1)
                return line.trimmingCharacters(in: .whitespacesAndNewlines)
            }
            guard fill() else { return nil }
        }
    }

    /// Reads so many bytes; `nil` when the client is gone before.
    @discardableResult
    public func read(_ count: Int) -> [UInt8]? {
        while buffer.count < count {
            guard fill() else { return nil }
        }
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    /// Reads and forgets up to so many bytes; returns how many came before the client was gone.
    @discardableResult
    public func discard(_ count: Int = .max) -> Int {
        var discarded = min(count, buffer.count)
        buffer.removeFirst(discarded)
        while discarded < count {
            guard fill(limit: count - discarded) else { break }
            discarded += buffer.count
            buffer = []
        }
        return discarded
    }

    private func fill(limit: Int = .max) -> Bool {
        let count = min(limit, 256 << 10)
        let chunk = [UInt8](unsafeUninitializedCapacity: count) { chunk, filled in
            filled = max(0, recv(socket, chunk.baseAddress, count, 0))
        }
        buffer += chunk
        return !chunk.isEmpty
    }

    /// Sends bytes; `false` when the client is gone.
    @discardableResult
    public func send(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    @discardableResult
    public func send(_ text: String) -> Bool {
        send(Array(text.utf8))
    }

    /// Sends a whole answer, with the protocol's header unless told otherwise.
    @discardableResult
    public func answer(
        _ status: Int,
        _ headers: [String: String] = [:],
        _ body: [UInt8] = [],
        isSink: Bool = true,
        isHead: Bool = false
    ) -> Bool {
        var head = "HTTP/1.1 \(status) X\r\nContent-Length: \(body.count)\r\n"
        if announcesClose { head += "Connection: close\r\n" }
        if isSink { head += "X-Liters-Protocol: 1\r\n" }
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        // At one stroke: what waits for an acknowledgement would go down with a reset.
        return send(Array((head + "\r\n").utf8) + (isHead ? [] : body))
    }

    /// The close of this connection is a reset.
    public func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        let size = socklen_t(MemoryLayout<linger>.size)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, size)
    }

    /// Ends what we send, and waits for the client to end, too.
    public func hangUp() {
        shutdown(socket, Int32(SHUT_WR))
        discard()
    }

    /// `POLLRDHUP`, which Swift does not see.
    private static let hangUp: Int16 = 0x2000

    /// Waits until the client has closed or broken the connection, and reads nothing.
    public func waitUntilClosed() {
        var waiting = pollfd(fd: socket, events: Self.hangUp, revents: 0)
        while poll(&waiting, 1, -1) < 0, errno == EINTR {}
    }

    /// Waits until the client has closed, reading past what it still sends.
    public func waitForClose() {
        discard()
    }
}
